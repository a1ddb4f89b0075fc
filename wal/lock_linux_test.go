package wal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/eaba02dc/registrar/wal"
)

// A process that is being started from this one has copies of its open files
// until it runs its program. A store that is closed by then is free all the same.
func TestAClosedStoreIsFreeWhileAProcessIsBeingStarted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l, err := wal.Create(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(openAt(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = wal.Open(dir, wal.Options{Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// openAt is this process's descriptor of a path.
func openAt(t *testing.T, path string) int {
	t.Helper()
	const open = "/proc/self/fd"
	names, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if to, err := os.Readlink(filepath.Join(open, name.Name())); err == nil && to == path {
			var fd int
			if _, err := fmt.Sscan(name.Name(), &fd); err != nil {
				t.Fatal(err)
			}
			return fd
		}
	}
	t.Fatalf("%s is not open here", path)
	return 0
}
