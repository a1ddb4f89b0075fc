package wire

import (
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// Event is what a master sends down: [*Subscribed], [*Ack], [*Drain], [*Kill],
// [*Shutdown], [*Error], [*Heartbeat], or [*Unknown].
type Event interface{ isEvent() }

// Subscribed is the first answer: the agent is a member of the cluster.
type Subscribed struct {
	AgentID  registry.AgentID
	MasterID string
	// Heartbeat is how often each side sends something, at most [MaxHeartbeat]. A
	// stream on which nothing came for MissesAllowed of them, at least 1, is dead.
	Heartbeat     time.Duration
	MissesAllowed uint32
}

// Ack says that what a call changed, and those before it, can be seen by
// everybody.
type Ack struct{ Sequence uint64 }

// Drain orders the agent to end its tasks and take no new ones.
type Drain struct {
	MaxGrace *time.Duration // how long a task may take to end; nil is its own
	MarkGone bool           // the agent is not to come back when it is drained
}

// Kill orders the agent to end a task.
type Kill struct {
	Task       TaskRef
	KillPolicy Raw
}

// Shutdown orders the agent to end everything and go; it may not come back
// under its ID.
type Shutdown struct{ Reason string }

// Error says why the master ends the stream.
type Error struct{ Message string }

func (*Subscribed) isEvent() {}
func (*Ack) isEvent()        {}
func (*Drain) isEvent()      {}
func (*Kill) isEvent()       {}
func (*Shutdown) isEvent()   {}
func (*Error) isEvent()      {}
func (*Heartbeat) isEvent()  {}
func (*Unknown) isEvent()    {}

var atLeastOne = bounded(whole[uint32](), func(n uint32) string {
	if n == 0 {
		return "is 0, want at least 1"
	}
	return ""
})

var events = records[Event]{
	recordOf[Event]("SUBSCRIBED", must("subscribed", object(
		must("agent_id", agentID, func(v *Subscribed) *registry.AgentID { return &v.AgentID }),
		must("master_id", plain, func(v *Subscribed) *string { return &v.MasterID }),
		must("heartbeat_interval_seconds", interval, func(v *Subscribed) *time.Duration { return &v.Heartbeat }),
		must("max_missed_heartbeats", atLeastOne, func(v *Subscribed) *uint32 { return &v.MissesAllowed }),
	), same)),
	recordOf[Event]("ACK", must("ack", object(
		must("sequence", whole[uint64](), func(v *Ack) *uint64 { return &v.Sequence }),
	), same)),
	recordOf[Event]("DRAIN", must("drain", object(must("config", object(
		opt("max_grace_period", grace, func(v *Drain) **time.Duration { return &v.MaxGrace }),
		opt("mark_gone", flag, func(v *Drain) *bool { return &v.MarkGone }),
	), same)), same)),
	recordOf[Event]("KILL", must("kill", object(
		must("framework_id", stringID, func(v *Kill) *string { return &v.Task.FrameworkID }),
		must("task_id", stringID, func(v *Kill) *string { return &v.Task.ID }),
		opt("kill_policy", raw, func(v *Kill) *Raw { return &v.KillPolicy }),
	), same)),
	recordOf[Event]("SHUTDOWN", must("shutdown", object(
		must("reason", plain, func(v *Shutdown) *string { return &v.Reason }),
	), same)),
	recordOf[Event]("ERROR", must("error", object(
		must("message", plain, func(v *Error) *string { return &v.Message }),
	), same)),
	recordOf[Event, Heartbeat](heartbeat),
}

// AppendEvent appends the record of an event, without the line before it. It
// returns dst and a [*FieldError] for an event in which [DecodeEvent] would
// refuse a field.
func AppendEvent(dst []byte, e Encoding, v Event) ([]byte, error) { return events.append(dst, e, v) }

// DecodeEvent reads the record of an event; the event keeps nothing of it. It
// returns a [*FieldError] or a [*SyntaxError] for what is no event, and for one
// that would take much more memory than its record.
func DecodeEvent(e Encoding, record []byte) (Event, error) { return events.decode(e, record) }
