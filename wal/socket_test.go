package wal_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
	"github.com/eaba02dc/registrar/wal/live"
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

// TestStalledReadersHoldUpNobody: they have asked for all there is, and take
// nothing of it. Records are appended, a checkpoint is made, and the log closes.
func TestStalledReadersHoldUpNobody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l, err := wal.Create(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	large := func(from, to uint64) {
		for seq := from; seq <= to; seq++ {
			durable, err := l.Append(storetest.Rec(seq, 1, 1<<20))
			if err == nil {
				err = durable()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	large(1, 4)
	chunk := make([]byte, 1<<20)
	checkpoint := func(seq uint64) {
		err := l.Compact(t.Context(), storetest.MarkAt(seq, 1), slices.Values([][]byte{chunk, chunk, chunk, chunk}), seq)
		if err != nil {
			t.Fatal(err)
		}
	}
	checkpoint(2)
	for i := range live.MaxReaders {
		c, err := net.Dial("unix", filepath.Join(dir, live.SocketName))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ask := []string{
			fmt.Sprintf(`{"version":1,"ask":"records","after":0,"to":%d}`, 4),
			fmt.Sprintf(`{"version":1,"ask":"checkpoint","at_most":%d}`, uint64(math.MaxUint64)),
		}[i%2]
		if _, err := c.Write(append(binary.LittleEndian.AppendUint32([]byte{'q'}, uint32(len(ask))), ask...)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 5)); err != nil { // it is being answered
			t.Fatal(err)
		}
	}
	large(5, 40) // more than a memtable holds
	checkpoint(20)
	checkpoint(40)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestDamageIsTheSameThroughTheSocket: the error that callers branch on, and the
// findings of a check.
func TestDamageIsTheSameThroughTheSocket(t *testing.T) {
	dir := afterCrash(t, 60)
	damage(t, newestFile(t, dir, "*.sst"), flip(10_000))
	want := check(t, dir)
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := wal.OpenLive(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = storetest.Collect(r.Records(t.Context(), 0))
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Dir != dir || corrupt.Place == "" || corrupt.Err == nil {
		t.Errorf("records through the socket: %v", err)
	}
	var got []wal.Finding
	if err := r.Check(t.Context(), func(f wal.Finding) { got = append(got, f) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("through the socket a check finds\n%v\nin the files\n%v", got, want)
	}
}

// TestAnEmbedderMayKeepOthersOut, and a store that is read only has no socket.
func TestAnEmbedderMayKeepOthersOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 3)
	for _, o := range []wal.Options{{NoSocket: true}, {ReadOnly: true}} {
		o.Logger = quiet
		l, err := wal.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wal.OpenLive(t.Context(), dir); !errors.Is(err, live.ErrNotServed) {
			t.Errorf("%+v: %v", o, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
