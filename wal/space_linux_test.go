package wal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// smallDisk is a file system of its own with so many bytes.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a small file system cannot be mounted here (it takes root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk leaves so many bytes free, or hardly fewer.
func fillDisk(t *testing.T, dir string, leave uint64) (release func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, s.Bavail*uint64(s.Bsize)-leave)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAStoreLivesThroughAFullDisk goes to the hard mark, to the last byte, and
// back.
func TestAStoreLivesThroughAFullDisk(t *testing.T) {
	disk := smallDisk(t, "size=8m")
	dir := filepath.Join(disk, "store")
	o := wal.Options{FullBelow: 1 << 20, Logger: quiet}
	l, err := wal.Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1, 100)
	release := fillDisk(t, disk, 900<<10)
	l.LookAtSpace()
	if err := l.Room(); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("room: got %v, want %v", err, store.ErrDiskFull)
	}
	appendTo(t, l, 101, 200) // what removes is still done
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := wal.Open(dir, o); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("opened for writing: got error %v, want %v", err, store.ErrDiskFull)
	}
	release()
	if l, err = wal.Open(dir, o); err != nil {
		t.Fatal(err)
	}
	acked := fillUp(t, disk, l)
	_ = l.Close() // says again what failed

	before := tree(t, dir)
	if got := recordsOn(t, dir); got < acked {
		t.Errorf("%d records are there while the disk is full, and %d were acknowledged", got, acked)
	}
	if tree(t, dir) != before {
		t.Error("reading has changed files")
	}
	if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
		t.Fatal(err)
	}
	if l, err = wal.Open(dir, o); err != nil {
		t.Fatal(err)
	}
	next := recordsIn(t, l) + 1
	if next <= acked {
		t.Errorf("%d records are there, and %d were acknowledged", next-1, acked)
	}
	appendTo(t, l, next, next+10)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// fillUp takes all space, and appends until that fails. It returns the number
// of the last record that is durable.
func fillUp(t *testing.T, disk string, l *wal.Log) uint64 {
	t.Helper()
	fillDisk(t, disk, 300<<10)
	acked := uint64(200)
	for seq := acked + 1; ; seq++ {
		durable, err := l.Append(storetest.Rec(seq, 1, 10_000))
		if err == nil {
			err = durable()
		}
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("record %d: got error %v, want %v", seq, err, syscall.ENOSPC)
			}
			return acked
		}
		acked = seq
	}
}

func recordsOn(t *testing.T, dir string) uint64 {
	t.Helper()
	l, err := wal.Open(dir, wal.Options{ReadOnly: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return recordsIn(t, l)
}

func recordsIn(t *testing.T, l *wal.Log) uint64 {
	t.Helper()
	got, err := storetest.Collect(l.Records(context.Background(), 0))
	if err != nil {
		t.Fatal(err)
	}
	return uint64(len(got))
}
