package wal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/wal"
)

// crashAt is a file system that crashes before its nth write: from then on
// clone holds what the crash left. What was acknowledged by then is noted.
type crashAt struct {
	fs    *vfs.MemFS
	rng   *rand.Rand
	left  atomic.Int64
	w     *workload
	clone *vfs.MemFS

	created        bool
	acked, covered uint64
}

func (c *crashAt) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || c.left.Add(-1) != 0 {
		return nil
	}
	c.created, c.acked, c.covered = c.w.created.Load(), c.w.acked.Load(), c.w.covered.Load()
	c.clone = crash(c.fs, c.rng)
	c.w.stop.Store(true)
	return nil
}

func (c *crashAt) String() string { return "crash" }

// TestAcknowledgedRecordsSurviveCrashes crashes at a random write, anywhere
// from creation to closing, with a random part of the unsynced data lost; and
// three times in a row, so over recovery as well.
func TestAcknowledgedRecordsSurviveCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(crashSeeds) {
		if err := crashThrice(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func crashThrice(seed uint64) error {
	rng := newRNG(seed)
	fs := memFS()
	w := &workload{rng: rng}
	for round := range 3 {
		c := &crashAt{fs: fs, rng: newRNG(seed + uint64(round+1)<<32), w: w} // it crashes on any goroutine
		c.left.Store(1 + rng.Int64N(220))
		if err := useUntilCrash(c, w); err != nil {
			return fmt.Errorf("round %d, before the crash: %w", round, err)
		}
		if c.clone == nil { // it ended before the crash came
			c.created, c.acked, c.covered = true, w.acked.Load(), w.covered.Load()
			c.clone = crash(fs, rng)
		}
		if err := recoverFrom(c, w); err != nil {
			return fmt.Errorf("round %d, after a crash that left %d records acknowledged: %w", round, c.acked, err)
		}
		fs = c.clone
	}
	return nil
}

func crashOptions(fs vfs.FS, rng *rand.Rand) wal.Options {
	o := wal.Options{FS: fs, Logger: quiet}
	if rng.IntN(2) == 0 {
		o.WitnessEvery = -1
	}
	return o
}

// useUntilCrash creates or opens the store and writes until the crash.
func useUntilCrash(c *crashAt, w *workload) error {
	o := crashOptions(errorfs.Wrap(c.fs, c), w.rng)
	l, err := wal.Open(testDir, o)
	if errors.Is(err, wal.ErrNotExist) && !w.created.Load() {
		l, err = wal.Create(testDir, o)
	}
	if err != nil {
		return err
	}
	w.created.Store(true)
	err = w.run(l, 40+w.rng.IntN(120))
	return errors.Join(err, l.Close())
}

// recoverFrom opens what the crash left, reading only and then for writing.
func recoverFrom(c *crashAt, w *workload) error {
	w.created.Store(c.created)
	w.covered.Store(c.covered)
	for _, readOnly := range []bool{true, false} {
		o := crashOptions(c.clone, w.rng)
		o.ReadOnly = readOnly
		l, err := wal.Open(testDir, o)
		if errors.Is(err, wal.ErrNotExist) && !c.created {
			w.adopt(0)
			continue
		}
		if err != nil {
			return err
		}
		l.AwaitWriting() // what is adopted is then durable
		w.created.Store(true)
		last, err := w.verify(l, c.acked, c.covered)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		w.adopt(last)
		if i, err := l.Info(); err != nil {
			return errors.Join(err, l.Close())
		} else if n := len(i.Checkpoints); n > 0 {
			w.covered.Store(i.Checkpoints[n-1].Mark.Seq)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// markerCrash crashes several times over right after each of Pebble's marker
// files was made, while nothing says that its directory entry is durable.
type markerCrash struct {
	fs     *vfs.MemFS
	made   atomic.Bool
	clones []*vfs.MemFS
}

func (c *markerCrash) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if c.made.Swap(op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "marker.")) {
		for seed := range uint64(12) {
			c.clones = append(c.clones, c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: newRNG(seed)}))
		}
	}
	return nil
}

func (c *markerCrash) String() string { return "crash after a marker" }

// TestAMarkerNeverOutlivesTheFileItNames: Pebble alone makes the two names
// durable together, and a crash may keep one of them.
func TestAMarkerNeverOutlivesTheFileItNames(t *testing.T) {
	fs := memFS()
	w := &workload{rng: newRNG(1)}
	l, err := wal.Create(testDir, wal.Options{FS: fs, Logger: quiet})
	if err := errors.Join(err, w.run(l, 5), l.Close()); err != nil {
		t.Fatal(err)
	}
	c := &markerCrash{fs: fs}
	if l, err = wal.Open(testDir, wal.Options{FS: errorfs.Wrap(fs, c), Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	l.AwaitWriting()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(c.clones) == 0 {
		t.Fatal("no marker was made: this test proves nothing")
	}
	for i, fs := range c.clones {
		l, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet})
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		if _, err := w.verify(l, 5, 0); err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
