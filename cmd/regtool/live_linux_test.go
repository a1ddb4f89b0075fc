package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadingNeedsNoPlaceToWrite reads what a killed process has left on a file
// system that takes nothing.
func TestReadingNeedsNoPlaceToWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/registry"
	seed(t, dir)
	m := serveProcess(t, "--dir", dir, "--port", "0")
	m.ready(t)
	m.kill(t)
	at := filepath.Join(t.TempDir(), "read-only")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mountReadOnly(dir, at); err != nil {
		t.Skipf("a file system cannot be mounted here: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(filepath.Join(at, "probe"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("it can be written to: %v", err)
	}
	before := tree(t, at)
	readsAll(t, at, 0)
	if after := tree(t, at); after != before {
		t.Errorf("reading has changed the directory:\n%s\nwas\n%s", after, before)
	}
}

// mountReadOnly has dir at another place, where nothing can be written.
func mountReadOnly(dir, at string) error {
	if err := syscall.Mount(dir, at, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	err := syscall.Mount("", at, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	if err != nil {
		return errors.Join(err, syscall.Unmount(at, 0))
	}
	return nil
}
