package registry_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/registry"
)

// model is a registry as a plain map.
type model struct {
	agents   map[registry.AgentID]known
	master   string
	revision uint64
}

type known struct {
	status registry.Status
	host   string // "" for no info
	since  uint64
}

func (m *model) clone() *model {
	return &model{maps.Clone(m.agents), m.master, m.revision}
}

// holds compares r with the model, entry by entry.
func (m *model) holds(t interface{ Fatalf(string, ...any) }, r *registry.Registry) {
	if r.Revision() != m.revision {
		t.Fatalf("revision is %d, want %d", r.Revision(), m.revision)
	}
	count := uint64(len(m.agents))
	if m.master != "" {
		count++
	}
	if r.Count() != count {
		t.Fatalf("count is %d, want %d", r.Count(), count)
	}
	seen := 0
	for e := range r.Entries() {
		seen++
		m.holdsEntry(t, e)
	}
	if seen != len(m.agents) {
		t.Fatalf("%d entries are listed, want %d", seen, len(m.agents))
	}
	for id := range m.agents {
		e, ok := r.Entry(id)
		if !ok {
			t.Fatalf("agent %q is not found", id)
		}
		m.holdsEntry(t, e)
	}
	if got, _ := r.Master(); got.ID != m.master {
		t.Fatalf("master is %q, want %q", got.ID, m.master)
	}
	if errs := r.Check(); len(errs) > 0 {
		t.Fatalf("broken invariants: %v", errs)
	}
}

func (m *model) holdsEntry(t interface{ Fatalf(string, ...any) }, e registry.Entry) {
	want, ok := m.agents[e.ID()]
	if !ok {
		t.Fatalf("agent %q should not be there", e.ID())
	}
	a, err := e.Agent()
	if err != nil {
		t.Fatalf("agent %q: %v", e.ID(), err)
	}
	got := known{e.Status(), a.Hostname, e.Since()}
	if fmt.Sprint(got) != fmt.Sprint(want) || e.Known() != (want.host != "") {
		t.Fatalf("agent %q is %+v, want %+v", e.ID(), got, want)
	}
}

var errAgain = errors.New("no")

// step does one random operation to both; a third of them fail half way.
func step(t *rapid.T, d *registry.Draft, m *model) {
	fails := rapid.IntRange(0, 2).Draw(t, "fails") == 0
	undo := m.clone()
	m.revision++
	changed, err := d.Try(func(d *registry.Draft) error {
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			change(t, d, m)
		}
		if fails {
			return errAgain
		}
		return nil
	})
	if fails {
		if err != errAgain || changed {
			t.Fatalf("failed operation returned %v, %v", changed, err)
		}
		*m = *undo
		return
	}
	if err != nil {
		t.Fatalf("operation: %v", err)
	}
	same := maps.EqualFunc(undo.agents, m.agents, func(a, b known) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) && undo.master == m.master
	if same {
		m.revision--
	}
	if !same && !changed {
		t.Fatalf("the operation changed the model, but not the draft")
	}
	if changed && same { // there and back again within one operation
		m.revision++
	}
}

func change(t *rapid.T, d *registry.Draft, m *model) {
	id := registry.AgentID(fmt.Sprint("a", rapid.IntRange(0, 20).Draw(t, "id")))
	old, was := m.agents[id]
	status := registry.Status{State: registry.State(rapid.IntRange(1, 3).Draw(t, "state"))}
	if status.State != registry.Admitted {
		status.At = time.Unix(0, rapid.Int64Range(1, 3).Draw(t, "at")).UTC()
	}
	if status.State != registry.Gone && rapid.Bool().Draw(t, "drain") {
		status.Deactivated, status.Drain.State = true, registry.Draining
	}
	since := m.revision
	if was && old.status.State == status.State {
		since = old.since
	}
	var err error
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		host := rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "host")
		err = d.PutAgent(registry.Agent{ID: id, Hostname: host}, status)
		m.agents[id] = known{status, host, since}
	case 1:
		err = d.PutStatus(id, status)
		m.agents[id] = known{status, old.host, since}
	case 2:
		if d.DeleteAgent(id) != was {
			t.Fatalf("deleting %q says it was there: %v, want %v", id, !was, was)
		}
		delete(m.agents, id)
	case 3:
		m.master = rapid.SampledFrom([]string{"m1", "m2"}).Draw(t, "master")
		err = d.SetMaster(registry.Master{ID: m.master})
	}
	if err != nil {
		t.Fatalf("change: %v", err)
	}
}

func TestDraftDoesWhatAPlainMapDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			r *registry.Registry
			m *model
		}
		m := &model{agents: map[registry.AgentID]known{}}
		r := registry.New()
		old := []version{{r, m.clone()}}
		replayed := registry.New().Draft()
		d := r.Draft()
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			for range rapid.IntRange(1, 30).Draw(t, "operations") {
				step(t, d, m)
			}
			rows := slices.Clone(d.Rows())
			if rapid.IntRange(0, 4).Draw(t, "thrown away") == 0 {
				m = old[len(old)-1].m.clone()
				d.Reset(r)
				continue
			}
			r = d.Freeze()
			old = append(old, version{r, m.clone()})
			d.Reset(r)
			if err := replayed.Redo(rows, r.Revision()); err != nil {
				t.Fatalf("redo: %v", err)
			}
			if replayed.Digest() != r.Digest() || replayed.Count() != r.Count() {
				t.Fatalf("redone rows leave digest %v, want %v", replayed.Digest(), r.Digest())
			}
		}
		for _, v := range old {
			v.m.holds(t, v.r)
		}
		m.holds(t, reloaded(t, r))
		if got := replayed.Freeze(); got.Revision() == r.Revision() {
			m.holds(t, got)
		}
	})
}

// reloaded is r by way of its chunks.
func reloaded(t interface{ Fatalf(string, ...any) }, r *registry.Registry) *registry.Registry {
	d := registry.New().Draft()
	for chunk := range r.Chunks(100) {
		if err := d.Redo(chunk, r.Revision()); err != nil {
			t.Fatalf("redo a chunk: %v", err)
		}
	}
	return d.Freeze()
}

func put(t testing.TB, d *registry.Draft, id string) {
	t.Helper()
	_, err := d.Try(func(d *registry.Draft) error {
		return d.PutAgent(registry.Agent{ID: registry.AgentID(id), Hostname: "h-" + id}, registry.Status{State: registry.Admitted})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, d *registry.Draft, id string) {
	t.Helper()
	changed, err := d.Try(func(d *registry.Draft) error { d.DeleteAgent(registry.AgentID(id)); return nil })
	if !changed || err != nil {
		t.Fatalf("remove %q: %v, %v", id, changed, err)
	}
}

func ids(r *registry.Registry) (list []string) {
	for e := range r.Entries() {
		list = append(list, string(e.ID()))
	}
	return list
}

func TestEqualContentHasEqualDigestWhateverTheHistory(t *testing.T) {
	d := registry.New().Draft()
	for _, id := range []string{"a", "b", "c"} {
		put(t, d, id)
	}
	one := d.Freeze()
	d = registry.New().Draft()
	for _, id := range []string{"x", "c", "b"} {
		put(t, d, id)
	}
	remove(t, d, "x")
	put(t, d, "a")
	other := d.Freeze()
	if one.Digest() != other.Digest() {
		t.Errorf("digests are %v and %v", one.Digest(), other.Digest())
	}
	if one.Revision() == other.Revision() {
		t.Errorf("both have revision %d; the test wants different histories", one.Revision())
	}
	put(t, d, "d")
	if d.Digest() == one.Digest() {
		t.Error("another agent leaves the digest as it was")
	}
	remove(t, d, "d")
	if d.Digest() != one.Digest() {
		t.Error("removing it does not restore the digest")
	}
}

func TestAgentsAreListedInOrderOfArrival(t *testing.T) {
	d := registry.New().Draft()
	for _, id := range []string{"c", "a", "b"} {
		put(t, d, id)
	}
	remove(t, d, "c")
	put(t, d, "c")
	r := d.Freeze()
	want := []string{"a", "b", "c"}
	if got := ids(r); !slices.Equal(got, want) {
		t.Errorf("order is %v, want %v", got, want)
	}
	if got := ids(reloaded(t, r)); !slices.Equal(got, want) {
		t.Errorf("order after reloading is %v, want %v", got, want)
	}
}

func TestOldRegistryStillFindsWhatWasRemovedSince(t *testing.T) {
	d := registry.New().Draft()
	const n = 1000
	for i := range n {
		put(t, d, fmt.Sprint("old", i))
	}
	old := d.Freeze()
	for i := range n { // more than the index holds without being laid out anew
		remove(t, d, fmt.Sprint("old", i))
		for j := range 10 {
			put(t, d, fmt.Sprint("new", i, "-", j))
		}
	}
	now := d.Freeze()
	for i := range n {
		id := registry.AgentID(fmt.Sprint("old", i))
		if e, ok := old.Entry(id); !ok || e.ID() != id {
			t.Fatalf("the old registry does not find %q", id)
		}
		if _, ok := now.Entry(id); ok {
			t.Fatalf("the new registry finds %q", id)
		}
	}
	for _, r := range []*registry.Registry{old, now} {
		if errs := r.Check(); errs != nil {
			t.Error(errs)
		}
	}
	if old.Len(registry.Admitted) != n || now.Len(registry.Admitted) != 10*n {
		t.Errorf("%d and %d agents, want %d and %d", old.Len(registry.Admitted), now.Len(registry.Admitted), n, 10*n)
	}
}

func TestAgentThatComesAndGoesIsStillFound(t *testing.T) {
	d := registry.New().Draft()
	put(t, d, "stays")
	for range 1000 {
		put(t, d, "a")
		remove(t, d, "a")
	}
	put(t, d, "a")
	if got, want := ids(d.Freeze()), []string{"stays", "a"}; !slices.Equal(got, want) {
		t.Errorf("agents are %v, want %v", got, want)
	}
}

func TestPanickingOperationChangesNothing(t *testing.T) {
	d := registry.New().Draft()
	put(t, d, "a")
	before, rows := d.Digest(), len(d.Rows())
	changed, err := d.Try(func(d *registry.Draft) error {
		d.DeleteAgent("a")
		panic("oh")
	})
	if changed || err == nil || err.Error() != "operation panicked: oh" {
		t.Errorf("it returned %v, %v", changed, err)
	}
	if d.Digest() != before || d.Revision() != 1 || len(d.Rows()) != rows || d.Changes() != 1 {
		t.Errorf("it left digest %v, revision %d, %d bytes of rows", d.Digest(), d.Revision(), len(d.Rows()))
	}
}

func TestFailedOperationThatLaidTheAgentsOutAnewIsTakenBack(t *testing.T) {
	d := registry.New().Draft()
	for i := range 20 {
		put(t, d, fmt.Sprint("a", i))
	}
	before := d.Freeze()
	_, err := d.Try(func(d *registry.Draft) error {
		d.DeleteAgent("a3")
		for i := range 5000 {
			if err := d.PutAgent(registry.Agent{ID: registry.AgentID(fmt.Sprint("b", i))}, registry.Status{State: registry.Admitted}); err != nil {
				return err
			}
			d.DeleteAgent(registry.AgentID(fmt.Sprint("b", i-1)))
		}
		d.DeleteAgent("a4")
		return errAgain
	})
	if err != errAgain {
		t.Fatal(err)
	}
	after := d.Freeze()
	if errs := after.Check(); errs != nil {
		t.Fatal(errs)
	}
	if !slices.Equal(ids(before), ids(after)) || before.Digest() != after.Digest() {
		t.Errorf("agents are %v, want %v", ids(after), ids(before))
	}
}

func TestDraftsOfOneRegistryDoNotDisturbEachOther(t *testing.T) {
	d := registry.New().Draft()
	for i := range 10 {
		put(t, d, fmt.Sprint("a", i))
	}
	base := d.Freeze()
	done := make(chan *registry.Registry)
	for g := range 8 {
		go func() {
			d := base.Draft()
			for i := range 200 {
				d.PutAgent(registry.Agent{ID: registry.AgentID(fmt.Sprint("g", g, "-", i))}, registry.Status{State: registry.Admitted})
				d.SetMaster(registry.Master{ID: fmt.Sprint(g)})
			}
			done <- d.Freeze()
		}()
	}
	for range 8 {
		r := <-done
		if errs := r.Check(); errs != nil {
			t.Error(errs)
		}
		if r.Len(registry.Admitted) != 210 {
			t.Errorf("a draft holds %d agents, want 210", r.Len(registry.Admitted))
		}
	}
	if base.Count() != 10 {
		t.Errorf("the base holds %d entries, want 10", base.Count())
	}
}
