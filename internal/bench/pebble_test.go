package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPlainPebbleHasTheOptionsOfTheEngine(t *testing.T) {
	dir := t.TempDir()
	e, err := createEngine(t.Context(), filepath.Join(dir, "store"), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	p, err := newPlainPebble(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	engine, plain := pebbleOptionsIn(t, filepath.Join(dir, "store", "*")), pebbleOptionsIn(t, filepath.Join(dir, "plain"))
	for i := range max(len(engine), len(plain)) {
		if i >= len(engine) || i >= len(plain) || engine[i] != plain[i] {
			t.Fatalf("from line %d on the engine's Pebble has\n%s\nthe plain one\n%s", i+1,
				strings.Join(engine[min(i, len(engine)):], ""), strings.Join(plain[min(i, len(plain)):], ""))
		}
	}
}

// pebbleOptionsIn reads the newest file in which Pebble writes down its options.
func pebbleOptionsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file of options in %s: %v", dir, err)
	}
	text, err := os.ReadFile(files[len(files)-1]) // in order of their numbers
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

func TestPlainPebbleHoldsWhatWasWrittenInItsGroups(t *testing.T) {
	p, err := newPlainPebble(filepath.Join(t.TempDir(), "plain"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.write([]byte("abbcccdddd"), []int{1, 2, 3, 4}, 2); err != nil {
		t.Fatal(err)
	}
	if err := p.reopen(); err != nil {
		t.Fatal(err)
	}
	it, err := p.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for ok := it.First(); ok; ok = it.Next() {
		got += fmt.Sprintf("%x=%s ", it.Key(), it.Value())
	}
	const want = "720000000000000001=a 720000000000000002=bb 720000000000000003=ccc 720000000000000004=dddd "
	if got != want {
		t.Errorf("it holds %q, want %q", got, want)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}
