package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/registrar/store"
)

// pageKeys is how many values are read in one request: 16 MiB at most.
const pageKeys = 16

// Records reads the records after seq that etcd held when it began.
func (s *Store) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		more := true
		err := s.records(ctx, after, func(r store.Record) bool {
			more = yield(r, nil)
			return more
		})
		if err != nil && more {
			yield(store.Record{}, fmt.Errorf("read records after %d: %w", after, explain(err)))
		}
	}
}

func (s *Store) records(ctx context.Context, after uint64, yield func(store.Record) bool) error {
	c, err := s.look(ctx)
	if err != nil || after >= c.last.Seq {
		return err
	}
	if after < c.oldest.Seq {
		return &store.CompactedError{What: fmt.Sprintf("records after %d", after), Oldest: c.oldest}
	}
	next := after + 1
	for kv, err := range s.values(ctx, seqKey(underRecord, next), seqKey(underRecord, c.last.Seq+1), c.revision) {
		if err != nil {
			return err
		}
		key := string(kv.Key[len(s.o.Prefix):])
		head, err := unsealRecord(key, kv.Value)
		if err == nil && head.Seq != next {
			key, err = seqKey(underRecord, next), errMissing
		}
		if err == nil && head.parts > 0 {
			head.Data, err = s.parts(ctx, head, c.revision)
		}
		if err != nil {
			return s.damaged(key, err)
		}
		if !yield(head.Record) {
			return nil
		}
		next++
	}
	if next <= c.last.Seq {
		return s.damaged(seqKey(underRecord, next), errMissing)
	}
	return nil
}

// parts puts the data of a record together.
func (s *Store) parts(ctx context.Context, head recordHead, revision int64) ([]byte, error) {
	data := slices.Clone(head.Data)
	for part, err := range s.bodies(ctx, underPart, head.Seq, head.parts, revision) {
		if err != nil {
			return nil, err
		}
		data = append(data, part...)
	}
	if len(data) != head.bytes {
		return nil, errLength
	}
	return data, nil
}

// Checkpoint returns the newest checkpoint that covers nothing after atMost. Its
// chunks are read as etcd held them at this moment, even if they are let go of
// meanwhile.
func (s *Store) Checkpoint(ctx context.Context, atMost uint64) (store.Mark, iter.Seq2[[]byte, error], error) {
	none := func(func([]byte, error) bool) {}
	c, err := s.look(ctx)
	if err != nil {
		return store.Mark{}, none, fmt.Errorf("read checkpoint: %w", explain(err))
	}
	for _, t := range slices.Backward(c.checkpoints) {
		if t.Revision <= atMost {
			return t.Mark, s.chunks(ctx, t, c.revision), nil
		}
	}
	if c.oldest.Seq > 0 {
		return store.Mark{}, none, &store.CompactedError{What: fmt.Sprintf("revision %d", atMost), Oldest: c.oldest}
	}
	return store.Mark{}, none, nil
}

func (s *Store) chunks(ctx context.Context, t trailer, revision int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		more := true
		err := s.eachChunk(ctx, t, revision, func(chunk []byte) bool {
			more = yield(chunk, nil)
			return more
		})
		if err != nil && more {
			yield(nil, fmt.Errorf("read checkpoint %d: %w", t.Seq, explain(err)))
		}
	}
}

func (s *Store) eachChunk(ctx context.Context, t trailer, revision int64, yield func([]byte) bool) error {
	var rest []byte // of the parts so far, what makes no whole chunk
	left := t.chunks
	for part, err := range s.bodies(ctx, underChunk, t.Seq, t.parts, revision) {
		if err == nil {
			err = s.mayUse(ctx)
		}
		if err != nil {
			return err
		}
		rest = append(rest, part...)
		used := 0
		for len(rest)-used >= 4 {
			n := int(le.Uint32(rest[used:]))
			if n > store.MaxData {
				return s.damaged(seqKey(underCheckpoint, t.Seq), errLength)
			}
			if len(rest)-used-4 < n {
				break
			}
			if !yield(rest[used+4 : used+4+n : used+4+n]) {
				return nil
			}
			used += 4 + n
			left--
		}
		rest = rest[:copy(rest, rest[used:])]
	}
	if len(rest) > 0 || left != 0 {
		return s.damaged(seqKey(underCheckpoint, t.Seq), errLength)
	}
	return nil
}

// bodies reads the n parts of one thing, in order.
func (s *Store) bodies(ctx context.Context, under string, seq uint64, n int, revision int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		i := 0
		for kv, err := range s.values(ctx, partKey(under, seq, 0), partKey(under, seq, n), revision) {
			key := partKey(under, seq, i)
			var body []byte
			if err == nil {
				if string(kv.Key[len(s.o.Prefix):]) != key {
					break
				}
				if body, err = unseal(key, kv.Value); err != nil {
					err = s.damaged(key, err)
				}
			}
			if !yield(body, err) || err != nil {
				return
			}
			i++
		}
		if i < n {
			yield(nil, s.damaged(partKey(under, seq, i), errMissing))
		}
	}
}

// values reads keys from one to before another, as they were at a revision.
func (s *Store) values(ctx context.Context, from, to string, revision int64) iter.Seq2[*mvccpb.KeyValue, error] {
	return func(yield func(*mvccpb.KeyValue, error) bool) {
		from, to := s.o.Prefix+from, s.o.Prefix+to
		for from < to {
			err := s.mayUse(ctx)
			var resp *clientv3.GetResponse
			if err == nil {
				resp, err = s.client.Get(ctx, from, clientv3.WithRange(to), clientv3.WithLimit(pageKeys), clientv3.WithRev(revision))
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, kv := range resp.Kvs {
				if !yield(kv, nil) {
					return
				}
				from = string(kv.Key) + "\x00"
			}
			if !resp.More {
				return
			}
		}
	}
}

// look says what there is to read, at one revision of etcd's.
func (s *Store) look(ctx context.Context) (contents, error) {
	err := s.mayUse(ctx)
	if err == nil {
		err = s.refresh(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found, err
}

// damaged says where, unless err is trouble of another kind.
func (s *Store) damaged(key string, err error) error {
	var already *CorruptError
	if errors.As(err, &already) || !errors.Is(err, errMissing) && !errors.Is(err, errChecksum) && !errors.Is(err, errLength) {
		return err
	}
	return &CorruptError{Key: s.o.Prefix + key, Err: err}
}

// Changed waits until another record is in etcd than those that were seen at the
// last look, by a reading or by this. Its error is the end of ctx or of the store,
// or etcd's.
func (s *Store) Changed(ctx context.Context) error {
	for {
		s.mu.Lock()
		seen := s.found
		s.mu.Unlock()
		if err := s.mayUse(ctx); err != nil {
			return err
		}
		if !changed(ctx, s.client, seen.revision, s.o.Prefix+keyLast) {
			if !pause(ctx) {
				return ctx.Err()
			}
		}
		if err := s.refresh(ctx); err != nil {
			return explain(err)
		}
		s.mu.Lock()
		now := s.found
		s.mu.Unlock()
		if now.last != seen.last {
			return nil
		}
	}
}
