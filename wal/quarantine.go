package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// quarantineNew is the directory in which a copy is made: what has a number is
// complete.
const quarantineNew = "new"

// quarantine copies what could tell how records came to be lost, before
// anything is changed, to quarantine/N in the store's directory, and returns N:
// the store's own files, and of Pebble's all but the tables, which it never
// changes and which may be large. It is for people and their tools; no program
// of ours reads it.
func quarantine(f vfs.FS, dir string) (n uint64, err error) {
	top := f.PathJoin(dir, dirQuarantine)
	fresh := f.PathJoin(top, quarantineNew)
	if err := copyEvidence(f, dir, top, fresh); err != nil {
		return 0, fmt.Errorf("copy what tells of the loss to %s: %w", top, err)
	}
	if n, err = freeNumber(f, top); err != nil {
		return 0, fmt.Errorf("look into %s: %w", top, err)
	}
	err = f.Rename(fresh, f.PathJoin(top, strconv.FormatUint(n, 10)))
	if err == nil {
		err = syncDir(f, top)
	}
	if err != nil {
		return 0, fmt.Errorf("number the copy in %s: %w", top, err)
	}
	return n, nil
}

// copyEvidence leaves a complete and durable copy in fresh.
func copyEvidence(f vfs.FS, dir, top, fresh string) error {
	if err := makeDir(f, top); err != nil {
		return err
	}
	if err := f.RemoveAll(fresh); err != nil && !absent(err) {
		return err
	}
	pebbles := f.PathJoin(fresh, dirPebble)
	if err := makeDir(f, pebbles); err != nil {
		return err
	}
	names, err := f.List(f.PathJoin(dir, dirPebble))
	if err != nil {
		return err
	}
	for _, name := range names {
		switch filepath.Ext(name) {
		case ".sst", ".blob":
			continue
		}
		if name == fileLock { // closing it would give up a lock held on it
			continue
		}
		if err := vfs.Copy(f, f.PathJoin(dir, dirPebble, name), f.PathJoin(pebbles, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{fileStore, fileWitness} {
		err := vfs.Copy(f, f.PathJoin(dir, name), f.PathJoin(fresh, name))
		if err != nil && !absent(err) {
			return err
		}
	}
	return errors.Join(syncDir(f, pebbles), syncDir(f, fresh))
}

// freeNumber is the number after the highest one in a directory.
func freeNumber(f vfs.FS, dir string) (uint64, error) {
	names, err := f.List(dir)
	if err != nil {
		return 0, err
	}
	free := uint64(1)
	for _, name := range names {
		if n, err := strconv.ParseUint(name, 10, 64); err == nil {
			free = max(free, n+1)
		}
	}
	return free, nil
}
