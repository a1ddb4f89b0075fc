package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// unfinishedMark ends the name of a file that is being written.
const unfinishedMark = ".unfinished"

// newFile is a file that gets its name once it is whole and durable. Until then
// it is path.unfinished; what a process that was killed left there is written
// over by the next that makes the same file.
type newFile struct {
	*os.File
	path string
}

// createNew begins a file where there is none.
func createNew(path string) (*newFile, error) {
	if err := nothingAt(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+unfinishedMark, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := claim(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &newFile{f, path}, nil
}

func nothingAt(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%s is there already, and is not written over: name another file", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// claim locks f, so that two processes never write one file, and empties it.
func claim(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another process is writing %s", f.Name())
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(f.Name())
	if err != nil || !os.SameFile(mine, there) { // who had it locked gave it its name meanwhile
		return fmt.Errorf("another process was writing %s: try again", f.Name())
	}
	return errors.Join(f.Chmod(0o600), f.Truncate(0))
}

// name gives the file its name and closes it, or leaves none. The name is durable
// once the directory is synced. What others put there in the moment before would be
// written over: file systems of backups may have no links, which would not.
func (f *newFile) name() error {
	err := f.Sync()
	if err == nil {
		err = nothingAt(f.path)
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, f.discard())
	}
	f.Close() // its bytes are durable, and it has its name
	return nil
}

// discard removes the file, and closes it: its lock ends last.
func (f *newFile) discard() error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// interruptible is a writer that fails once ctx has ended.
type interruptible struct {
	ctx context.Context
	io.Writer
}

func (w interruptible) Write(b []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	return w.Writer.Write(b)
}
