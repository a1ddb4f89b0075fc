package wal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// fault makes the nth write to the disk fail, and the length of time the disk
// stays broken is for the test to say.
type fault struct {
	left  atomic.Int64
	lasts bool  // every later write fails too
	err   error // EIO or ENOSPC
	hit   atomic.Pointer[errorfs.Op]
	over  atomic.Bool
}

func (f *fault) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || f.over.Load() {
		return nil
	}
	left := f.left.Add(-1)
	if left > 0 || left < 0 && !f.lasts {
		return nil
	}
	f.hit.CompareAndSwap(nil, &op)
	return f.err
}

func (f *fault) String() string { return "fault" }

// TestAFailedWriteHasTheRightOutcome breaks the disk at each of the first
// writes in turn, then at random ones, once or for good.
func TestAFailedWriteHasTheRightOutcome(t *testing.T) {
	t.Parallel()
	for seed := range uint64(faultSeeds) {
		rng := newRNG(seed)
		f := &fault{err: syscall.EIO, lasts: rng.IntN(2) == 0}
		if rng.IntN(2) == 0 {
			f.err = syscall.ENOSPC
		}
		f.left.Store(1 + int64(seed)*3/4)
		if err := useBrokenDisk(f, &workload{rng: rng}); err != nil {
			t.Fatalf("seed %d, %v at %+v (for good: %v): %v", seed, f.err, f.hit.Load(), f.lasts, err)
		}
	}
}

func useBrokenDisk(f *fault, w *workload) error {
	fs := memFS()
	o := crashOptions(errorfs.Wrap(fs, f), w.rng)
	for range 3 { // create, and open again
		l, err := wal.Open(testDir, o)
		if errors.Is(err, wal.ErrNotExist) && !w.created.Load() {
			l, err = wal.Create(testDir, o)
		}
		if err != nil {
			if f.hit.Load() == nil {
				return fmt.Errorf("open failed on a good disk: %w", err)
			}
			if w.created.Load() && errors.As(err, new(*wal.LostRecordsError)) {
				return err
			}
			continue
		}
		w.created.Store(true)
		err = w.run(l, 60)
		if err != nil && f.hit.Load() == nil {
			return fmt.Errorf("append failed on a good disk: %w", err)
		}
		if err != nil {
			if err := mustBeLatched(l, w); err != nil {
				return err
			}
		}
		_ = l.Close()
		if err := mustHold(fs, w); err != nil {
			return err
		}
	}
	f.over.Store(true)
	return mustHold(fs, w)
}

// mustBeLatched: after a failure of an append nothing more is taken. A failed
// checkpoint alone does not end the log.
func mustBeLatched(l *wal.Log, w *workload) error {
	if w.acked.Load() == uint64(len(w.epochs)) && len(w.refused) == 0 {
		return nil
	}
	seq := uint64(len(w.epochs) + 1)
	w.epochs = append(w.epochs, l.Identity().Epoch)
	defer func() { w.epochs = w.epochs[:seq-1] }()
	if _, err := l.Append(w.record(seq)); !errors.Is(err, store.ErrNotWritten) {
		return fmt.Errorf("record %d after the failure: got error %v, want %v", seq, err, store.ErrNotWritten)
	}
	return nil
}

// mustHold opens the store on a good disk, as it is and as a crash would
// leave it, and compares.
func mustHold(fs *vfs.MemFS, w *workload) error {
	for _, left := range []*vfs.MemFS{crash(fs, w.rng), fs} {
		l, err := wal.Open(testDir, crashOptions(left, w.rng))
		if errors.Is(err, wal.ErrNotExist) && !w.created.Load() {
			continue
		}
		if err != nil {
			return fmt.Errorf("open on a good disk: %w", err)
		}
		l.AwaitWriting() // what is adopted is then durable
		last, err := w.verify(l, w.acked.Load(), w.covered.Load())
		if err != nil {
			return errors.Join(err, l.Close())
		}
		if left == fs {
			w.adopt(last)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// TestOpeningEndsOnADiskThatStaysFull: Pebble by itself tries for ever to write
// what it replayed.
func TestOpeningEndsOnADiskThatStaysFull(t *testing.T) {
	fs := memFS()
	l, err := wal.Create(testDir, wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1, 30)
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	l, err = wal.Open(testDir, wal.Options{FS: errorfs.Wrap(left, full), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(storetest.Rec(31, 1, 1)); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, store.ErrNotWritten) {
		t.Fatalf("append: got error %v, want %v because of %v", err, store.ErrNotWritten, syscall.ENOSPC)
	}
	_ = l.Close()
	l, err = wal.Open(testDir, wal.Options{FS: left, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	got, err := storetest.Collect(l.Records(context.Background(), 0))
	if err := errors.Join(err, l.Close()); err != nil || len(got) != 30 {
		t.Fatalf("got %d records and error %v on a good disk, want 30", len(got), err)
	}
}
