package wal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// The formats that Create writes.
var newestFormats = [2]int{1, int(pebble.FormatValueSeparation)}

// oldStore is the store of a release with every row in the oldest format that
// Pebble knows, and in a format of our own that never was.
func oldStore(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := memFS()
	_, err := vfs.Clone(vfs.Default, fs, "../testdata/store/v1", testDir, vfs.CloneSync)
	if err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, wal.Options{FS: fs, Logger: quiet, ReadOnly: true})
	history := l.Identity().History
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(oldRows(fs, testDir+"/pebble"), wal.WriteFile(fs, testDir+"/STORE", wal.StoreText(history, 0))); err != nil {
		t.Fatal(err)
	}
	return fs
}

func oldRows(fs *vfs.MemFS, dir string) error {
	from, err := pebble.Open(dir, &pebble.Options{FS: fs, ReadOnly: true, Logger: nothing{}})
	if err != nil {
		return err
	}
	to, err := pebble.Open(dir+".old", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatMinSupported, Logger: nothing{}})
	if err != nil {
		return err
	}
	it, err := from.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := to.Set(it.Key(), it.Value(), pebble.Sync); err != nil {
			return err
		}
	}
	format := to.Set([]byte("mformat"), make([]byte, 4), pebble.Sync)
	err = errors.Join(format, it.Close(), from.Close(), to.Flush(), to.Close(), fs.RemoveAll(dir), fs.Rename(dir+".old", dir))
	for _, dir := range []string{"/", "/data", testDir} {
		d, e := fs.OpenDir(dir)
		if err = errors.Join(err, e); err != nil {
			return err
		}
		err = errors.Join(d.Sync(), d.Close())
	}
	return err
}

type nothing struct{}

func (nothing) Infof(string, ...any)  {}
func (nothing) Errorf(string, ...any) {}
func (nothing) Fatalf(f string, a ...any) {
	panic(fmt.Sprintf(f, a...))
}

// said is all that a store says, but for its formats.
type said struct {
	identity store.Identity
	last     store.Mark
	points   []wal.Checkpoint
	records  []store.Record
}

// String leaves out the bytes.
func (s said) String() string {
	return fmt.Sprintf("%d records to %v and the checkpoints %v of %v", len(s.records), s.last, s.points, s.identity)
}

func saidBy(l *wal.Log) (c said, formats [2]int, err error) {
	i, err := l.Info()
	if err != nil {
		return c, formats, err
	}
	c = said{identity: i.Identity, last: i.Last, points: i.Checkpoints}
	c.records, err = storetest.Collect(l.Records(context.Background(), i.First-1))
	return c, [2]int{i.Format, i.PebbleFormat}, err
}

// read opens the store for reading.
func read(fs vfs.FS) (said, [2]int, error) {
	l, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet, ReadOnly: true})
	if err != nil {
		return said{}, [2]int{}, err
	}
	c, formats, err := saidBy(l)
	return c, formats, errors.Join(err, l.Close())
}

func upgrade(fs vfs.FS) (raised bool, err error) {
	l, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		return false, err
	}
	raised, err = l.Upgrade()
	return raised, errors.Join(err, l.Close())
}

func TestOnlyUpgradeRaisesFormats(t *testing.T) {
	fs := oldStore(t)
	old := [2]int{0, int(pebble.FormatMinSupported)}
	want, formats, err := read(fs)
	if err != nil || formats != old || len(want.records) == 0 || len(want.points) != 2 {
		t.Fatalf("before, it has formats %v, %d records and %d checkpoints; error %v", formats, len(want.records), len(want.points), err)
	}
	l := mustOpen(t, wal.Options{FS: fs, Logger: quiet})
	if err := errors.Join(l.AwaitWriting(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if got, formats, err := read(fs); err != nil || formats != old || !reflect.DeepEqual(got, want) {
		t.Fatalf("after it was open for writing, it has formats %v and holds %v, want %v and %v; error %v", formats, got, old, want, err)
	}
	if raised, err := upgrade(fs); err != nil || !raised {
		t.Fatalf("upgrade says %v, error %v", raised, err)
	}
	if got, formats, err := read(fs); err != nil || formats != newestFormats || !reflect.DeepEqual(got, want) {
		t.Fatalf("upgraded, it has formats %v and holds %v, want %v and %v; error %v", formats, got, newestFormats, want, err)
	}
}

// TestAnUpgradeThatHasNothingToDoTouchesNothing: not even by opening for writing.
func TestAnUpgradeThatHasNothingToDoTouchesNothing(t *testing.T) {
	fs := oldStore(t)
	if _, err := upgrade(fs); err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	watched := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			writes.Add(1)
		}
		return nil
	}))
	l, err := wal.Open(testDir, wal.Options{FS: watched, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	before := writes.Load()
	raised, err := l.Upgrade()
	if err := errors.Join(err, l.Close()); err != nil || raised || writes.Load() != before {
		t.Fatalf("upgrade says %v, error %v, %d writes", raised, err, writes.Load()-before)
	}
}

func TestAStoreOpenForReadingIsNotUpgraded(t *testing.T) {
	l := mustOpen(t, wal.Options{FS: oldStore(t), Logger: quiet, ReadOnly: true})
	defer l.Close()
	if raised, err := l.Upgrade(); raised || !errors.Is(err, store.ErrReadOnly) {
		t.Fatalf("upgrade says %v, error %v", raised, err)
	}
}

// TestAnInterruptedUpgradeGoesOn: a crash before each write, and a disk that is
// full from each write on. What is left has all that the store held, whatever its
// formats, and the next upgrade ends what was begun.
func TestAnInterruptedUpgradeGoesOn(t *testing.T) {
	old := oldStore(t)
	want, _, err := read(old)
	if err != nil {
		t.Fatal(err)
	}
	halfway := map[[2]int]bool{}
	for _, full := range []bool{false, true} {
		for n, whole := int64(1), false; !whole; n++ {
			fs := old.CrashClone(vfs.CrashCloneCfg{})
			left := fs
			left, whole, err = interruptedUpgrade(fs, n, full)
			if err != nil {
				t.Fatalf("write %d, full %v: %v", n, full, err)
			}
			got, formats, err := read(left)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("write %d, full %v: it holds %v, want %v; error %v", n, full, got, want, err)
			}
			halfway[formats] = true
			if raised, err := upgrade(left); err != nil || raised == (formats == newestFormats) {
				t.Fatalf("write %d, full %v: of formats %v, the next upgrade says %v, error %v", n, full, formats, raised, err)
			}
			if got, formats, err := read(left); err != nil || formats != newestFormats || !reflect.DeepEqual(got, want) {
				t.Fatalf("write %d, full %v: in the end it has formats %v and holds %v; error %v", n, full, formats, got, err)
			}
			if err := saysFormat1(left); err != nil {
				t.Fatalf("write %d, full %v: in the end %v", n, full, err)
			}
		}
	}
	if len(halfway) < 10 {
		t.Errorf("interrupted upgrades left only the formats %v", halfway)
	}
}

// saysFormat1 looks into both places that name the format.
func saysFormat1(fs *vfs.MemFS) error {
	f, err := fs.Open(testDir + "/STORE")
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	db, e := pebble.Open(testDir+"/pebble", &pebble.Options{FS: fs, ReadOnly: true, Logger: nothing{}})
	if err := errors.Join(err, f.Close(), e); err != nil {
		return err
	}
	row, done, err := db.Get([]byte("mformat"))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(text), "registrar store\nformat 1\n") || string(row) != "\x01\x00\x00\x00" {
		err = fmt.Errorf("the file STORE says %q and the row %x", text, row)
	}
	return errors.Join(err, done.Close(), db.Close())
}

// interruptedUpgrade returns what is left when the nth write of an upgrade is not
// done any more; whole if it has less.
func interruptedUpgrade(fs *vfs.MemFS, n int64, full bool) (left *vfs.MemFS, whole bool, err error) {
	var begun, met atomic.Bool
	var writes atomic.Int64
	var once sync.Once
	left = fs
	l, err := wal.Open(testDir, wal.Options{Logger: quiet, FS: errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !begun.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || writes.Add(1) < n {
			return nil
		}
		met.Store(true)
		if full {
			return syscall.ENOSPC
		}
		once.Do(func() { left = fs.CrashClone(vfs.CrashCloneCfg{}) })
		return nil
	}))})
	if err != nil {
		return nil, false, err
	}
	if err := l.AwaitWriting(); err != nil {
		return nil, false, err
	}
	begun.Store(true)
	raised, err := l.Upgrade()
	interrupted := met.Load()
	begun.Store(interrupted)
	if failed := err != nil; failed == raised || failed && !interrupted {
		return nil, false, fmt.Errorf("upgrade says %v, error %w", raised, err)
	}
	err = l.Close()
	if full && interrupted {
		err = nil
	}
	return left, !interrupted, err
}

// TestFilesOfANewerPebbleAreNotDamaged: they are named as newer.
func TestFilesOfANewerPebbleAreNotDamaged(t *testing.T) {
	fs := oldStore(t)
	if err := wal.WriteFile(fs, testDir+"/pebble/marker.format-version.000099.099", nil); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		_, err := wal.Open(testDir, wal.Options{FS: fs, Logger: quiet, ReadOnly: readOnly})
		want := fmt.Sprintf("store %s: %v: Pebble's files have format 99, this program reads up to %d", testDir, wal.ErrVersion, pebble.FormatNewest)
		if !errors.Is(err, wal.ErrVersion) || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
