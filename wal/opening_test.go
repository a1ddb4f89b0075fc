package wal_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/wal"
)

// compactionDue is a store whose tables Pebble will want to merge as soon as it
// is opened, and whose last records are in its log.
func compactionDue(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := memFS()
	o := wal.Options{FS: fs, Logger: quiet}
	opener(t, testDir, o)
	db, err := pebble.Open(testDir+"/pebble", &pebble.Options{FS: fs, DisableAutomaticCompactions: true, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 { // as many as make it due, and fewer than make writers wait
		// Rows that no reader looks at, on both sides of all others.
		err := errors.Join(db.Set([]byte("a"), []byte{byte(i)}, nil), db.Set([]byte("z"), []byte{byte(i)}, nil), db.Flush())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return fs
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}

// TestNoCompactionRunsInAnOpeningThatFails: Pebble would panic on the
// compaction's own goroutine, and take the process with it.
func TestNoCompactionRunsInAnOpeningThatFails(t *testing.T) {
	t.Parallel()
	due := compactionDue(t)
	failed := 0
	for at := int64(1); ; at++ {
		fs := due.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRNG(1)})
		f := &fault{err: syscall.EIO, lasts: at%2 == 0}
		f.left.Store(at)
		l, err := wal.Open(testDir, wal.Options{FS: errorfs.Wrap(fs, f), Logger: quiet})
		if err == nil {
			if _, err = l.Append(storetest.Rec(1, 1, 1)); err != nil {
				failed++
			}
			_ = l.Close()
		}
		if f.hit.Load() == nil {
			break
		}
	}
	if failed == 0 {
		t.Fatal("no opening failed: this test proves nothing")
	}
}

// TestCompactionsBeginOnceTheStoreIsOpen: what was held back is not forgotten.
func TestCompactionsBeginOnceTheStoreIsOpen(t *testing.T) {
	fs := compactionDue(t)
	made := make(chan struct{}, 100)
	l, err := wal.Open(testDir, wal.Options{Logger: quiet, FS: errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			made <- struct{}{}
		}
		return nil
	}))})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AwaitWriting(); err != nil {
		t.Fatal(err)
	}
	<-made // nothing else makes a table of a store that was closed
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
