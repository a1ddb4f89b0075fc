package registry

import (
	"iter"
	"slices"
)

// Registry is everything a cluster knows at one revision. It never changes,
// and any number of goroutines may read it without a lock.
type Registry struct {
	revision uint64
	sum      sum
	agents   agents
	rows     *rows
}

// New returns a registry that knows nothing, at revision 0.
func New() *Registry { return &Registry{agents: newAgents(), rows: &rows{}} }

// Revision grows by one for each operation that changed something.
func (r *Registry) Revision() uint64 { return r.revision }

// Digest stands for the content; see [Digest].
func (r *Registry) Digest() Digest { return r.sum.digest() }

// Count is the number of entries over all tables.
func (r *Registry) Count() uint64 { return uint64(r.agents.len() + r.rows.tree.Len()) }

// Len is the number of agents in this state.
func (r *Registry) Len(s State) int {
	if s > Gone {
		return 0
	}
	return r.agents.counts[s]
}

// Entry returns the agent with this ID, in whatever state it is.
func (r *Registry) Entry(id AgentID) (Entry, bool) {
	e, _ := r.agents.find(id, hashID(id))
	return Entry{e}, e != nil
}

// Entries yields the agents in these states, or all, in the order in which
// they arrived: an agent that was removed and admitted again arrives anew.
func (r *Registry) Entries(states ...State) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for e := range r.agents.slots.all() {
			if (len(states) == 0 || slices.Contains(states, e.status.state)) && !yield(Entry{e}) {
				return
			}
		}
	}
}

// MinimumCapabilities names what a Mesos master must be able to do to lead
// this cluster. It follows from the content and is stored nowhere: an agent
// that is deactivated needs "AGENT_DRAINING".
func (r *Registry) MinimumCapabilities() []string {
	if r.agents.deactivated > 0 {
		return []string{"AGENT_DRAINING"}
	}
	return nil
}

// Chunks encodes the whole registry as groups of rows of about size bytes
// each, for [Draft.Redo]; one at least, so that redoing them sets the revision
// of an empty registry too. A chunk is valid until the next is asked for.
func (r *Registry) Chunks(size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b, scratch := newBuffer(), newBuffer()
		b.Uint(rowsVersion)
		yielded := false
		flush := func() bool {
			if len(b.Bytes) < size {
				return true
			}
			ok := yield(b.Bytes)
			yielded = true
			b.Reset()
			b.Uint(rowsVersion)
			return ok
		}
		for e := range r.agents.slots.all() {
			b.agentRow(e, scratch)
			if !flush() {
				return
			}
		}
		stopped := false
		r.rows.tree.Scan(func(_ rowKey, v *row) bool {
			b.row(v)
			stopped = !flush()
			return !stopped
		})
		if !stopped && (len(b.Bytes) > 1 || !yielded) {
			yield(b.Bytes)
		}
	}
}
