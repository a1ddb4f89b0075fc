package wal_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

func TestARefusalLeavesEverythingAsItWas(t *testing.T) {
	ok := error(nil)
	for name, c := range map[string]struct {
		prepare      func(t *testing.T, dir string)
		open, create error
		text         string // in the text of open's error
	}{
		"absent":  {func(*testing.T, string) {}, wal.ErrNotExist, ok, "does not exist"},
		"empty":   {func(t *testing.T, dir string) { mkdir(t, dir) }, wal.ErrNotExist, ok, "is empty"},
		"a store": {func(t *testing.T, dir string) { fill(t, dir, 3) }, ok, wal.ErrExist, ""},
		"a file":  {func(t *testing.T, dir string) { write(t, dir, "x") }, wal.ErrForeign, wal.ErrForeign, "it is a file"},
		"foreign": {func(t *testing.T, dir string) { mkdir(t, dir); write(t, dir+"/notes", "x") }, wal.ErrForeign, wal.ErrForeign, `"notes"`},
		"above a store": {func(t *testing.T, dir string) {
			mkdir(t, dir)
			fill(t, dir+"/registry", 1)
			write(t, dir+"/a6.json", "x")
		},
			wal.ErrForeign, wal.ErrForeign, `it holds "a6.json"; `},
		"in a store": {func(t *testing.T, dir string) {
			mkdir(t, dir)
			write(t, dir+"/notes", "x")
			write(t, dir+"/../STORE", "x")
		}, wal.ErrForeign, wal.ErrForeign, `it holds "notes"; it is a part of one, the directory above it`},
		"interrupted": {func(t *testing.T, dir string) { mkdir(t, dir); write(t, dir+"/CREATING", "") }, wal.ErrNotExist, ok, "interrupted"},
		"interrupted and foreign": {func(t *testing.T, dir string) {
			mkdir(t, dir)
			write(t, dir+"/CREATING", "")
			write(t, dir+"/notes", "x")
		}, wal.ErrForeign, wal.ErrForeign, `"notes"`},
		"newer": {func(t *testing.T, dir string) {
			fill(t, dir, 3)
			write(t, dir+"/STORE", "registrar store\nformat 2\nwho knows what\n")
		}, wal.ErrVersion, wal.ErrExist, "it has format 2, this program reads up to 1"},
		"damaged STORE": {func(t *testing.T, dir string) {
			fill(t, dir, 3)
			write(t, dir+"/STORE", "registrar store\nformat 1\nhistory 00\n")
		}, new(wal.CorruptError), wal.ErrExist, "STORE"},
		"missing STORE": {func(t *testing.T, dir string) {
			fill(t, dir, 3)
			remove(t, dir+"/STORE")
		}, new(wal.CorruptError), new(wal.CorruptError), "STORE is missing"},
		"missing WITNESS": {func(t *testing.T, dir string) {
			fill(t, dir, 3)
			remove(t, dir+"/WITNESS")
		}, new(wal.LostRecordsError), wal.ErrExist, "everything after revision 3 may be lost"},
		"missing database": {func(t *testing.T, dir string) {
			fill(t, dir, 3)
			if err := os.RemoveAll(dir + "/pebble"); err != nil {
				t.Fatal(err)
			}
		}, new(wal.CorruptError), wal.ErrExist, "the directory pebble is missing"},
		"missing table": {func(t *testing.T, dir string) {
			fill(t, dir, 3)
			tables, err := filepath.Glob(dir + "/pebble/*.sst")
			if err != nil || len(tables) == 0 {
				t.Fatalf("%d tables, %v", len(tables), err)
			}
			remove(t, tables[len(tables)-1])
		}, new(wal.CorruptError), wal.ErrExist, "is damaged"},
		"missing manifest": {func(t *testing.T, dir string) {
			fill(t, dir, 3)
			remove(t, newestFile(t, dir, "MANIFEST-*"))
		}, new(wal.CorruptError), wal.ErrExist, "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			c.prepare(t, dir)
			before := tree(t, filepath.Dir(dir))
			for _, readOnly := range []bool{true, false} {
				l, err := wal.Open(dir, wal.Options{Logger: quiet, ReadOnly: readOnly})
				if !isError(err, c.open) {
					t.Fatalf("open: got error %v, want %v", err, c.open)
				}
				if err == nil && !readOnly {
					before = tree(t, filepath.Dir(dir)) // it may write
				}
				if l != nil && errors.Join(err, l.Close()) != nil {
					t.Fatal("close failed")
				} else if l == nil && !strings.Contains(err.Error(), c.text) {
					t.Fatalf("open: error %q does not say %q", err, c.text)
				}
				if after := tree(t, filepath.Dir(dir)); c.open != nil && after != before {
					t.Fatalf("opening changed the directory:\n%s\nwas\n%s", after, before)
				}
			}
			before = tree(t, filepath.Dir(dir))
			l, err := wal.Create(dir, wal.Options{Logger: quiet})
			if !isError(err, c.create) {
				t.Fatalf("create: got error %v, want %v", err, c.create)
			}
			if after := tree(t, filepath.Dir(dir)); err != nil && after != before {
				t.Fatalf("creating changed the directory:\n%s\nwas\n%s", after, before)
			}
			if err == nil && l.Close() != nil {
				t.Fatal("close failed")
			}
		})
	}
}

func isError(err, want error) bool {
	switch want.(type) {
	case nil:
		return err == nil
	case *wal.CorruptError:
		return errors.As(err, new(*wal.CorruptError))
	case *wal.LostRecordsError:
		return errors.As(err, new(*wal.LostRecordsError))
	}
	return errors.Is(err, want)
}

func TestNoDirectoryIsNotTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, open := range map[string]func(string, wal.Options) (*wal.Log, error){"create": wal.Create, "open": wal.Open} {
		if _, err := open("", wal.Options{Logger: quiet}); err == nil || !strings.Contains(err.Error(), "no directory is named") {
			t.Errorf("%s: got error %v, want one that says that no directory is named", name, err)
		}
	}
	if got := list(t, "."); len(got) != 0 {
		t.Errorf("the working directory holds %q, want nothing", got)
	}
}

// Pebble's errors carry stack traces and more lines than one.
func TestDamageIsToldInOneLine(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, dir string){
		"flipped table": func(t *testing.T, dir string) { damage(t, newestFile(t, dir, "*.sst"), flip(20)) },
		"missing tables": func(t *testing.T, dir string) {
			tables, err := filepath.Glob(dir + "/pebble/*.sst")
			if err != nil || len(tables) < 2 {
				t.Fatalf("%d tables, %v; want two or more", len(tables), err)
			}
			for _, path := range tables {
				remove(t, path)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			fill(t, dir, 3)
			do(t, dir)
			var log strings.Builder
			told := func(err error) {
				if !isError(err, new(wal.CorruptError)) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got error %q, want a CorruptError of one line", err)
				}
			}
			l, err := wal.Open(dir, wal.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err == nil {
				_, err = storetest.Collect(l.Records(t.Context(), 0))
				defer l.Close()
			}
			told(err)
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, `\n`) || strings.Contains(line, ".go:") {
					t.Errorf("logged: %s", line)
				}
			}
			if name == "flipped table" && log.Len() == 0 {
				t.Error("nothing was logged")
			}
		})
	}
}

func TestAStoreInUseIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 3)
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	l.DB() // it is open for writing now
	before := ours(t, dir)
	for _, readOnly := range []bool{true, false} {
		_, err := wal.Open(dir, wal.Options{Logger: quiet, ReadOnly: readOnly})
		if !errors.Is(err, wal.ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Fatalf("got error %v, want %v that names %s", err, wal.ErrLocked, dir)
		}
	}
	if err := wal.Check(context.Background(), dir, wal.Options{}, nil, nil); !errors.Is(err, wal.ErrLocked) {
		t.Fatalf("check: got error %v, want %v", err, wal.ErrLocked)
	}
	if after := ours(t, dir); after != before {
		t.Fatalf("the refusal changed the directory:\n%s\nwas\n%s", after, before)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := wal.Open(dir, wal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	again, err := wal.Open(dir, wal.Options{ReadOnly: true}) // readers share
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), again.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestWhoHasTheLockIsNamedIfTheSystemTells(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 11 fe:00:7 0 EOF
2: FLOCK  ADVISORY  WRITE 12 fe:00:8 0 EOF
2: -> FLOCK  ADVISORY  WRITE 13 fe:00:7 0 EOF
3: FLOCK  ADVISORY  READ 0 fe:00:7 0 EOF
4: FLOCK  ADVISORY  READ 14 fe:00:7 0 EOF
5: FLOCK  ADVISORY  WRITE 15 103:10002:9 0 EOF
6:
`
	for _, c := range []struct {
		dev, inode uint64
		want       string
	}{
		{0xfe00, 7, "process 14"},
		{0xfe00, 8, "another part of this process"},
		{0xfe01, 8, "another process or another part of this one"},
		{0x10010302, 9, "process 15"}, // major and minor do not fit into a byte
	} {
		if got := wal.HolderIn(locks, c.dev, c.inode, 12); got != c.want {
			t.Errorf("device %x, inode %d: got %q, want %q", c.dev, c.inode, got, c.want)
		}
	}
}

// TestReadingWritesNothing reads a store that needs a replay.
func TestReadingWritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 3)
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 4, 200)
	copied := filepath.Join(t.TempDir(), "copy") // a crash, as far as the disk is concerned
	if err := os.CopyFS(copied, copyable{os.DirFS(dir)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	before := tree(t, copied)
	r, err := wal.Open(copied, wal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := storetest.Collect(r.Records(context.Background(), 0))
	if err != nil || len(got) != 200 {
		t.Fatalf("got %d records, error %v; want 200", len(got), err)
	}
	if _, err := r.Append(storetest.Rec(201, 1, 1)); !errors.Is(err, store.ErrReadOnly) {
		t.Fatalf("append: got error %v, want %v", err, store.ErrReadOnly)
	}
	if err := r.Compact(context.Background(), storetest.MarkAt(200, 1), func(func([]byte) bool) {}, 0); !errors.Is(err, store.ErrReadOnly) {
		t.Fatalf("compact: got error %v, want %v", err, store.ErrReadOnly)
	}
	if _, err := r.Info(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := wal.Check(context.Background(), copied, wal.Options{}, func(f wal.Finding) { t.Errorf("finding: %+v", f) }, nil); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, copied); after != before {
		t.Fatalf("reading changed the directory:\n%s\nwas\n%s", after, before)
	}
}

func TestWhatIsMadeIsForItsOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 3)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		if i.Mode().Perm()&0o077 != 0 && d.Name() != "LOCK" {
			t.Errorf("%s has mode %v", path, i.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatACrashLeftBesideTheStoreIsClearedAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 3)
	whole := list(t, dir)
	for _, name := range []string{"CHECKPOINT.new", "CREATING", "STORE.new", "WITNESS.new"} {
		write(t, filepath.Join(dir, name), "left over")
	}
	for _, c := range []struct {
		readOnly bool
		files    int
	}{{true, len(whole) + 4}, {false, len(whole)}} {
		l, err := wal.Open(dir, wal.Options{Logger: quiet, ReadOnly: c.readOnly})
		if err != nil {
			t.Fatal(err)
		}
		l.AwaitWriting()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := list(t, dir); len(got) != c.files {
			t.Fatalf("read only %v: the directory holds %q, want %d names", c.readOnly, got, c.files)
		}
	}
}

// TestOpeningChangesNothingUntilTheFirstAppend: who reads what he opened, and
// finds it damaged, must be able to leave it as it was.
func TestOpeningChangesNothingUntilTheFirstAppend(t *testing.T) {
	dir := afterCrash(t, 30) // there is a log to repair
	before := tree(t, dir)
	l, err := wal.Open(dir, wal.Options{Logger: quiet, NoSocket: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Collect(l.Records(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Info(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
}

// TestAPipeInThePlaceOfAFileIsRefused: opening one would wait for ever.
func TestAPipeInThePlaceOfAFileIsRefused(t *testing.T) {
	for _, name := range []string{"STORE", "WITNESS"} {
		dir := filepath.Join(t.TempDir(), "store")
		fill(t, dir, 3)
		path := filepath.Join(dir, name)
		remove(t, path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := wal.Open(dir, wal.Options{Logger: quiet}); err == nil || !strings.Contains(err.Error(), name+" is not a file") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
