package wal_test

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// What a log that gave up leaves of Pebble stays for good, so this is no
// matter for TestMain: other tests here break disks.
func TestClosingLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	fs := vfs.NewMem()
	l, err := wal.Create("/store", wal.Options{FS: fs, Logger: quiet})
	for _, readOnly := range []bool{false, true} {
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, err = wal.Open("/store", wal.Options{FS: fs, Logger: quiet, ReadOnly: readOnly})
	}
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// quiet is for tests in which the log has much to complain about.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestLogIsAStore(t *testing.T) {
	for name, every := range map[string]int{"witness=5ms": 0, "witness=always": -1} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Opener {
				o := wal.Options{FS: vfs.NewMem(), Logger: quiet, WitnessEvery: -1}
				if every == 0 {
					o.WitnessEvery = 0
				}
				return opener(t, "/store", o)
			})
		})
	}
}

func TestLogOnDiskIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		return opener(t, filepath.Join(t.TempDir(), "store"), wal.Options{Logger: quiet})
	})
}

// opener creates a store and returns how to open it.
func opener(t *testing.T, dir string, o wal.Options) storetest.Opener {
	l, err := wal.Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return func() store.Store {
		l, err := wal.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}
