package ops

import (
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/registry"
)

// Reasons for which an operation is refused; test for them with [errors.Is].
var (
	ErrAdmitted    = errors.New("agent is already admitted")
	ErrUnreachable = errors.New("agent is unreachable")
	ErrGone        = errors.New("agent is gone for good")
	ErrNotKnown    = errors.New("agent is not known")
	ErrNotAdmitted = errors.New("agent is not admitted")
	ErrDraining    = errors.New("agent is still draining")
	ErrNotDraining = errors.New("agent is not draining")
	// ErrIncarnation: another machine with this ID is admitted and was not
	// superseded. [IncarnationError] has both.
	ErrIncarnation = errors.New("another incarnation of the agent is admitted")
)

// Error says which operation was refused, for which agent, and why.
type Error struct {
	Op    string // "mark unreachable"
	Agent registry.AgentID
	Err   error // one of the reasons above, or a *registry.FieldError
}

func (e *Error) Error() string { return fmt.Sprintf("%s agent %q: %v", e.Op, string(e.Agent), e.Err) }

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// IncarnationError names both machines that claim one ID, so that somebody can
// go and look. It is [ErrIncarnation].
type IncarnationError struct {
	Admitted, Claims Claimant
}

// Claimant is a machine that goes by an agent's ID.
type Claimant struct {
	Hostname    string
	Port        uint16
	Incarnation string
}

func (c Claimant) String() string {
	return fmt.Sprintf("%s:%d (incarnation %q)", c.Hostname, c.Port, c.Incarnation)
}

func (e *IncarnationError) Error() string {
	return fmt.Sprintf("%v: %v is admitted, %v asks; if the former is down, name its incarnation as superseded",
		ErrIncarnation, e.Admitted, e.Claims)
}

// Is makes errors.Is(err, ErrIncarnation) true.
func (e *IncarnationError) Is(target error) bool { return target == ErrIncarnation }

// refuse is nil for a nil reason.
func refuse(op string, id registry.AgentID, reason error) error {
	if reason == nil {
		return nil
	}
	return &Error{Op: op, Agent: id, Err: reason}
}

// stateReason says why an agent in a state cannot be what was asked for.
func stateReason(s registry.State) error {
	switch s {
	case registry.Admitted:
		return ErrAdmitted
	case registry.Unreachable:
		return ErrUnreachable
	}
	return ErrGone
}
