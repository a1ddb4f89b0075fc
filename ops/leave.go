package ops

import (
	"fmt"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// admitted is the agent with this ID, or why it is not admitted.
func admitted(d *registry.Draft, id registry.AgentID) (registry.Entry, error) {
	e, known := d.Entry(id)
	switch {
	case !known:
		return e, fmt.Errorf("%w: it is not known", ErrNotAdmitted)
	case e.State() != registry.Admitted:
		return e, fmt.Errorf("%w: it is %v", ErrNotAdmitted, e.State())
	}
	return e, nil
}

// MarkUnreachable says that an admitted agent cannot be reached since At. What
// a [Readmit] must restore is kept. It is refused when the agent is not
// admitted ([ErrNotAdmitted]).
type MarkUnreachable struct {
	ID registry.AgentID
	// At is the time since which. Zero is taken, and means that it is not known;
	// Mesos always has a time, so that an export for it says 1970.
	At time.Time
}

// Apply implements [Operation].
func (o MarkUnreachable) Apply(d *registry.Draft) error {
	e, err := admitted(d, o.ID)
	if err == nil {
		s := e.Status()
		s.State, s.At = registry.Unreachable, o.At
		err = d.PutStatus(o.ID, s)
	}
	return refuse("mark unreachable", o.ID, err)
}

// MarkGone says that an agent will never come back, admitted or unreachable as
// it is; there is no way back. An agent that is gone already stays as it is.
// It is refused when the agent is not known ([ErrNotKnown]). [Prune] forgets that
// an agent is gone; its ID can then be admitted again.
type MarkGone struct {
	ID registry.AgentID
	// At is the time since which; zero as in [MarkUnreachable].
	At time.Time
}

// Apply implements [Operation].
func (o MarkGone) Apply(d *registry.Draft) error {
	e, known := d.Entry(o.ID)
	if !known {
		return refuse("mark gone", o.ID, ErrNotKnown)
	}
	if e.State() == registry.Gone {
		return nil
	}
	return refuse("mark gone", o.ID, d.PutStatus(o.ID, registry.Status{State: registry.Gone, At: o.At}))
}

// Remove forgets an admitted agent, as when it says goodbye. It is refused when
// the agent is not admitted ([ErrNotAdmitted]).
type Remove struct {
	ID registry.AgentID
}

// Apply implements [Operation].
func (o Remove) Apply(d *registry.Draft) error {
	_, err := admitted(d, o.ID)
	if err == nil {
		d.DeleteAgent(o.ID)
	}
	return refuse("remove", o.ID, err)
}

// Prune forgets agents that have been unreachable or gone for long enough:
// exactly those of the lists that are still in the state of their list. It is
// never refused.
type Prune struct {
	Unreachable, Gone []registry.AgentID
}

// Apply implements [Operation].
func (o Prune) Apply(d *registry.Draft) error {
	prune(d, o.Unreachable, registry.Unreachable)
	prune(d, o.Gone, registry.Gone)
	return nil
}

func prune(d *registry.Draft, ids []registry.AgentID, s registry.State) {
	for _, id := range ids {
		if e, known := d.Entry(id); known && e.State() == s {
			d.DeleteAgent(id)
		}
	}
}
