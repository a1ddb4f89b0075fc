package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// logged is the operations of a log as text.
func logged(t testing.TB, s store.Store, from uint64) (all []string) {
	t.Helper()
	for o, err := range registrar.Log(context.Background(), s, from) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d: %s by %q for %q at %s, request %q, refused %q",
			o.Revision, changes(t, o.Rows), o.Principal, o.Reason, o.At.UTC().Format(time.TimeOnly), o.RequestID, o.Refusal))
	}
	return all
}

func changes(t testing.TB, rows []byte) (all []string) {
	t.Helper()
	if rows == nil {
		return nil
	}
	for c, err := range registry.Changes(rows) {
		switch {
		case err != nil:
			t.Fatal(err)
		case c.Deleted:
			all = append(all, fmt.Sprint("-", c.Table, " ", c.Key))
		case c.Table == "agents":
			all = append(all, fmt.Sprint("+", c.Key, " ", c.Agent.State()))
		default:
			m, _ := c.Master()
			all = append(all, fmt.Sprint("+", c.Table, " ", m.ID))
		}
	}
	return all
}

func TestLogTellsWhatChangedWhenByWhomAndWhy(t *testing.T) {
	m := store.NewMemory()
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	r := open(t, m, registrar.Options{
		Master: &registry.Master{ID: "m"}, MaxBatch: 1,
		Now: func() time.Time { now = now.Add(time.Second); return now },
	})
	apply(t, r, admit("a"))
	apply(t, r, registrar.Request{Operation: ops.Replace{Old: "a", Agent: admit("b").Agent}, Principal: "ann", Reason: "new disk"})
	apply(t, r, ops.Readmit{Agent: admit("b").Agent}) // not told of
	apply(t, r, request("q", ops.Readmit{Agent: admit("b").Agent}))
	r.Apply(t.Context(), request("r", ops.Remove{ID: "x"}))
	want := []string{
		`1: [+master m] by "" for "" at 03:04:01, request "", refused ""`,
		`2: [+a admitted] by "" for "" at 03:04:02, request "", refused ""`,
		`3: [-agents a +b admitted] by "ann" for "new disk" at 03:04:03, request "", refused ""`,
		`3: [] by "" for "" at 03:04:04, request "q", refused ""`,
		`3: [] by "" for "" at 03:04:05, request "r", refused "remove agent \"x\": agent is not admitted: it is not known"`,
	}
	if got := logged(t, m, 0); !slices.Equal(got, want) {
		t.Errorf("log is\n%q, want\n%q", got, want)
	}
	if got := logged(t, m, 3); !slices.Equal(got, want[2:]) {
		t.Errorf("log from revision 3 on is\n%q, want\n%q", got, want[2:])
	}
	if got := logged(t, m, 4); got != nil {
		t.Errorf("log from revision 4 on is %q", got)
	}
}

// kept is a store that the test lets go of records itself, and every registry
// that was ever in it.
type kept struct {
	m   *store.Memory
	all []*registry.Registry // by revision
}

// live opens the store for a while of random operations, with a checkpoint among
// them.
func (k *kept) live(t *rapid.T) {
	r, err := registrar.Open(context.Background(), k.m, registrar.Options{
		Logger: quiet, MaxBatch: rapid.IntRange(1, 5).Draw(t, "batch"),
		HistoryRecords: rapid.SampledFrom([]uint64{1, 5, 1 << 20}).Draw(t, "history"),
	})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Snapshot().Draft()
	var all []*registrar.Pending
	checkpoint := rapid.IntRange(0, 30).Draw(t, "checkpoint before")
	for i := range rapid.IntRange(0, 30).Draw(t, "operations") {
		if i == checkpoint {
			if err := r.Checkpoint(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		op := drawOperation(t)
		p, err := r.Submit(op)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		if changed, _ := d.Try(op.Apply); changed {
			k.all = append(k.all, d.Freeze())
		}
	}
	for _, p := range all {
		p.Wait(context.Background())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	k.m = k.m.Reopen()
}

func TestEveryRevisionThatIsKeptCanBeBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &kept{m: store.NewMemory(), all: []*registry.Registry{registry.New()}}
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			k.live(t)
		}
		oldest := k.m.Oldest()
		for revision, want := range k.all {
			got, _, err := registrar.LoadAt(context.Background(), k.m, uint64(revision))
			if uint64(revision) < oldest.Revision {
				var gone *store.CompactedError
				if !errors.As(err, &gone) || gone.Oldest != oldest {
					t.Fatalf("revision %d, with %d the oldest kept: %v", revision, oldest.Revision, err)
				}
				continue
			}
			if err != nil || got.Revision() != uint64(revision) || got.Digest() != want.Digest() {
				t.Fatalf("revision %d: %v", revision, err)
			}
		}
		if _, _, err := registrar.LoadAt(context.Background(), k.m, uint64(len(k.all))); !errors.Is(err, registrar.ErrNoRevision) {
			t.Fatalf("a revision that is not there: %v", err)
		}
		k.followLog(t)
	})
}

// followLog redoes the log from every revision that is kept.
func (k *kept) followLog(t *rapid.T) {
	for from := k.m.Oldest().Revision; from < uint64(len(k.all)); from++ {
		d := k.all[from].Draft()
		for o, err := range registrar.Log(context.Background(), k.m, from+1) {
			if err == nil {
				err = d.Redo(o.Rows, o.Revision)
			}
			if err != nil || d.Digest() != k.all[o.Revision].Digest() {
				t.Fatalf("from revision %d to %d: %v", from, o.Revision, err)
			}
		}
		if d.Revision() != uint64(len(k.all)-1) {
			t.Fatalf("the log from revision %d ends at %d, want %d", from, d.Revision(), len(k.all)-1)
		}
	}
}

func TestLogOfWhatWasLetGoNamesTheOldest(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{CheckpointBytes: 1, HistoryRecords: 1})
	big := admit("big")
	for i := range 3 {
		big.Agent.ID, big.Agent.Payload = registry.AgentID(fmt.Sprint(i)), make([]byte, 300<<10)
		apply(t, r, big)
		r.Close() // writes a checkpoint
		m = m.Reopen()
		r = open(t, m, registrar.Options{CheckpointBytes: 1, HistoryRecords: 1})
	}
	oldest := m.Oldest()
	if oldest.Revision == 0 || oldest.Revision > 2 {
		t.Fatalf("the oldest place kept is %+v", oldest)
	}
	want := fmt.Sprintf("read the log from revision 1: the operation that led to revision 1: it is no longer kept; the oldest that is kept is revision %d, at record %d", oldest.Revision, oldest.Seq)
	for _, err := range registrar.Log(context.Background(), m, 1) {
		if !errors.Is(err, store.ErrCompacted) || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	if got := logged(t, m, math.MaxUint64); got != nil {
		t.Errorf("log after all is %q", got)
	}
}

// after reads the log behind a record.
func after(s store.Store, told registrar.Logged) (revisions []uint64, err error) {
	for o, err := range registrar.LogAfter(context.Background(), s, told) {
		if err != nil {
			return revisions, err
		}
		revisions = append(revisions, o.Revision)
	}
	return revisions, nil
}

// last is the last operation in the log.
func last(t *testing.T, s store.Store) (last registrar.Logged) {
	t.Helper()
	for o, err := range registrar.Log(t.Context(), s, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = o
	}
	return last
}

func TestLogAfterARecordThatIsNoLongerThereIsAnError(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	apply(t, r, admit("a"))
	told := last(t, m)
	apply(t, r, admit("b"))
	if got, err := after(m, told); err != nil || !slices.Equal(got, []uint64{2}) {
		t.Fatalf("after revision 1: %v, %v", got, err)
	}
	if got, err := after(m, registrar.Logged{}); err != nil || !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("after nothing: %v, %v", got, err)
	}
	beyond := last(t, m)
	beyond.Record.Seq++
	for name, change := range map[string]func(*registrar.Logged){
		"another epoch":         func(o *registrar.Logged) { o.Record.Epoch++ },
		"another revision":      func(o *registrar.Logged) { o.Record.Revision++ },
		"another count":         func(o *registrar.Logged) { o.Record.Count++ },
		"another digest":        func(o *registrar.Logged) { o.Record.Digest[0]++ },
		"a record of elsewhere": func(o *registrar.Logged) { *o = beyond },
		"another time":          func(o *registrar.Logged) { o.At = o.At.Add(1) },
	} {
		was := told
		change(&was)
		if got, err := after(m, was); !errors.Is(err, registrar.ErrReplaced) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A checkpoint vouches for its record, once that was let go.
func TestLogAfterARecordThatWasLetGoNeedsACheckpointThere(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{HistoryRecords: 1})
	apply(t, r, admit("a"))
	early := last(t, m)
	apply(t, r, admit("b"))
	told := last(t, m)
	for _, id := range []string{"c", "d", "e"} {
		if err := r.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		apply(t, r, admit(id))
		if m.Oldest() == told.Record {
			break
		}
	}
	if m.Oldest() != told.Record {
		t.Fatalf("the oldest place is %+v, want %+v", m.Oldest(), told.Record)
	}
	if got, err := after(m, told); err != nil || !slices.Equal(got[:1], []uint64{3}) {
		t.Errorf("after the oldest place: %v, %v", got, err)
	}
	other := told
	other.Record.Digest[0]++
	if _, err := after(m, other); !errors.Is(err, registrar.ErrReplaced) {
		t.Errorf("after another record there: %v", err)
	}
	if _, err := after(m, early); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("before the oldest place: %v", err)
	}
}
