package wal_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/wal"
)

// tree describes everything under dir, its own entry too: names, modes,
// lengths, times of change, contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %v", path, i.Mode(), i.Size(), i.ModTime().UnixNano())
		// Reading LOCK would give up the lock that this process holds on it.
		if i.Mode().IsRegular() && d.Name() != "LOCK" {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %08x", crc32.ChecksumIEEE(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return b.String()
}

// fill creates a store of n records and closes it.
func fill(t *testing.T, dir string, n uint64) {
	t.Helper()
	l, err := wal.Create(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1, n)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, l *wal.Log, from, to uint64) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		durable, err := l.Append(storetest.Rec(seq, 1, 700))
		if err == nil {
			err = durable()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// ours is the tree without the files that Pebble, in use, makes and removes
// when it likes.
func ours(t *testing.T, dir string) string {
	t.Helper()
	lines := strings.SplitAfter(tree(t, dir), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "/pebble") && !strings.Contains(line, "/LOCK ")
	}), "")
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
