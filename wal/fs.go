package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the real file system: what is made in it belongs to its owner
// alone, and a directory is locked without touching a file.
type disk struct{ vfs.FS }

func (d disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return f, ownerOnly(f)
}

func (d disk) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, c, opts...)
	if err != nil {
		return nil, err
	}
	return f, ownerOnly(f)
}

func ownerOnly(f vfs.File) error { return syscall.Fchmod(int(f.Fd()), 0o600) }

func (disk) MkdirAll(dir string, _ os.FileMode) error { return os.MkdirAll(dir, 0o700) }

// lockDir holds the directory until the Closer is closed, or by death of the
// process. Any number of readers, or one writer. It works within a process as
// it does between two.
func (disk) lockDir(dir string, shared bool) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// writable fails if this process may not write in dir, without trying.
func (disk) writable(dir string) error {
	const write, search = 2, 1
	if err := syscall.Access(dir, write|search); err != nil {
		return &os.PathError{Op: "write in", Path: dir, Err: err}
	}
	return nil
}

// lock takes the store's lock.
func lock(f vfs.FS, dir string, shared bool) (io.Closer, error) {
	var held io.Closer
	var err error
	if d, ok := f.(disk); ok {
		held, err = d.lockDir(dir, shared)
	} else {
		held, err = f.Lock(f.PathJoin(dir, fileLock))
	}
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EACCES) {
		return nil, fmt.Errorf("store %s: %w by another process or another part of this one", dir, ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("lock store %s: %w", dir, err)
	}
	return held, nil
}

// syncDir makes the names in dir durable.
func syncDir(f vfs.FS, dir string) error {
	d, err := f.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// absent tells a file that is not there from other trouble.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
