package wal_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/wal"
)

// TestNobodyWritesBetweenACheckAndWhatLooksFurther: both see one store, also
// where records were lost, and what looks further has the last word.
func TestNobodyWritesBetweenACheckAndWhatLooksFurther(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	fill(t, whole, 40)
	lossy := afterCrash(t, 40)
	remove(t, newestFile(t, lossy, "*.log"))
	for dir, want := range map[string]struct {
		last     uint64
		findings int
	}{whole: {40, 0}, lossy: {20, 1}} {
		errSaid := errors.New("said by what looks further")
		findings := 0
		err := wal.Check(context.Background(), dir, wal.Options{Logger: quiet},
			func(wal.Finding) { findings++ },
			func(l *wal.Log) error {
				if _, err := wal.Open(dir, wal.Options{Logger: quiet}); !errors.Is(err, wal.ErrLocked) {
					t.Errorf("a writer got error %v, want %v", err, wal.ErrLocked)
				}
				return errors.Join(errSaid, wantRecordsTo(l, want.last))
			})
		if err == nil || err.Error() != errSaid.Error() || findings != want.findings {
			t.Errorf("%d findings, error %v; want %d and %v", findings, err, want.findings, errSaid)
		}
	}
}

func TestNothingLooksFurtherIntoAStoreThatDoesNotOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 3)
	remove(t, newestFile(t, dir, "*.sst"))
	findings := 0
	err := wal.Check(context.Background(), dir, wal.Options{Logger: quiet},
		func(wal.Finding) { findings++ }, func(*wal.Log) error { return errors.New("called") })
	if err != nil || findings != 1 {
		t.Errorf("%d findings, error %v; want one finding", findings, err)
	}
}

// withDeadRows is a store, as a crash leaves it, with a table whose first rows
// were let go, and the path of that table.
func withDeadRows(t *testing.T) (dir, table string) {
	t.Helper()
	live, dir := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "crashed")
	fill(t, live, 60)
	table = filepath.Base(newestFile(t, live, "*.sst"))
	l := reopen(t, live, nil)
	compactAt(t, l, 30, 0)
	compactAt(t, l, 60, 30)
	copyDir(t, live, dir)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantOnlyLosses(t, dir, "")
	return dir, filepath.Join(dir, "pebble", table)
}

// TestCheckFindsDamageUnderRowsThatWereLetGo: nobody reads them but Pebble, when
// it compacts their table, which it then cannot.
func TestCheckFindsDamageUnderRowsThatWereLetGo(t *testing.T) {
	dir, table := withDeadRows(t)
	damage(t, table, flip(5000)) // behind the first block, which opening reads
	findings := check(t, dir)
	name := "pebble/" + filepath.Base(table)
	if len(findings) != 1 || findings[0].Severity != wal.SeverityError || findings[0].Place != "store" ||
		!strings.HasPrefix(findings[0].Problem, "table "+name+": ") ||
		!strings.HasSuffix(findings[0].Problem, "; no record and no checkpoint that is kept is affected") {
		t.Fatalf("findings %+v, want that %s is damaged, and nothing else", findings, name)
	}
	l, err := wal.Open(dir, wal.Options{Logger: quiet, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := storetest.Collect(l.Records(context.Background(), 30)); err != nil || len(got) != 30 {
		t.Fatalf("%d records are there, error %v; want 30", len(got), err)
	}
}

// TestCheckTellsOfATableOnce, where a record in it cannot be read either, and
// does not call the damage harmless.
func TestCheckTellsOfATableOnce(t *testing.T) {
	dir, table := withDeadRows(t)
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	damage(t, table, flip(len(b)*3/4))
	var places []string
	for _, f := range check(t, dir) {
		places = append(places, f.Place)
		if strings.Contains(f.Problem, "affected") {
			t.Errorf("finding %+v", f)
		}
	}
	if len(places) != 2 || places[0] != "store" || !strings.HasPrefix(places[1], "record ") {
		t.Errorf("findings are in %q, want the store and a record", places)
	}
}

// TestCheckCallsNoTableHarmlessBesideDamage: what is behind damage was not read.
func TestCheckCallsNoTableHarmlessBesideDamage(t *testing.T) {
	dir, table := withDeadRows(t)
	damage(t, table, flip(5000))
	damage(t, newestFile(t, dir, "*.sst"), flip(100))
	var places []string
	for _, f := range check(t, dir) {
		places = append(places, f.Place)
		if strings.Contains(f.Problem, "affected") {
			t.Errorf("finding %+v", f)
		}
	}
	if !slices.Equal(places, []string{"checkpoint 60", "store"}) {
		t.Errorf("findings are in %q", places)
	}
}

// TestNoFlipInATableIsSound flips bytes all over the tables of a store.
func TestNoFlipInATableIsSound(t *testing.T) {
	dir, _ := withDeadRows(t)
	tables, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil || len(tables) < 3 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(b); at += 1 + len(b)/tableFlips {
			damage(t, table, flip(at))
			errs := slices.DeleteFunc(check(t, dir), func(f wal.Finding) bool { return f.Severity != wal.SeverityError })
			if len(errs) == 0 {
				t.Errorf("%s of %d bytes flipped at %d is sound", filepath.Base(table), len(b), at)
			}
			damage(t, table, flip(at))
		}
	}
}

// TestAnErrorOfTheStorageEngineIsOneLine that tells each thing once, also where
// it comes up again when the store is closed.
func TestAnErrorOfTheStorageEngineIsOneLine(t *testing.T) {
	dir, table := withDeadRows(t)
	damage(t, table, flip(32000))
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	raw := readThrough(t, l.DB())
	if raw == nil || !strings.Contains(raw.Error(), "carrier") {
		t.Fatalf("got error %v, want one that carries something", raw)
	}
	got := wal.Brief(errors.Join(raw, raw, io.EOF))
	want, _, _ := strings.Cut(raw.Error(), "\n")
	if got.Error() != want+"; EOF" || !errors.Is(got, io.EOF) {
		t.Errorf("got %q, want %q", got, want+"; EOF")
	}
	appendTo(t, l, 61, 61) // so that there is something to flush
	if err := l.Close(); err != nil && err.Error() != "close store "+dir+": "+want {
		t.Errorf("close: got %q, want %q", err, want)
	}
}

// readThrough is the error that Pebble itself ends an iteration with.
func readThrough(t *testing.T, db *pebble.DB) error {
	t.Helper()
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
	}
	defer it.Close()
	return it.Error()
}
