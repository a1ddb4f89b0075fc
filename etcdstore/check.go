package etcdstore

import (
	"context"
	"errors"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Check reads every key that the registry needs, as etcd holds it at one moment,
// and reports what is damaged or missing. It goes on after that. It writes nothing;
// its error is what kept it from looking.
func (s *Store) Check(ctx context.Context, report func(*CorruptError)) error {
	c, err := s.look(ctx)
	if err != nil {
		return explain(err)
	}
	told := func(err error) error {
		var damage *CorruptError
		if errors.As(err, &damage) {
			report(damage)
			return nil
		}
		return err
	}
	if err := s.checkCheckpoints(ctx, c.revision, told); err != nil {
		return explain(err)
	}
	for next := c.oldest.Seq + 1; next <= c.last.Seq; next++ { // a record that is damaged ends a reading
		err := s.records(ctx, next-1, func(r store.Record) bool { next = r.Seq + 1; return true })
		if err == nil {
			break
		}
		if err := told(err); err != nil {
			return explain(err)
		}
	}
	return nil
}

// checkCheckpoints reads all of them.
func (s *Store) checkCheckpoints(ctx context.Context, revision int64, told func(error) error) error {
	p := s.o.Prefix
	all, err := s.client.Get(ctx, p+underCheckpoint, clientv3.WithPrefix(), clientv3.WithRev(revision))
	if err != nil {
		return err
	}
	for _, kv := range all.Kvs {
		t, err := unsealCheckpoint(strings.TrimPrefix(string(kv.Key), p), kv.Value)
		if err != nil {
			err = &CorruptError{Key: string(kv.Key), Err: err}
		} else {
			err = s.eachChunk(ctx, t, revision, func([]byte) bool { return true })
		}
		if err := told(err); err != nil {
			return err
		}
	}
	return nil
}
