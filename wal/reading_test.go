package wal_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// TestReadingGoesOnWhileTheStoreOpensForWriting: the first reader reads from
// tables that are rewritten and removed meanwhile.
func TestReadingGoesOnWhileTheStoreOpensForWriting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 10)
	for n := uint64(10); n < 60; n += 10 {
		l := reopen(t, dir, nil)
		appendTo(t, l, n+1, n+10)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := tables(t, dir)
	l := reopen(t, dir, nil)
	n := uint64(0)
	for r, err := range l.Records(context.Background(), 0) {
		if err != nil {
			t.Fatalf("after record %d: %v", n, err)
		}
		if n++; n == 1 {
			if err := l.DB().Compact(context.Background(), []byte{0}, []byte{0xff}, false); err != nil {
				t.Fatal(err)
			}
			appendTo(t, l, 61, 65) // not part of what is being read
		}
		if err := storetest.SameRecord(r, storetest.Rec(n, 1, 700)); err != nil {
			t.Fatal(err)
		}
	}
	if n != 60 {
		t.Fatalf("read %d records, want 60", n)
	}
	if got, err := storetest.Collect(l.Records(context.Background(), 0)); err != nil || len(got) != 65 {
		t.Fatalf("read %d records and error %v afterwards, want 65", len(got), err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if after := tables(t, dir); after >= before {
		t.Fatalf("%d tables, %d before they were rewritten", after, before)
	}
}

// TestCloseWaitsForAReaderFromBeforeTheStoreWasOpenForWriting: until it has
// ended, the store is not released.
func TestCloseWaitsForAReaderFromBeforeTheStoreWasOpenForWriting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 10)
	l := reopen(t, dir, nil)
	next, stop := iter.Pull2(l.Records(context.Background(), 0))
	if _, err, ok := next(); err != nil || !ok {
		t.Fatal(err)
	}
	appendTo(t, l, 11, 11) // the store is open for writing now
	closed := make(chan error)
	go func() { closed <- l.Close() }()
	for range 3000 {
		if again, err := wal.Open(dir, wal.Options{Logger: quiet}); !errors.Is(err, wal.ErrLocked) {
			t.Errorf("opening it again under a reader: %v", err)
			if err == nil {
				again.Close()
			}
			break
		}
	}
	stop()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	l = reopen(t, dir, nil)
	if got, err := storetest.Collect(l.Records(context.Background(), 0)); err != nil || len(got) != 11 {
		t.Errorf("read %d records and error %v afterwards, want 11", len(got), err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCloseWaitsForEveryReader: of the Pebble opened for reading, of the one
// opened for writing, and for the removal of the tables kept for the former.
func TestCloseWaitsForEveryReader(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, l *wal.Log, s *slowRemoval) (end func()){
		"before it was open for writing": func(t *testing.T, l *wal.Log, _ *slowRemoval) func() {
			end := beginReading(t, l)
			appendTo(t, l, 11, 11)
			return end
		},
		"after": func(t *testing.T, l *wal.Log, _ *slowRemoval) func() {
			appendTo(t, l, 11, 11)
			return beginReading(t, l)
		},
		"being retired": func(t *testing.T, l *wal.Log, s *slowRemoval) func() {
			end := beginReading(t, l)
			appendTo(t, l, 11, 11)
			rewrite(t, l)
			s.armed.Store(true)
			go end()
			<-s.entered
			return func() { close(s.released) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowRemoval{entered: make(chan struct{}), released: make(chan struct{})}
				o := wal.Options{FS: errorfs.Wrap(memFS(), s), Logger: quiet}
				opener(t, testDir, o)
				l := mustOpen(t, o)
				appendTo(t, l, 1, 10)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = mustOpen(t, o)
				end := begin(t, l, s)
				closed := make(chan error, 1)
				go func() { closed <- l.Close() }()
				synctest.Wait() // Close has come as far as it can
				select {
				case err := <-closed:
					t.Errorf("Close returned %v while the store was being read", err)
					closed <- err
				default:
				}
				end()
				if err := <-closed; err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func mustOpen(t *testing.T, o wal.Options) *wal.Log {
	t.Helper()
	l, err := wal.Open(testDir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// beginReading reads the first record, and goes no further until end.
func beginReading(t *testing.T, l *wal.Log) (end func()) {
	t.Helper()
	next, stop := iter.Pull2(l.Records(context.Background(), 0))
	if _, err, ok := next(); err != nil || !ok {
		t.Fatal(err)
	}
	return stop
}

// rewrite makes other tables of those there are, which then stay only for the
// reader of the Pebble opened for reading.
func rewrite(t *testing.T, l *wal.Log) {
	t.Helper()
	db := l.DB()
	if err := errors.Join(db.Flush(), db.Compact(context.Background(), []byte{0}, []byte{0xff}, false)); err != nil {
		t.Fatal(err)
	}
	db.TestOnlyWaitForCleaning()
	if l.Held() == 0 {
		t.Fatal("no table is kept for the reader")
	}
}

// slowRemoval makes the next removal of a table wait, once it is armed.
type slowRemoval struct {
	armed    atomic.Bool
	entered  chan struct{}
	released chan struct{}
}

func (s *slowRemoval) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpRemove && strings.HasSuffix(op.Path, ".sst") && s.armed.CompareAndSwap(true, false) {
		close(s.entered)
		<-s.released
	}
	return nil
}

func (s *slowRemoval) String() string { return "slow removal" }

func tables(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(dir + "/pebble/*.sst")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestAStoreThatCannotBeWrittenCanBeRead: the trouble shows at the first append.
func TestAStoreThatCannotBeWrittenCanBeRead(t *testing.T) {
	fs := vfs.NewMem()
	l, err := wal.Create("/store", wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1, 9)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f := &fault{err: errors.New("no more"), lasts: true}
	f.left.Store(3) // the locks are taken
	l, err = wal.Open("/store", wal.Options{FS: errorfs.Wrap(fs, f), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(storetest.Rec(10, 1, 1)); !errors.Is(err, store.ErrNotWritten) {
		t.Fatalf("append: got error %v, want %v", err, store.ErrNotWritten)
	}
	_ = l.Close()
	l, err = wal.Open("/store", wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 10, 10)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
