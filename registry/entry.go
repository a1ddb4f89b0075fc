package registry

import (
	"fmt"
	"time"
)

// Status is what the cluster has decided about an agent.
type Status struct {
	State State
	// At is when the agent became unreachable or gone, to the nanosecond; the
	// zero time for an admitted agent.
	At time.Time
	// Deactivated agents get no new tasks.
	Deactivated bool
	// Drain, if set, implies Deactivated. A gone agent has neither.
	Drain Drain
}

// Entry is one agent as the registry holds it. It is a small value to be
// passed around; it does not change.
type Entry struct{ *entry }

// entry is shared by all registries in which the agent stands unchanged.
type entry struct {
	id     AgentID
	info   string // what the agent says of itself, encoded; "" for nothing
	since  uint64
	share  sum // of the digest
	status status
	hash   uint32 // of id, for the index
}

// status is a Status in a third of the space: there is one per agent.
type status struct {
	at          int64 // ns since 1970; 0 for no time
	grace       *time.Duration
	state       State
	drain       DrainState
	deactivated bool
	markGone    bool
}

func (s *Status) pack() status {
	p := status{
		grace: s.Drain.MaxGrace, state: s.State, drain: s.Drain.State,
		deactivated: s.Deactivated, markGone: s.Drain.MarkGone,
	}
	if !s.At.IsZero() {
		p.at = s.At.UnixNano()
	}
	return p
}

func (p *status) unpack() Status {
	s := Status{State: p.state, Deactivated: p.deactivated, Drain: Drain{p.drain, p.grace, p.markGone}}
	if p.at != 0 {
		s.At = time.Unix(0, p.at).UTC()
	}
	return s
}

func (p *status) equal(o *status) bool {
	same := p.grace == o.grace || p.grace != nil && o.grace != nil && *p.grace == *o.grace
	return same && p.at == o.at && p.state == o.state && p.drain == o.drain &&
		p.deactivated == o.deactivated && p.markGone == o.markGone
}

// ID names the agent.
func (e Entry) ID() AgentID { return e.id }

// Status is what the cluster has decided about the agent.
func (e Entry) Status() Status { return e.status.unpack() }

// State is short for Status().State.
func (e Entry) State() State { return e.status.state }

// Since is the revision at which the agent came into its state.
func (e Entry) Since() uint64 { return e.since }

// Known reports whether what the agent says of itself is known. It is not for
// agents that were imported as unreachable or gone.
func (e Entry) Known() bool { return e.info != "" }

// Agent decodes what the agent says of itself. Each call makes a new value,
// the caller's to keep and change. If nothing is known, only ID is set. The
// error, a [*CorruptError], can only come from a damaged or forged store.
func (e Entry) Agent() (Agent, error) {
	a := Agent{ID: e.id}
	if e.info == "" {
		return a, nil
	}
	var p parser
	p.Reset([]byte(e.info))
	p.info(&a)
	if err := p.End(); err != nil {
		return Agent{ID: e.id}, &CorruptError{Key: string(e.id), Err: err}
	}
	return a, nil
}

// Body is the status and what the agent says of itself, encoded as a row has it.
// It is the same for two entries if nothing but ID and Since tells them apart,
// and only then.
func (e Entry) Body() string {
	b := newBuffer()
	b.agentHead(&e.status)
	return string(b.Bytes) + e.info
}

// Incarnation is that of the agent's info, found without decoding the rest;
// empty if it has none.
func (e Entry) Incarnation() string {
	if e.info == "" {
		return ""
	}
	return incarnationOf(e.info)
}

// CorruptError says that the bytes of an entry are not what this or any older
// version writes.
type CorruptError struct {
	Key string // of the row: for an agent its ID; empty if it did not get that far
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("decode entry %q: %v", e.Key, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }
