package master

import (
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// Reasons for which something is refused, beside those of package ops; test for
// them with [errors.Is].
var (
	// ErrNotNow: something else is under way for this agent, or there is too
	// much to do. Try again later; nothing was changed.
	ErrNotNow = errors.New("not now, try again later")
	// ErrFull: a new agent is refused, for there are as many as there may be
	// ([Options].MaxAgents). One that is a member may come back.
	ErrFull = errors.New("the cluster is full")
	// ErrTooManyPods: a new pod is refused, for there are as many as there may be
	// ([Options].MaxPods). One that is defined may be defined anew.
	ErrTooManyPods = errors.New("too many pods are defined")
	// ErrEnded: the master was closed or has failed ([Master.Err]). What was
	// under way may or may not have become durable.
	ErrEnded = errors.New("master has ended")
	// ErrSuperseded: another connection of the agent has taken this one's place.
	ErrSuperseded = errors.New("another connection of this agent took the place of this one")
	// ErrNotDeactivated: the agent is active, there is nothing to reactivate.
	ErrNotDeactivated = errors.New("agent is not deactivated")
	// ErrCannotDrain: the agent has not said that it knows how to drain.
	ErrCannotDrain = errors.New("agent does not have the capability " + drainCapability)
)

const drainCapability = "AGENT_DRAINING"

// GoneError says that an agent was marked gone and is not to come back: its
// answer is SHUTDOWN, with this text. It is [ops.ErrGone].
type GoneError struct{ Agent registry.AgentID }

// Is makes errors.Is(err, ops.ErrGone) true.
func (e *GoneError) Is(target error) bool { return target == ops.ErrGone }

func (e *GoneError) Error() string { return fmt.Sprintf("agent %q was marked gone", string(e.Agent)) }

func notNow(reason string) error { return fmt.Errorf("%w: %s", ErrNotNow, reason) }

// RecoveryError says that too many agents did not come back after a failover
// (Options.RecoveryAgentRemovalLimit): rather than declare them dead, the master
// ended.
type RecoveryError struct {
	Missing, Recovered int
	Limit              float64 // a share
}

func (e *RecoveryError) Error() string {
	return fmt.Sprintf("%d of %d recovered agents did not come back, and at most %g%% may be missing; "+
		"see what keeps them away, or raise the limit", e.Missing, e.Recovered, 100*e.Limit)
}
