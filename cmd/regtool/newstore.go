package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/eaba02dc/registrar/wal"
)

// Marks stand in the name of a store under construction, behind the name it will
// have, and say by what.
const (
	importMark  = ".importing-"
	restoreMark = ".restoring-"
)

// removedMark ends the name of such a store while it is being removed.
const removedMark = ".removed"

// leftover matches what buildBeside and clearLeftovers put behind a mark.
var leftover = regexp.MustCompile(`^[a-z2-7]{8}(\.removed)*$`)

// buildBeside has a store made beside dir and, once it is whole and closed, gives
// it the name dir, which is a real one. If anything goes wrong, there is nothing
// at dir. The new name is durable once the directory above it is synced.
func buildBeside(dir, mark string, log *slog.Logger, fill func(beside string) error) (err error) {
	if err := replaceable(dir); err != nil {
		return err
	}
	if err := clearLeftovers(dir, mark, log); err != nil {
		return err
	}
	beside := dir + mark + strings.ToLower(rand.Text()[:8])
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(beside))
		}
	}()
	if err := fill(beside); err != nil {
		return err
	}
	return moveStore(beside, dir)
}

// replaceable fails if what is at dir cannot give its place to a store that was
// built beside it, or would lose its owner by that.
func replaceable(dir string) error {
	var there, above syscall.Stat_t
	if err := syscall.Stat(dir, &there); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err := errors.Join(err, syscall.Stat(filepath.Dir(dir), &above)); err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	switch {
	case there.Dev != above.Dev:
		return fmt.Errorf("%s is a mount point, and a registry that is made beside it cannot take its place: name a directory inside it", dir)
	case int(there.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, and what user %d makes could not be opened by him: run this as user %d", dir, there.Uid, os.Geteuid(), there.Uid)
	}
	return nil
}

// realDir is where dir really is, so that "beside" means its own file system and
// not that of a link to it.
func realDir(dir string) (string, error) {
	if _, err := os.Lstat(dir); err == nil {
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir)
}

// clearLeftovers removes what interrupted work of this kind left beside dir, and
// refuses while another process is at it. It is taken out of the way
// before it is removed: so either this process has the directory, or the one
// that still finishes it.
func clearLeftovers(dir, mark string, log *slog.Logger) error {
	left, err := filepath.Glob(globQuote(dir) + mark + "*")
	if err != nil {
		return err
	}
	for _, path := range left {
		if !leftover.MatchString(strings.TrimPrefix(path, dir+mark)) {
			continue
		}
		l, err := wal.Open(path, wal.Options{ReadOnly: true, Logger: log})
		if errors.Is(err, wal.ErrLocked) {
			return fmt.Errorf("another process is making a registry at %s: %w", dir, err)
		}
		if errors.Is(err, wal.ErrForeign) && !strings.HasSuffix(path, removedMark) {
			continue // a removal that broke off leaves anything; creating a store does not
		}
		if err == nil {
			if err := l.Close(); err != nil {
				return err
			}
		}
		aside := path + removedMark
		if err := os.Rename(path, aside); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return fmt.Errorf("clear away what was interrupted: %w", err)
		}
		if err := os.RemoveAll(aside); err != nil {
			return fmt.Errorf("clear away what was interrupted: %w", err)
		}
	}
	return nil
}

// globQuote makes a path that stands for itself in a pattern.
func globQuote(path string) string {
	var b strings.Builder
	for _, r := range path {
		if strings.ContainsRune(`*?[\`, r) {
			b.WriteRune('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// moveStore gives a closed store its name. An empty directory of that name makes
// room; anything else does not.
func moveStore(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make room for the new store: %w; move away what is there", err)
	}
	return os.Rename(from, to)
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
