package wal_test

import (
	"context"
	"iter"
	"path/filepath"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// throughSocket is a store that is written to directly, and read through its
// socket, by a reader that is new each time.
type throughSocket struct {
	*wal.Log
	dir string
	t   *testing.T
}

func (s *throughSocket) read(f func(*wal.Live) error) error {
	r, err := wal.OpenLive(context.Background(), s.dir)
	if err != nil {
		if _, infoErr := s.Info(); infoErr != nil { // it is closed, and so is its socket
			return infoErr
		}
		return err
	}
	defer r.Close()
	return f(r)
}

func (s *throughSocket) Identity() (id store.Identity) {
	if err := s.read(func(r *wal.Live) error { id = r.Identity(); return nil }); err != nil {
		s.t.Error(err)
	}
	return id
}

func (s *throughSocket) Oldest() (m store.Mark) {
	if err := s.read(func(r *wal.Live) error { m = r.Oldest(); return nil }); err != nil {
		s.t.Error(err)
	}
	return m
}

func (s *throughSocket) Places() (places []store.Place) {
	if err := s.read(func(r *wal.Live) error { places = r.Places(); return nil }); err != nil {
		s.t.Error(err)
	}
	return places
}

func (s *throughSocket) Checkpoint(ctx context.Context, atMost uint64) (mark store.Mark, chunks iter.Seq2[[]byte, error], err error) {
	chunks = func(func([]byte, error) bool) {}
	err = s.read(func(r *wal.Live) error {
		var all [][]byte
		var seq iter.Seq2[[]byte, error]
		if mark, seq, err = r.Checkpoint(ctx, atMost); err != nil {
			return err
		}
		for chunk, err := range seq {
			if err != nil {
				return err
			}
			all = append(all, append([]byte{}, chunk...))
		}
		chunks = func(yield func([]byte, error) bool) {
			for _, chunk := range all {
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				if !yield(chunk, nil) {
					return
				}
			}
		}
		return nil
	})
	return mark, chunks, err
}

func (s *throughSocket) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		more := true
		err := s.read(func(r *wal.Live) error {
			for rec, err := range r.Records(ctx, after) {
				if more = yield(rec, err); !more || err != nil {
					more = false
					break
				}
			}
			return nil
		})
		if err != nil && more {
			yield(store.Record{}, err)
		}
	}
}

// TestWhatIsReadThroughTheSocketIsWhatTheStoreHolds puts the socket into the place
// of reading in the suite that every store passes.
func TestWhatIsReadThroughTheSocketIsWhatTheStoreHolds(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		dir := filepath.Join(t.TempDir(), "store")
		open := wal.Create
		return func() store.Store {
			l, err := open(dir, wal.Options{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			open = wal.Open
			return &throughSocket{l, dir, t}
		}
	})
}
