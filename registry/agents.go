package registry

import "math"

// agents is the table of agents: places in order of arrival, found by ID. It
// is a value; copying it is O(1) and makes an independent version.
//
// Invariant: every entry is found by its ID through the index, at one place.
// Invariant: counts and deactivated are what counting the entries gives.
type agents struct {
	slots slots
	index *index
	next  uint32 // the place of the next to arrive
	// counts has the number of entries by state.
	counts [Gone + 1]int
	// deactivated counts the entries, admitted or unreachable, that are.
	deactivated int
}

func newAgents() agents { return agents{index: newIndex(0)} }

// find returns the entry with this ID and its place, or nil.
func (t *agents) find(id AgentID, hash uint32) (*entry, uint32) {
	for place := range t.index.places(hash) {
		if e := t.slots.get(place); e != nil && e.id == id {
			return e, place
		}
	}
	return nil, 0
}

// add places e, whose ID is not in the table, behind all others.
func (t *agents) add(e *entry, edit uint64) (place uint32) {
	if t.next == math.MaxUint32 || !t.index.add(e.hash, t.next) {
		t.layOut(t.len()+1, edit)
		t.index.add(e.hash, t.next)
	}
	place = t.next
	t.next++
	t.slots.set(place, e, edit)
	t.count(e, 1)
	return place
}

// replace puts e, with the ID of old, where old stands.
func (t *agents) replace(place uint32, old, e *entry, edit uint64) {
	t.slots.set(place, e, edit)
	t.count(old, -1)
	t.count(e, 1)
}

// remove empties the place of old.
func (t *agents) remove(place uint32, old *entry, edit uint64) {
	t.slots.set(place, nil, edit)
	t.count(old, -1)
}

func (t *agents) count(e *entry, n int) {
	t.counts[e.status.state] += n
	if e.status.deactivated {
		t.deactivated += n
	}
}

func (t *agents) len() int {
	return t.counts[Admitted] + t.counts[Unreachable] + t.counts[Gone]
}

// layOut gives every entry a new place, in the same order and without gaps, in
// a new index with room for twice n. It costs O(all agents) and happens after
// as many arrivals, or after maxDead removals of one ID.
func (t *agents) layOut(n int, edit uint64) {
	old := t.slots
	t.slots, t.index, t.next = slots{edit: edit}, newIndex(n), 0
	for e := range old.all() {
		t.index.add(e.hash, t.next)
		t.slots.set(t.next, e, edit)
		t.next++
	}
}
