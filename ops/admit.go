package ops

import (
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// Admit makes a new agent part of the cluster. It is refused when the ID is
// known in any state ([ErrAdmitted], [ErrUnreachable], [ErrGone]): an agent
// that comes back is a [Readmit].
//
// If the ID is admitted with another incarnation, two machines claim it, and
// Admit is refused with an [*IncarnationError], unless Supersedes names the
// admitted incarnation: then the new one takes its place.
type Admit struct {
	Agent      registry.Agent
	Supersedes string
}

// Apply implements [Operation].
func (o Admit) Apply(d *registry.Draft) error { return applyPrepared(o, d) }

// Prepare implements [Preparer].
func (o Admit) Prepare() (Operation, error) {
	a, err := registry.Encode(o.Agent)
	return admit{a, o.Supersedes}, refuse("admit", a.ID(), err)
}

type admit prepared

func (o admit) Apply(d *registry.Draft) error { return refuse("admit", o.agent.ID(), o.apply(d)) }

func (o admit) apply(d *registry.Draft) error {
	e, known := d.Entry(o.agent.ID())
	if !known {
		return d.PutEncoded(o.agent, registry.Status{State: registry.Admitted})
	}
	if e.State() != registry.Admitted || e.Incarnation() == o.agent.Incarnation() {
		return stateReason(e.State())
	}
	if err := claim(e, o.agent, o.supersedes); err != nil {
		return err
	}
	if e.Incarnation() == "" {
		return ErrAdmitted // nothing was superseded
	}
	return d.PutEncoded(o.agent, e.Status())
}

// claim holds the incarnation of agent against the admitted one. An admitted
// entry without an incarnation (an imported agent, or one of an older version)
// has nothing to say against a newcomer.
func claim(e registry.Entry, agent registry.Encoded, supersedes string) error {
	admitted := e.Incarnation()
	if admitted == "" || admitted == supersedes || admitted == agent.Incarnation() {
		return nil
	}
	is, err := e.Agent()
	if err != nil {
		return err
	}
	asks, err := agent.Agent()
	if err != nil {
		return err
	}
	return &IncarnationError{Admitted: claimant(&is), Claims: claimant(&asks)}
}

func claimant(a *registry.Agent) Claimant { return Claimant{a.Hostname, a.Port, a.Incarnation} }

// Update replaces what an admitted agent says of itself; whether it is drained
// or deactivated stays. It is refused when the agent is not admitted
// ([ErrNotAdmitted]), and for another incarnation as [Admit] is.
type Update struct {
	Agent      registry.Agent
	Supersedes string
}

// Apply implements [Operation].
func (o Update) Apply(d *registry.Draft) error { return applyPrepared(o, d) }

// Prepare implements [Preparer].
func (o Update) Prepare() (Operation, error) {
	a, err := registry.Encode(o.Agent)
	return update{a, o.Supersedes}, refuse("update", a.ID(), err)
}

type update prepared

func (o update) Apply(d *registry.Draft) error {
	e, err := admitted(d, o.agent.ID())
	if err == nil {
		err = claim(e, o.agent, o.supersedes)
	}
	if err == nil {
		err = d.PutEncoded(o.agent, e.Status())
	}
	return refuse("update", o.agent.ID(), err)
}

// Readmit takes back an agent that was unreachable or forgotten; a drain or
// deactivation is carried over. For an admitted agent it does what [Update]
// does, so that after a failover an unchanged agent costs no write. It is
// refused when the agent is gone ([ErrGone]), and for another incarnation as
// [Admit] is.
type Readmit struct {
	Agent      registry.Agent
	Supersedes string
}

// Apply implements [Operation].
func (o Readmit) Apply(d *registry.Draft) error { return applyPrepared(o, d) }

// Prepare implements [Preparer].
func (o Readmit) Prepare() (Operation, error) {
	a, err := registry.Encode(o.Agent)
	return readmit{a, o.Supersedes}, refuse("readmit", a.ID(), err)
}

type readmit prepared

func (o readmit) Apply(d *registry.Draft) error { return refuse("readmit", o.agent.ID(), o.apply(d)) }

func (o readmit) apply(d *registry.Draft) error {
	e, known := d.Entry(o.agent.ID())
	if !known {
		return d.PutEncoded(o.agent, registry.Status{State: registry.Admitted})
	}
	s := e.Status()
	switch s.State {
	case registry.Gone:
		return ErrGone
	case registry.Admitted:
		if err := claim(e, o.agent, o.supersedes); err != nil {
			return err
		}
	}
	s.State, s.At = registry.Admitted, time.Time{}
	return d.PutEncoded(o.agent, s)
}

// Replace removes Old, in whatever state it is, and admits Agent, in one
// change: a machine that was reinstalled. It is refused when the new ID is
// known (as [Admit] is) or the old one is not ([ErrNotKnown]).
type Replace struct {
	Old   registry.AgentID
	Agent registry.Agent
}

// Apply implements [Operation].
func (o Replace) Apply(d *registry.Draft) error { return applyPrepared(o, d) }

// Prepare implements [Preparer].
func (o Replace) Prepare() (Operation, error) {
	a, err := registry.Encode(o.Agent)
	return replace{o.Old, a}, refuse("replace with", a.ID(), err)
}

type replace struct {
	old   registry.AgentID
	agent registry.Encoded
}

func (o replace) Apply(d *registry.Draft) error {
	if e, known := d.Entry(o.agent.ID()); known {
		return refuse("replace with", o.agent.ID(), stateReason(e.State()))
	}
	if !d.DeleteAgent(o.old) {
		return refuse("replace", o.old, ErrNotKnown)
	}
	return refuse("replace with", o.agent.ID(), d.PutEncoded(o.agent, registry.Status{State: registry.Admitted}))
}

// Restore writes down an agent as another registry had it: for imports. Agent
// may be nil for one that is unreachable or gone and of which no more is
// known. It is refused when the ID is known in any state.
type Restore struct {
	ID     registry.AgentID
	Status registry.Status
	Agent  *registry.Agent // its ID is ID
}

// Apply implements [Operation].
func (o Restore) Apply(d *registry.Draft) error { return applyPrepared(o, d) }

// Prepare implements [Preparer].
func (o Restore) Prepare() (Operation, error) {
	p := restore{id: o.ID, status: o.Status}
	var err error
	switch {
	case o.Agent == nil && o.Status.State == registry.Admitted:
		err = &registry.FieldError{Field: "agent", Reason: "is missing; an admitted agent has one"}
	case o.Agent != nil && o.Agent.ID != o.ID:
		err = &registry.FieldError{Field: "agent.id", Reason: "is not the id of the entry"}
	case o.Agent != nil:
		p.agent, err = registry.Encode(*o.Agent)
	}
	return p, refuse("restore", o.ID, err)
}

type restore struct {
	id     registry.AgentID
	status registry.Status
	agent  registry.Encoded // the zero value if nothing is known
}

func (o restore) Apply(d *registry.Draft) error {
	return refuse("restore", o.id, o.apply(d))
}

func (o restore) apply(d *registry.Draft) error {
	if e, known := d.Entry(o.id); known {
		return stateReason(e.State())
	}
	if o.agent.Size() == 0 {
		return d.PutStatus(o.id, o.status)
	}
	return d.PutEncoded(o.agent, o.status)
}
