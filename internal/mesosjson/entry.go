package mesosjson

import "github.com/eaba02dc/registrar/registry"

// Entry is one agent as an input has it.
type Entry struct {
	ID     registry.AgentID
	Status registry.Status
	// Agent is what the agent says of itself; nil where the form only has the
	// ID, as for unreachable and gone agents.
	Agent *registry.Agent
	// Recovered marks an admitted agent that had not come back to the master
	// since its failover.
	Recovered bool
	// Path is where it stood, as in "slaves.slaves[12]".
	Path string

	silent silence
}

// silence is what the form of an entry has no room for: there, nothing said
// does not mean nothing there.
type silence struct {
	resources, checkpoint bool
	reservations          bool // who made them, and which refine which
}

// Over is what a registry should hold of the agent if it held known before:
// all that the input says, and from known what the input has no way to say,
// which is incarnation, labels, payload and what the package comment names. If
// the input has no info at all, it is known.
func (e Entry) Over(known registry.Agent) registry.Agent {
	if e.Agent == nil {
		return known
	}
	a := *e.Agent
	a.Incarnation, a.Labels, a.Payload = known.Incarnation, known.Labels, known.Payload
	if e.silent.resources || e.silent.reservations && sameAmounts(a.Resources, known.Resources) {
		a.Resources = known.Resources
	}
	if e.silent.checkpoint {
		a.Checkpoint = known.Checkpoint
	}
	return a
}
