package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// After a loss that was accepted, somebody may still hold the revision of an
// operation that is gone. No other operation may be told the same one.
func TestRevisionsOfALossAreNotGivenOutAgain(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "store")
	begin := func(s store.Store, err error) *registrar.Registrar {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return open(t, s, registrar.Options{Master: &registry.Master{ID: "m"}})
	}
	put := func(r *registrar.Registrar, value string, c ops.Condition) (uint64, error) {
		t.Helper()
		result, err := r.Apply(ctx, ops.Put{Table: "t", Key: "k", Value: value, If: c})
		return result.Revision, err
	}
	w, err := wal.Create(dir, wal.Options{})
	r := begin(w, err)
	kept, err := put(r, "kept", ops.Absent())
	if err != nil || kept != 2 {
		t.Fatalf("revision %d, error %v; want 2, the master being 1", kept, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "WITNESS")); err != nil { // nobody knows what is lost
		t.Fatal(err)
	}

	w, err = wal.Open(dir, wal.Options{AcceptLoss: true})
	r = begin(w, err)
	next, err := put(r, "next", ops.AtRevision(kept)) // what was kept is as it was
	if want := kept + registrar.RevisionsSkipped + 1; err != nil || next != want {
		t.Fatalf("revision %d, error %v; want %d", next, err, want)
	}
	if _, err := put(r, "stale", ops.AtRevision(kept+1)); !errors.Is(err, ops.ErrRevision) {
		t.Fatalf("a revision of what may be lost: %v; want %v", err, ops.ErrRevision)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	w, err = wal.Open(dir, wal.Options{}) // nothing is left out a second time
	r = begin(w, err)
	if last, err := put(r, "last", ops.AtRevision(next)); err != nil || last != next+1 {
		t.Fatalf("revision %d, error %v; want %d", last, err, next+1)
	}
	for revision, want := range map[uint64]string{kept: "kept", next: "next", next + 1: "last"} {
		reg, _, err := registrar.LoadAt(ctx, w, revision)
		if err != nil {
			t.Fatal(err)
		}
		if item, _ := reg.Key("t", "k"); item.Value != want || reg.Revision() != revision {
			t.Errorf("at revision %d the key is %q, and the registry says revision %d; want %q", revision, item.Value, reg.Revision(), want)
		}
	}
	for _, left := range []uint64{kept + 1, next - 2} {
		if _, _, err := registrar.LoadAt(ctx, w, left); !errors.Is(err, registrar.ErrNoRevision) {
			t.Errorf("revision %d, which was left out: %v; want %v", left, err, registrar.ErrNoRevision)
		}
	}
	var told []uint64
	for o, err := range registrar.Log(ctx, w, kept) {
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, o.Revision)
	}
	if len(told) != 3 || told[0] != kept || told[1] != next || told[2] != next+1 {
		t.Errorf("the log has revisions %d; want %d", told, []uint64{kept, next, next + 1})
	}
}

// A second loss may take all that was written since the first: then revisions
// that were told after the first must not be told again either.
func TestRevisionsOfTwoLossesAreNotGivenOutAgain(t *testing.T) {
	ctx, base := context.Background(), t.TempDir()
	dir := filepath.Join(base, "0")
	// The witness is no record behind, so that each loss is seen.
	w, err := wal.Create(dir, wal.Options{NoSocket: true, WitnessEvery: -1})
	var told uint64
	if err != nil {
		t.Fatal(err)
	}
	for life := range 4 {
		r := open(t, w, registrar.Options{})
		for range 3 {
			result, err := r.Apply(ctx, ops.Put{Table: "t", Key: "k", Value: fmt.Sprint(life, told)})
			if err != nil {
				t.Fatal(err)
			}
			if result.Revision <= told {
				t.Fatalf("life %d: revision %d is told after revision %d", life, result.Revision, told)
			}
			told = result.Revision
		}
		next := filepath.Join(base, fmt.Sprint(life+1))
		if err := os.CopyFS(next, os.DirFS(dir)); err != nil { // as it is when the process is killed
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		logs, err := filepath.Glob(filepath.Join(next, "pebble", "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatal("there is no log to lose", err)
		}
		for _, name := range logs {
			if err := os.Truncate(name, 0); err != nil {
				t.Fatal(err)
			}
		}
		dir = next
		if w, err = wal.Open(dir, wal.Options{AcceptLoss: true, NoSocket: true, WitnessEvery: -1}); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Identity().EndedBefore(1); n < 2 {
		t.Errorf("%d histories ended before the first record: no loss took what the one before had left", n)
	}
	w.Close()
}
