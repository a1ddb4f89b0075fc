package wal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/wal"
)

// The store that is damaged below: records 1 to 40, of which those from 11 on
// are kept, with three checkpoints.
const (
	everyOldest = 10
	everyLast   = 40
)

// newEvery makes the store, closed, or as SIGKILL leaves it: all that was
// written is there, the last records in Pebble's log alone.
func newEvery(t *testing.T, killed bool) *vfs.MemFS {
	t.Helper()
	fs := memFS()
	o := wal.Options{FS: fs, Logger: quiet, WitnessEvery: -1}
	opener(t, testDir, o)
	l := mustOpen(t, o)
	appendTo(t, l, 1, 30)
	for seq := uint64(10); seq <= 30; seq += 10 {
		err := l.Compact(context.Background(), storetest.MarkAt(seq, 1), slices.Values(storetest.Chunks(9)), everyOldest)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, o)
	appendTo(t, l, 31, everyLast)
	l.DB().TestOnlyWaitForCleaning()
	left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRNG(1)})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if !killed {
		left = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRNG(1)})
	}
	return left
}

// TestNoDamageMakesAStoreShorter does to each file, in turn, what a disk or
// somebody at the keyboard may do, and opens the store for reading and for
// writing. What is left is never taken for all there was.
func TestNoDamageMakesAStoreShorter(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"closed": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newEvery(t, killed)
			n := map[verdict]int{}
			for path, b := range contents(t, whole) {
				for d := range damages(path, b) {
					for _, readOnly := range []bool{true, false} {
						v, err := judge(whole, d, readOnly)
						if err != nil {
							t.Errorf("%s, read only %v: %v", d.name, readOnly, err)
						}
						n[v]++
					}
				}
			}
			t.Logf("%v", n)
			for _, v := range []verdict{unharmed, named, refused} {
				if n[v] == 0 {
					t.Errorf("no damage had the outcome %q: this test proves nothing", v)
				}
			}
		})
	}
}

// contents reads all files under testDir.
func contents(t *testing.T, fs *vfs.MemFS) map[string][]byte {
	t.Helper()
	files, err := readAll(fs, testDir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readAll(fs *vfs.MemFS, dir string) (map[string][]byte, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		if i, err := fs.Stat(path); err != nil {
			return nil, err
		} else if i.IsDir() {
			below, err := readAll(fs, path)
			if err != nil {
				return nil, err
			}
			maps.Copy(files, below)
			continue
		}
		f, err := fs.Open(path)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		files[path] = b
	}
	return files, nil
}

// harm is one thing that happens to a file.
type harm struct {
	name, path string
	bytes      []byte // nil: the file is removed
}

// damages yields what can happen to a file: it goes, it is cut at several
// lengths, or a byte flips: each of a short file, a sample of a long one.
func damages(path string, b []byte) func(func(harm) bool) {
	return func(yield func(harm) bool) {
		if !yield(harm{path + " removed", path, nil}) {
			return
		}
		n := len(b)
		for _, length := range slices.Compact([]int{0, n / 4, n / 2, n - 5, n - 1}) {
			if length >= 0 && length < n && !yield(harm{fmt.Sprintf("%s cut to %d of %d bytes", path, length, n), path, b[:length:length]}) {
				return
			}
		}
		for at := 0; at < n; at = nextFlip(at, n) {
			flipped := bytes.Clone(b)
			flipped[at] ^= 0x10
			if !yield(harm{fmt.Sprintf("%s of %d bytes flipped at %d", path, n, at), path, flipped}) {
				return
			}
		}
	}
}

// nextFlip goes over every byte at both ends, and takes a number of steps in
// between.
func nextFlip(at, n int) int {
	if at < flipEdge || at >= n-flipEdge {
		return at + 1
	}
	return min(at+max(1, (n-2*flipEdge)/flipSteps), n-flipEdge)
}

// verdict is what became of a damaged store.
type verdict string

const (
	unharmed = verdict("all is there")
	named    = verdict("it opens, and reading names the damage")
	refused  = verdict("it is refused")
)

// judge opens a damaged copy. Its error is a broken promise.
func judge(whole *vfs.MemFS, d harm, readOnly bool) (verdict, error) {
	fs := whole.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRNG(1)})
	if err := d.apply(fs); err != nil {
		return "", err
	}
	before, err := readAll(fs, testDir)
	if err != nil {
		return "", err
	}
	l, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet, ReadOnly: readOnly, WitnessEvery: -1})
	if err != nil {
		after, e := readAll(fs, testDir)
		if e == nil && !maps.EqualFunc(before, after, bytes.Equal) {
			e = fmt.Errorf("the refusal %w changed the directory", err)
		}
		return refused, e
	}
	trouble, err := allIsThere(l)
	if e := l.Close(); trouble != nil {
		return named, err // Close may meet it too
	} else if err = errors.Join(err, e); err != nil || readOnly {
		return unharmed, err
	}
	return unharmed, isStillThere(fs)
}

// isStillThere opens a store once more that was open for writing, damage or not.
func isStillThere(fs *vfs.MemFS) error {
	l, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet, ReadOnly: true})
	if err != nil {
		return err
	}
	trouble, err := allIsThere(l)
	return errors.Join(trouble, err, l.Close())
}

func (d harm) apply(fs *vfs.MemFS) error {
	if d.bytes == nil {
		return fs.Remove(d.path)
	}
	f, err := fs.Create(d.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(d.bytes)
	return errors.Join(err, f.Close())
}

// allIsThere reads a store. It returns the trouble that reading names; an error
// says that something is missing and nothing names it.
func allIsThere(l *wal.Log) (trouble, err error) {
	for atMost := uint64(everyOldest); atMost <= everyLast; atMost += 10 {
		mark, chunks, e := l.Checkpoint(context.Background(), atMost)
		if e != nil {
			trouble = errors.Join(trouble, e)
			continue
		}
		if want := min(atMost, 30); mark.Seq != want {
			damage, err := damageOf(l, want)
			if err != nil {
				return nil, err
			}
			trouble = errors.Join(trouble, damage)
		}
		for _, e := range chunks {
			trouble = errors.Join(trouble, e)
		}
	}
	after := uint64(everyOldest)
	for r, e := range l.Records(context.Background(), everyOldest) {
		if e != nil {
			return errors.Join(trouble, e), nil
		}
		if after++; r.Seq != after {
			return trouble, fmt.Errorf("record %d comes after %d", r.Seq, after-1)
		}
		if err := storetest.SameRecord(r, storetest.Rec(after, 1, 700)); err != nil {
			return trouble, err
		}
	}
	if after != everyLast {
		return trouble, fmt.Errorf("the store ends at record %d of %d, and nothing says so", after, everyLast)
	}
	if got := l.Oldest(); got.Seq != everyOldest && trouble == nil {
		return nil, fmt.Errorf("the store begins at %+v, and nothing says so", got)
	}
	return trouble, nil
}

// damageOf is what Info knows of the damage of a checkpoint; an error says that
// it knows of none.
func damageOf(l *wal.Log, seq uint64) (damage, err error) {
	i, err := l.Info()
	if err != nil {
		return nil, err
	}
	for _, c := range i.Checkpoints {
		if c.Mark.Seq == seq && c.Damage != "" {
			return errors.New(c.Damage), nil
		}
	}
	return nil, fmt.Errorf("checkpoint %d is not offered, and nothing says why", seq)
}
