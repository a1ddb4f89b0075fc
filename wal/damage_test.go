package wal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// afterCrash is a store of which the first 20 records are in tables and the
// rest, up to n, only in Pebble's log; its witness vouches for all of them.
func afterCrash(t *testing.T, n uint64) (dir string) {
	t.Helper()
	live, dir := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "crashed")
	fill(t, live, 20)
	l, err := wal.Open(live, wal.Options{Logger: quiet, WitnessEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 21, n)
	copyDir(t, live, dir)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copyDir also copies a store in use, as a crash would leave it: Pebble may
// still make and remove tables, and then the copy is made anew.
func copyDir(t testing.TB, from, to string) {
	t.Helper()
	names := func() (list []string) {
		err := fs.WalkDir(os.DirFS(from), ".", func(path string, _ fs.DirEntry, err error) error {
			list = append(list, path)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return list
	}
	for {
		before := names()
		err := os.CopyFS(to, copyable{os.DirFS(from)})
		if err == nil && slices.Equal(before, names()) {
			return
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// newestFile is the file in dir/pebble with the highest number.
func newestFile(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "pebble", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files %s, %v", len(files), pattern, err)
	}
	return slices.Max(files)
}

func damage(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 0x10; return b }
}

// mustNotBeShorter opens a damaged store: it says what is lost, or it is
// damaged in a way it can name, or all n records are there. It returns the
// error.
func mustNotBeShorter(t *testing.T, what, dir string, n uint64) error {
	t.Helper()
	before := tree(t, dir)
	var refused error
	for _, readOnly := range []bool{true, false} {
		l, err := wal.Open(dir, wal.Options{Logger: quiet, ReadOnly: readOnly})
		if err == nil {
			var got []store.Record
			if got, err = storetest.Collect(l.Records(context.Background(), 0)); err == nil && uint64(len(got)) != n {
				t.Fatalf("%s: opened without an error, and with %d of %d records", what, len(got), n)
			}
			if err := l.Close(); err != nil {
				t.Fatalf("%s: close: %v", what, err)
			}
			refused = err
			continue
		}
		if after := tree(t, dir); after != before {
			t.Fatalf("%s: the refusal %v changed the directory", what, err)
		}
		refused = err
	}
	return refused
}

func TestRecordsThatVanishAreMissed(t *testing.T) {
	const n = 120
	crashed := afterCrash(t, n)
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		text   string
	}{
		"log removed":    {func(t *testing.T, dir string) { remove(t, newestFile(t, dir, "*.log")) }, "revisions 21 to 120 are lost"},
		"log emptied":    {func(t *testing.T, dir string) { write(t, newestFile(t, dir, "*.log"), "") }, "revisions 21 to 120 are lost"},
		"marker removed": {func(t *testing.T, dir string) { remove(t, newestFile(t, dir, "marker.manifest*")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "damaged")
			copyDir(t, crashed, dir)
			c.damage(t, dir)
			err := mustNotBeShorter(t, name, dir, n)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got error %v, want one that says %q", err, c.text)
			}
		})
	}
}

func TestNoDamageOfTheLogMakesItShorter(t *testing.T) {
	const n = 120
	crashed := afterCrash(t, n)
	log := newestFile(t, crashed, "*.log")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	used := len(b)
	for used > 0 && b[used-1] == 0 { // Pebble makes the file longer in advance
		used--
	}
	lost := 0
	for i := range 60 {
		at := used - 1 - i*i*used/4000
		if at < 0 {
			break
		}
		for name, f := range map[string]func([]byte) []byte{"flipped": flip(at), "cut": func(b []byte) []byte { return b[:at] }} {
			dir := filepath.Join(t.TempDir(), "damaged")
			copyDir(t, crashed, dir)
			damage(t, newestFile(t, dir, "*.log"), f)
			what := fmt.Sprintf("log of %d bytes %s at %d", used, name, at)
			if err := mustNotBeShorter(t, what, dir, n); errors.As(err, new(*wal.LostRecordsError)) {
				lost++
			} else if err == nil {
				t.Fatalf("%s: nobody noticed", what)
			}
		}
	}
	if lost < 60 {
		t.Fatalf("only %d cases were ones in which Pebble itself sees nothing", lost)
	}
}

func TestNoFlipInTheManifestMakesTheLogShorter(t *testing.T) {
	const n = 40
	closed := filepath.Join(t.TempDir(), "closed")
	fill(t, closed, 20)
	l, err := wal.Open(closed, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 21, n)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(newestFile(t, closed, "MANIFEST*"))
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for at := 0; at < len(b); at += 5 {
		dir := filepath.Join(t.TempDir(), "damaged")
		copyDir(t, closed, dir)
		damage(t, newestFile(t, dir, "MANIFEST*"), flip(at))
		if mustNotBeShorter(t, fmt.Sprintf("MANIFEST flipped at %d", at), dir, n) != nil {
			noticed++
		}
	}
	if noticed == 0 {
		t.Fatal("no flip did any harm: this test proves nothing")
	}
}

// TestLossIsAcceptedOnRequest: what is left opens, and is the store from then on.
func TestLossIsAcceptedOnRequest(t *testing.T) {
	dir := afterCrash(t, 60)
	remove(t, newestFile(t, dir, "*.log"))
	_, err := wal.Open(dir, wal.Options{Logger: quiet})
	var lost *wal.LostRecordsError
	if !errors.As(err, &lost) {
		t.Fatalf("got error %v, want a LostRecordsError", err)
	}
	if lost.From != 21 || lost.To != 60 || lost.Recovered != storetest.MarkAt(20, 1) || lost.Witnessed != storetest.MarkAt(60, 1) {
		t.Fatalf("lost %+v, want 21 to 60", lost)
	}
	for _, readOnly := range []bool{true, false} {
		var said strings.Builder
		l, err := wal.Open(dir, wal.Options{Logger: logTo(&said), AcceptLoss: true, ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), "from=21 to=60") {
			t.Fatalf("the log does not say what is missing: %s", said.String())
		}
		got, err := storetest.Collect(l.Records(context.Background(), 0))
		if err != nil || len(got) != 20 {
			t.Fatalf("got %d records, error %v; want 20", len(got), err)
		}
		if !readOnly {
			appendTo(t, l, 21, 22)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := mustNotBeShorter(t, "after the loss was accepted", dir, 22); err != nil {
		t.Fatal(err)
	}
}

// TestTheWindowOfTheWitness: with an interval, what was acknowledged in it can
// vanish unseen, and no more; with a negative one nothing can.
func TestTheWindowOfTheWitness(t *testing.T) {
	for name, c := range map[string]struct {
		every  time.Duration
		missed bool
	}{"an hour": {time.Hour, false}, "always": {-1, true}} {
		t.Run(name, func(t *testing.T) {
			live, dir := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "crashed")
			fill(t, live, 5)
			l, err := wal.Open(live, wal.Options{Logger: quiet, WitnessEvery: c.every})
			if err != nil {
				t.Fatal(err)
			}
			appendTo(t, l, 6, 6)
			for witnessed(t, l).Seq < 6 { // the leading edge
				runtime.Gosched()
			}
			appendTo(t, l, 7, 9)
			if got, want := witnessed(t, l).Seq, uint64(6); !c.missed && got != want {
				t.Fatalf("witness is at %d, want %d", got, want)
			}
			copyDir(t, live, dir)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if got := readWitnessed(t, live); got != storetest.MarkAt(9, 1) {
				t.Fatalf("after Close the witness is at %+v", got)
			}
			log := newestFile(t, dir, "*.log") // cut behind record 6, in the middle of 7
			damage(t, log, func(b []byte) []byte { return b[:1200] })
			l, err = wal.Open(dir, wal.Options{Logger: quiet})
			if got := errors.As(err, new(*wal.LostRecordsError)); got != c.missed {
				t.Fatalf("got error %v; noticed: %v, want %v", err, got, c.missed)
			}
			if err == nil {
				if last := witnessed(t, l); last.Seq != 6 {
					t.Fatalf("the store ends at %d, want 6", last.Seq)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func witnessed(t *testing.T, l *wal.Log) store.Mark {
	t.Helper()
	i, err := l.Info()
	if err != nil {
		t.Fatal(err)
	}
	return i.Witness
}

func readWitnessed(t *testing.T, dir string) store.Mark {
	t.Helper()
	l, err := wal.Open(dir, wal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return witnessed(t, l)
}

// TestCheckNamesWhereReadingEnds damages a table under records that come after
// others: which are missing behind it nobody can tell, and it is not the first.
func TestCheckNamesWhereReadingEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 20)
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 21, 40)
	if err := l.Close(); err != nil { // into a table of their own
		t.Fatal(err)
	}
	damage(t, newestFile(t, dir, "*.sst"), flip(100))
	var places []string
	for _, f := range check(t, dir) {
		places = append(places, f.Place)
		if strings.Contains(f.Problem, "missing") {
			t.Errorf("finding %+v", f)
		}
	}
	if !slices.Equal(places, []string{"store", "record 21"}) {
		t.Errorf("findings are in %q", places)
	}
}

// copyable is a directory without its socket, of which there is no copy.
type copyable struct{ fs.FS }

func (c copyable) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(c.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool { return d.Type() == fs.ModeSocket }), err
}
