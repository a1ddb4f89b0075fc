package wal_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"slices"
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

// begun is the place that stores of these tests begin at.
var begun = storetest.MarkAt(40, 3)

// createAt makes a store that begins at record 40, and appends a record.
func createAt(o wal.Options) error {
	l, err := wal.CreateAt(context.Background(), testDir, o, begun, slices.Values(storetest.Chunks(5)))
	if err != nil {
		return err
	}
	durable, err := l.Append(storetest.Rec(41, 4, 10))
	if err == nil {
		err = durable()
	}
	return errors.Join(err, l.Close())
}

// mustHoldBeginning fails unless fs has the store of createAt, up to this record at least.
func mustHoldBeginning(t *testing.T, fs vfs.FS, least uint64) {
	t.Helper()
	l, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mark, chunks, err := l.Checkpoint(t.Context(), math.MaxUint64)
	if err != nil || mark != begun {
		t.Errorf("the checkpoint is of %+v (%v), not of %+v", mark, err, begun)
	}
	var got [][]byte
	for chunk, err := range chunks {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, slices.Clone(chunk))
	}
	if want := storetest.Chunks(5); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d chunks, not the %d that were written", len(got), len(want))
	}
	records, err := storetest.Collect(l.Records(t.Context(), begun.Seq))
	if err != nil || len(records) > 1 || begun.Seq+uint64(len(records)) < least {
		t.Errorf("%d records behind the checkpoint, %v", len(records), err)
	}
	if oldest := l.Oldest(); oldest != begun {
		t.Errorf("the oldest place is %+v", oldest)
	}
	if _, err := storetest.Collect(l.Records(t.Context(), 0)); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("records before the checkpoint: %v", err)
	}
}

func TestAStoreCanBeginWithACheckpoint(t *testing.T) {
	fs := memFS()
	var log strings.Builder
	if err := createAt(wal.Options{FS: fs, Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("it logs %s", log.String())
	}
	mustHoldBeginning(t, fs, 41)
	var found []wal.Finding
	err := wal.Check(t.Context(), testDir, wal.Options{FS: fs, Logger: quiet, ReadOnly: true},
		func(f wal.Finding) { found = append(found, f) }, func(*wal.Log) error { return nil })
	if err != nil || len(found) > 0 {
		t.Errorf("check: %v, %v", found, err)
	}
}

// TestABeginningIsWholeOrNotThere crashes before each write of a creation.
func TestABeginningIsWholeOrNotThere(t *testing.T) {
	whole := 0
	for n := int64(1); ; n++ {
		c := &crashAt{fs: memFS(), rng: newRNG(uint64(n)), w: &workload{rng: newRNG(1)}}
		c.left.Store(n)
		if err := createAt(wal.Options{FS: errorfs.Wrap(c.fs, c), Logger: quiet, WitnessEvery: -1}); err != nil {
			t.Fatal(err)
		}
		if c.clone == nil {
			break
		}
		switch l, err := wal.Open(testDir, wal.Options{FS: c.clone, Logger: quiet, ReadOnly: true}); {
		case err == nil:
			whole++
			l.Close()
			mustHoldBeginning(t, c.clone, begun.Seq)
		case errors.Is(err, wal.ErrNotExist):
			if err := createAt(wal.Options{FS: c.clone, Logger: quiet}); err != nil {
				t.Fatalf("before write %d, created again: %v", n, err)
			}
			mustHoldBeginning(t, c.clone, 41)
		default:
			t.Fatalf("before write %d: %v", n, err)
		}
	}
	if whole == 0 {
		t.Error("no crash came behind the creation")
	}
}

func TestABeginningThatIsBrokenOffLeavesNoStore(t *testing.T) {
	fs := memFS()
	ctx, cancel := context.WithCancel(t.Context())
	var given atomic.Int64
	chunks := iter.Seq[[]byte](func(yield func([]byte) bool) {
		for _, c := range storetest.Chunks(5) {
			if given.Add(1) == 3 {
				cancel()
			}
			if !yield(c) {
				return
			}
		}
	})
	_, err := wal.CreateAt(ctx, testDir, wal.Options{FS: fs, Logger: quiet}, begun, chunks)
	if !errors.Is(err, context.Canceled) || given.Load() != 3 {
		t.Errorf("after %d chunks: %v", given.Load(), err)
	}
	if _, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet}); !errors.Is(err, wal.ErrNotExist) {
		t.Errorf("opened: %v", err)
	}
	if _, err := wal.CreateAt(t.Context(), testDir, wal.Options{FS: fs, Logger: quiet}, store.Mark{}, chunks); err == nil {
		t.Error("a checkpoint of nothing is taken")
	}
}

// TestABeginningOnAFullDiskLeavesNoStore lets all writes from the nth on fail.
func TestABeginningOnAFullDiskLeavesNoStore(t *testing.T) {
	for n := int64(1); ; n++ {
		f := &fault{err: syscall.ENOSPC, lasts: true}
		f.left.Store(n)
		fs := memFS()
		_, err := wal.CreateAt(t.Context(), testDir, wal.Options{FS: errorfs.Wrap(fs, f), Logger: quiet}, begun, slices.Values(storetest.Chunks(5)))
		if err == nil {
			break
		}
		l, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet, ReadOnly: true})
		if err == nil { // it is whole, and could not be opened for writing
			l.Close()
			mustHoldBeginning(t, fs, begun.Seq)
		} else if !errors.Is(err, wal.ErrNotExist) {
			t.Fatalf("from write %d on: %v", n, err)
		}
	}
}
