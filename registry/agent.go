package registry

import (
	"fmt"
	"time"
)

// AgentID names an agent for as long as the cluster remembers it. It is 1 to
// [MaxID] bytes of UTF-8.
type AgentID string

// Agent is what an agent says of itself: the content of Mesos's SlaveInfo
// (include/mesos/mesos.proto), and labels and a payload for fleets that have
// never heard of Mesos. Only ID is required.
type Agent struct {
	ID AgentID
	// Incarnation is drawn anew each time the agent's machine boots. It tells
	// two machines with one ID apart (a cloned image); empty means unknown.
	Incarnation string
	Hostname    string
	Port        uint16
	Resources   []Resource
	Attributes  []Attribute
	Domain      Domain
	// Checkpoint says that the agent's tasks outlive a restart of the agent.
	Checkpoint bool
	Labels     map[string]string
	// Payload is the embedder's; the registry keeps it and never looks inside.
	Payload []byte
}

// Domain is the fault domain an agent stands in; the zero value means none.
type Domain struct {
	Region, Zone string
}

// Attribute describes an agent, as in "rack=r12". Names may repeat.
type Attribute struct {
	Name  string
	Value Value
}

// Resource is an amount of something an agent offers. Names may repeat: the
// same resource reserved for two roles is two Resources.
type Resource struct {
	Name  string
	Value Value
	// Reservations says for whom the amount is reserved, the outermost first,
	// each refining the one before it; empty means for anyone (role "*").
	Reservations []Reservation
}

// Reservation sets a resource aside for a role.
type Reservation struct {
	Role string
	// Dynamic reservations were made by an operator or a framework while the
	// cluster ran; static ones stand in the agent's own configuration.
	Dynamic   bool
	Principal string // who reserved it; dynamic only
	Labels    []Label
}

// Label is a key with an optional value, as in Mesos.
type Label struct {
	Key, Value string
	// Bare marks a label without a value, which is not the same as an empty one.
	Bare bool
}

// Kind says which field of a [Value] holds it. The numbers are on disk and
// never change.
type Kind uint8

// The kinds of value, with Mesos's names (Value.Type in mesos.proto).
const (
	KindScalar Kind = 0
	KindRanges Kind = 1
	KindSet    Kind = 2
	KindText   Kind = 3
)

// String is the name Mesos has for the kind.
func (k Kind) String() string {
	switch k {
	case KindScalar:
		return "SCALAR"
	case KindRanges:
		return "RANGES"
	case KindSet:
		return "SET"
	case KindText:
		return "TEXT"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Value is one of four kinds; only the field of its Kind is used. Make one
// with [Scalar], [Ranges], [Set] or [Text].
type Value struct {
	Kind   Kind
	Scalar float64 // finite
	Ranges []Range
	Set    []string
	Text   string
}

// Range is the whole numbers from Begin to End, both included.
type Range struct {
	Begin, End uint64
}

// Scalar is an amount: 4 cpus, 15026 MB of memory.
func Scalar(v float64) Value { return Value{Kind: KindScalar, Scalar: v} }

// Ranges is numbers, such as ports 31000 to 32000.
func Ranges(r ...Range) Value { return Value{Kind: KindRanges, Ranges: r} }

// Set is names, such as the disks of a machine.
func Set(items ...string) Value { return Value{Kind: KindSet, Set: items} }

// Text is a string; Mesos has it for attributes only.
func Text(s string) Value { return Value{Kind: KindText, Text: s} }

// State is where an agent stands. The numbers are on disk and never change.
type State uint8

// The states of an agent. An agent has one of them, or is not known at all.
const (
	Admitted    State = 1
	Unreachable State = 2
	Gone        State = 3
)

// String is the word for the state in logs, JSON and commands.
func (s State) String() string {
	switch s {
	case Admitted:
		return "admitted"
	case Unreachable:
		return "unreachable"
	case Gone:
		return "gone"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// DrainState says how far a drain has come. The numbers are Mesos's
// (DrainState in mesos.proto) and on disk.
type DrainState uint8

// The states of a drain; the zero value means that none was asked for.
const (
	Draining DrainState = 1
	Drained  DrainState = 2
)

// String is the name Mesos has for the state.
func (s DrainState) String() string {
	switch s {
	case 0:
		return "none"
	case Draining:
		return "DRAINING"
	case Drained:
		return "DRAINED"
	}
	return fmt.Sprintf("DrainState(%d)", uint8(s))
}

// Drain is the order to empty an agent of tasks; the zero value means none.
type Drain struct {
	State DrainState
	// MaxGrace bounds how long a task may take to end; nil means not given.
	MaxGrace *time.Duration
	// MarkGone asks for the agent to be marked gone once it is drained.
	MarkGone bool
}
