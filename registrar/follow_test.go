package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

// asked notes from where on records were read, and how often a checkpoint was.
type asked struct {
	store.Store
	after       []uint64
	checkpoints int
	spoil       func(*store.Record)
}

func (a *asked) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	a.after = append(a.after, after)
	return func(yield func(store.Record, error) bool) {
		for r, err := range a.Store.Records(ctx, after) {
			if a.spoil != nil {
				a.spoil(&r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (a *asked) Checkpoint(ctx context.Context, atMost uint64) (store.Mark, iter.Seq2[[]byte, error], error) {
	a.checkpoints++
	return a.Store.Checkpoint(ctx, atMost)
}

func follow(t *testing.T, s store.Store) *registrar.Follower {
	t.Helper()
	f, err := registrar.Follow(t.Context(), s, registrar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func catchUp(t *testing.T, f *registrar.Follower) {
	t.Helper()
	if err := f.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhoFollowedTakesOverWithTheTailAlone(t *testing.T) {
	m := store.NewMemory()
	leader := open(t, m, registrar.Options{})
	apply(t, leader, admit("a"))
	seen := &asked{Store: m}
	f := follow(t, seen)
	wantAgents(t, f.Snapshot(), "a admitted")
	apply(t, leader, admit("b"))
	apply(t, leader, registrar.Request{ID: "once", Operation: ops.Deactivate{ID: "b"}})
	catchUp(t, f)
	wantAgents(t, f.Snapshot(), "a admitted", "b admitted")
	if a := seen.after; len(a) != 2 || a[1] != 2 || seen.checkpoints != 1 {
		t.Errorf("it read records after %d, and %d checkpoints; want those after 2 the second time, and one", a, seen.checkpoints)
	}
	apply(t, leader, admit("c")) // is not followed any more
	want := leader.Snapshot()
	leader.Close()

	tail := &asked{Store: m.Reopen()}
	next := open(t, tail, registrar.Options{Follower: f})
	if got := next.Snapshot(); got.Digest() != want.Digest() || got.Revision() != want.Revision() {
		t.Errorf("it took over at revision %d, want %d", got.Revision(), want.Revision())
	}
	if a := tail.after; len(a) != 2 || a[0] != 3 || a[1] != 4 || tail.checkpoints != 0 {
		t.Errorf("taking over read records after %d, and %d checkpoints; want those after 3, for the place, and 4", a, tail.checkpoints)
	}
	if r := apply(t, next, registrar.Request{ID: "once", Operation: ops.Deactivate{ID: "b"}}); !r.Changed || r.Revision != 3 {
		t.Errorf("a request that was answered before is answered %+v, want what it was: changed, at revision 3", r)
	}
	if err := f.CatchUp(t.Context()); !errors.Is(err, registrar.ErrClosed) {
		t.Errorf("it follows on: %v; want %v", err, registrar.ErrClosed)
	}
}

func TestWhoFollowsTooFarBehindReadsEverything(t *testing.T) {
	m := store.NewMemory()
	leader := open(t, m, registrar.Options{})
	f := follow(t, m)
	for i := range 2 { // two checkpoints make what is before them dispensable
		apply(t, leader, admit(fmt.Sprint("agent-", i)))
		leader.Close()
		m = m.Reopen()
		image, err := registrar.LoadImage(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Compact(t.Context(), image.Mark, image.Chunks(), image.Mark.Seq); err != nil {
			t.Fatal(err)
		}
		leader = open(t, m, registrar.Options{})
	}
	if m.Oldest().Seq <= 1 {
		t.Fatal("nothing was let go of that was not read")
	}
	leader.Close()
	next := open(t, m.Reopen(), registrar.Options{Follower: f})
	if got := next.Snapshot().Count(); got != leader.Snapshot().Count() {
		t.Errorf("it took over %d entries, want %d", got, leader.Snapshot().Count())
	}
}

func TestWhoFollowedAnotherStoreReadsEverything(t *testing.T) {
	other := store.NewMemory()
	r := open(t, other, registrar.Options{})
	apply(t, r, admit("other"))
	f := follow(t, other)
	r.Close()

	m := store.NewMemory()
	r = open(t, m, registrar.Options{})
	apply(t, r, admit("a"))
	r.Close()
	r = open(t, m.Reopen(), registrar.Options{Follower: f})
	wantAgents(t, r.Snapshot(), "a admitted")
}

// A record that cannot be read costs nothing of what was: it is told, and the next
// look reads everything.
func TestWhoMeetsDamageWhileFollowingKeepsWhatItHas(t *testing.T) {
	m := store.NewMemory()
	leader := open(t, m, registrar.Options{})
	apply(t, leader, admit("a"))
	seen := &asked{Store: m}
	f := follow(t, seen)
	apply(t, leader, admit("b"))
	seen.spoil = func(r *store.Record) { r.Digest[0] ^= 1 }
	var mismatch *registrar.MismatchError
	if err := f.CatchUp(t.Context()); !errors.As(err, &mismatch) {
		t.Fatalf("a record with another digest: %v, want a MismatchError", err)
	}
	wantAgents(t, f.Snapshot(), "a admitted")
	seen.spoil = nil
	catchUp(t, f)
	wantAgents(t, f.Snapshot(), "a admitted", "b admitted")
	if seen.after[len(seen.after)-1] != 0 {
		t.Errorf("after damage it read on after record %d", seen.after[len(seen.after)-1])
	}
}
