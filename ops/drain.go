package ops

import (
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// present is the status of an agent that is admitted or unreachable, or why
// there is none.
func present(d *registry.Draft, id registry.AgentID) (registry.Status, error) {
	e, known := d.Entry(id)
	switch {
	case !known:
		return registry.Status{}, ErrNotKnown
	case e.State() == registry.Gone:
		return registry.Status{}, ErrGone
	}
	return e.Status(), nil
}

// Drain orders an agent, admitted or unreachable, to be emptied of tasks, and
// deactivates it. A nil MaxGrace keeps that of an earlier drain. It is refused
// when the agent is not known or gone ([ErrNotKnown], [ErrGone]).
type Drain struct {
	ID       registry.AgentID
	MaxGrace *time.Duration // how long a task may take to end
	MarkGone bool           // mark the agent gone once it is drained
}

// Apply implements [Operation].
func (o Drain) Apply(d *registry.Draft) error {
	s, err := present(d, o.ID)
	if err == nil {
		s.Deactivated = true
		s.Drain.State, s.Drain.MarkGone = registry.Draining, o.MarkGone
		if o.MaxGrace != nil {
			grace := *o.MaxGrace
			s.Drain.MaxGrace = &grace
		}
		err = d.PutStatus(o.ID, s)
	}
	return refuse("drain", o.ID, err)
}

// MarkDrained says that a draining agent is empty. It is refused when the
// agent is not known, gone, or not draining ([ErrNotDraining]), which includes
// one that is drained already.
type MarkDrained struct {
	ID registry.AgentID
}

// Apply implements [Operation].
func (o MarkDrained) Apply(d *registry.Draft) error {
	s, err := present(d, o.ID)
	if err == nil && s.Drain.State != registry.Draining {
		err = ErrNotDraining
	}
	if err == nil {
		s.Drain.State = registry.Drained
		err = d.PutStatus(o.ID, s)
	}
	return refuse("mark drained", o.ID, err)
}

// Deactivate keeps new tasks off an agent, admitted or unreachable. It is
// refused when the agent is not known or gone.
type Deactivate struct {
	ID registry.AgentID
}

// Apply implements [Operation].
func (o Deactivate) Apply(d *registry.Draft) error {
	s, err := present(d, o.ID)
	if err == nil {
		s.Deactivated = true
		err = d.PutStatus(o.ID, s)
	}
	return refuse("deactivate", o.ID, err)
}

// Reactivate ends a deactivation, and a drain that is done. It is refused when
// the agent is not known or gone, and while it is still draining
// ([ErrDraining]): Mesos's registrar would let that pass and its master guards
// it (MESOS-10096); here it cannot happen whoever asks.
type Reactivate struct {
	ID registry.AgentID
}

// Apply implements [Operation].
func (o Reactivate) Apply(d *registry.Draft) error {
	s, err := present(d, o.ID)
	if err == nil && s.Drain.State == registry.Draining {
		err = ErrDraining
	}
	if err == nil {
		s.Deactivated, s.Drain = false, registry.Drain{}
		err = d.PutStatus(o.ID, s)
	}
	return refuse("reactivate", o.ID, err)
}
