package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// etcdWithin is how long etcd may take to say that there is a registry.
const etcdWithin = 10 * time.Second

// inEtcd is a registry in etcd that a command reads.
type inEtcd struct {
	*etcdstore.Store
	client *clientv3.Client
	place  string
}

// openEtcd opens it for reading. Who leads, if anybody does, goes on writing.
func openEtcd(cmd *cobra.Command, e *etcdFlags) (readable, error) {
	if err := e.validate(); err != nil {
		return nil, err
	}
	client, err := e.dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), etcdWithin)
	defer cancel()
	s, err := etcdstore.Open(ctx, client, etcdstore.Options{Prefix: e.prefix, ReadOnly: true, Logger: logger(cmd)})
	if err != nil {
		return nil, errors.Join(adviseEtcd(e, err), client.Close())
	}
	return &inEtcd{s, client, e.place()}, nil
}

func (s *inEtcd) Close() error { return errors.Join(s.Store.Close(), s.client.Close()) }

// Info is what etcd says of the registry; there is neither a witness nor a
// directory.
func (s *inEtcd) Info() (wal.Info, error) {
	i := wal.Info{Dir: s.place, Identity: s.Identity(), Format: etcdstore.Format, First: s.Oldest().Seq + 1, Last: s.Last()}
	for _, p := range s.Places() {
		i.Checkpoints = append(i.Checkpoints, wal.Checkpoint{Mark: p.Mark, Bytes: uint64(p.Bytes)})
		i.Bytes += p.Bytes
	}
	return i, nil
}

// Check reads all there is, and reports what is damaged.
func (s *inEtcd) Check(ctx context.Context, report func(wal.Finding)) error {
	return s.Store.Check(ctx, func(damage *etcdstore.CorruptError) {
		report(wal.Finding{Severity: wal.SeverityError, Place: damage.Key, Problem: damage.Err.Error()})
	})
}

// adviseEtcd adds what to do next to why a registry in etcd cannot be used.
func adviseEtcd(e *etcdFlags, err error) error {
	var (
		corrupt  *etcdstore.CorruptError
		row      *registry.CorruptError
		record   *registrar.RecordError
		mismatch *registrar.MismatchError
	)
	switch {
	case errors.Is(err, etcdstore.ErrNotExist):
		return fmt.Errorf("%w; regtool serve or restore with %s makes one", err, e.arguments())
	case errors.Is(err, etcdstore.ErrVersion), errors.Is(err, registry.ErrVersion):
		return fmt.Errorf("%w; use the regtool that wrote it, or a newer one", err)
	case errors.Is(err, etcdstore.ErrLed):
		return fmt.Errorf("%w; stop the masters first", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w; see whether its members are reached from here, and have a quorum (etcdctl endpoint status)", err)
	case errors.As(err, &corrupt), errors.As(err, &row), errors.As(err, &record), errors.As(err, &mismatch):
		return fmt.Errorf("%w; regtool check %s lists what is wrong", err, e.arguments())
	}
	return err
}
