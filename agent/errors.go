package agent

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// ErrEnded is the error of [Agent.Synced] when [Agent.Run] has returned, after
// which nobody says what was set.
var ErrEnded = errors.New("the agent has ended: the master did not acknowledge all that was set")

// RefusedError is the answer of a master that did not let the agent subscribe.
// The agent tries again, for what is wrong may be mended at either end.
type RefusedError struct {
	Master  string // its URL
	Status  int    // of HTTP
	Message string

	retryAfter time.Duration
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("subscribe at %s: %d %s: %s", e.Master, e.Status, http.StatusText(e.Status), e.Message)
}

// MasterError is why a master ended the stream. The agent subscribes again.
type MasterError struct{ Message string }

func (e *MasterError) Error() string { return "the master ended the stream: " + e.Message }

// ShutdownError ends [Agent.Run]: the cluster does not want the agent any more,
// and it may not come back under its ID.
type ShutdownError struct {
	AgentID   registry.AgentID // empty if it never was a member
	Reason    string           // the master's
	StateFile string           // empty if there is none
}

func (e *ShutdownError) Error() string {
	text := fmt.Sprintf("the master shut down agent %q: %s: end its tasks", e.AgentID, e.Reason)
	if e.StateFile != "" {
		text += fmt.Sprintf("; if this machine is to join as a new agent, remove %s and start again", e.StateFile)
	}
	return text
}
