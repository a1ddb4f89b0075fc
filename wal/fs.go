package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
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
	return dirLock{f}, nil
}

type dirLock struct{ dir *os.File }

// Close lets go of the lock before it closes the file: a process that is just
// being started from this one has a copy of it until it runs its program, and
// would hold the lock for that long.
func (l dirLock) Close() error {
	return errors.Join(syscall.Flock(int(l.dir.Fd()), syscall.LOCK_UN), l.dir.Close())
}

// writable fails if this process may not write in a directory of the store or
// to its witness, without trying.
func (d disk) writable(dir string) error {
	const write, search = 2, 1
	for _, sub := range []string{dir, d.PathJoin(dir, dirPebble)} {
		if err := syscall.Access(sub, write|search); err != nil {
			return &os.PathError{Op: "write in", Path: sub, Err: err}
		}
	}
	witness := d.PathJoin(dir, fileWitness)
	if err := syscall.Access(witness, write); err != nil && !absent(err) {
		return &os.PathError{Op: "write to", Path: witness, Err: err}
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
		return nil, fmt.Errorf("store %s: %w by %s", dir, ErrLocked, holder(f, dir))
	}
	if err != nil {
		return nil, fmt.Errorf("lock store %s: %w", dir, err)
	}
	return held, nil
}

// somebody has the lock, and the system does not tell who.
const somebody = "another process or another part of this one"

// holder names who has dir locked, if the system tells: Linux does.
func holder(f vfs.FS, dir string) string {
	if _, ok := f.(disk); !ok {
		return somebody
	}
	locks, err := os.ReadFile("/proc/locks")
	info, missing := os.Stat(dir)
	if err != nil || missing != nil {
		return somebody
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return somebody
	}
	return holderIn(string(locks), uint64(at.Dev), at.Ino, os.Getpid())
}

// holderIn looks for a file in the text of Linux's /proc/locks. What another
// container holds has no process there that means anything here.
func holderIn(locks string, dev, inode uint64, self int) string {
	major, minor := dev>>8&0xfff|dev>>32&^0xfff, dev&0xff|dev>>12&^0xff
	file := fmt.Sprintf("%02x:%02x:%d", major, minor, inode)
	for line := range strings.Lines(locks) { // 1: FLOCK  ADVISORY  WRITE 26744 fe:00:9986104 0 EOF
		field := strings.Fields(line)
		if len(field) < 6 || field[1] != "FLOCK" || field[5] != file {
			continue
		}
		switch pid, err := strconv.Atoi(field[4]); {
		case err != nil || pid <= 0:
		case pid == self:
			return "another part of this process"
		default:
			return fmt.Sprintf("process %d", pid)
		}
	}
	return somebody
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
