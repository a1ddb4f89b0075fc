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

func (s *Status) equal(o *Status) bool {
	return s.State == o.State && s.Deactivated == o.Deactivated && s.At.Equal(o.At) &&
		s.Drain.State == o.Drain.State && s.Drain.MarkGone == o.Drain.MarkGone &&
		equalGrace(s.Drain.MaxGrace, o.Drain.MaxGrace)
}

func equalGrace(a, b *time.Duration) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// Entry is one agent as the registry holds it. It is a small value to be
// passed around; it does not change.
type Entry struct{ *entry }

// entry is shared by all registries in which the agent stands unchanged.
type entry struct {
	id     AgentID
	info   string // what the agent says of itself, encoded; "" for nothing
	status Status
	since  uint64
	share  sum    // of the digest
	hash   uint32 // of id, for the index
}

// ID names the agent.
func (e Entry) ID() AgentID { return e.id }

// Status is what the cluster has decided about the agent.
func (e Entry) Status() Status { return e.status }

// State is short for Status().State.
func (e Entry) State() State { return e.status.State }

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
	Key string // the agent's ID, if it got that far
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("decode entry %q: %v", e.Key, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }
