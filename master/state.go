package master

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// State is the cluster as the master knew it at one moment. It never changes:
// whoever has one may read it on any number of goroutines, without a lock, and
// keep it. What was acknowledged to an agent is in every State taken since.
type State struct {
	// Version grows with each State that a master publishes.
	Version uint64
	// Master is who leads, Started when it began, Elected when it took over,
	// which is once it had recovered.
	Master           registry.Master
	Started, Elected time.Time
	// Registry is what is durable. Every agent in Agents and Recovered is
	// admitted there.
	Registry *registry.Registry
	// Frozen says where no more agents are marked unreachable, because there
	// were too many; see Budget. It is empty while all is well.
	Frozen []Freeze

	agents     btree.Map[registry.AgentID, *Agent]
	recovered  btree.Map[registry.AgentID, *registry.Agent]
	frameworks btree.Map[string, *Framework]
	completed  []*Framework // the oldest first
}

// Agents yields the agents that have registered with this master, connected or
// not, in the order of their IDs.
func (s *State) Agents() iter.Seq[*Agent] { return values(&s.agents) }

// Agent finds one of them.
func (s *State) Agent(id registry.AgentID) (*Agent, bool) { return s.agents.Get(id) }

// Recovered yields the agents that an earlier master admitted and that have not
// come back to this one yet, in the order of their IDs.
func (s *State) Recovered() iter.Seq[*registry.Agent] { return values(&s.recovered) }

// Frameworks yields the frameworks that have something on an agent, or may have
// it on one that is to come back, in the order of their IDs.
func (s *State) Frameworks() iter.Seq[*Framework] { return values(&s.frameworks) }

// Framework finds one of them.
func (s *State) Framework(id string) (*Framework, bool) { return s.frameworks.Get(id) }

// CompletedFrameworks yields the frameworks that have ended, the latest last.
func (s *State) CompletedFrameworks() iter.Seq[*Framework] { return slices.Values(s.completed) }

// AgentsLen is how many Agents yields.
func (s *State) AgentsLen() int { return s.agents.Len() }

// RecoveredLen is how many Recovered yields.
func (s *State) RecoveredLen() int { return s.recovered.Len() }

func values[K cmp.Ordered, V any](m *btree.Map[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		m.Scan(func(_ K, v V) bool { return yield(v) })
	}
}

// Agent is an agent that has registered with this master. It never changes.
type Agent struct {
	// Info is what the agent said of itself, as the registry has it; Resources
	// what it has now, which an update may have changed since.
	Info      registry.Agent
	Resources []registry.Resource
	// Status is what the cluster has decided about it: it is admitted, and may
	// be deactivated or draining.
	Status       registry.Status
	Version      string
	Capabilities []string
	// Address is the host and port from which the agent connected last.
	Address string
	// Connected says that its stream is up.
	Connected bool
	// Registered is when it was first admitted by this master; Reregistered when
	// it came back last, zero if it never went. DrainStarted is when this master
	// learned of its drain.
	Registered, Reregistered, DrainStarted time.Time
	// Tasks and Executors are those that run on it, in the order of framework
	// and ID. The tasks are the same values as in their frameworks.
	Tasks     []*wire.Task
	Executors []*wire.ExecutorInfo
}

// Active says that the agent may be given tasks.
func (a *Agent) Active() bool { return a.Connected && !a.Status.Deactivated }

// Freeze is a part of the cluster whose agents are not marked unreachable.
type Freeze struct {
	Domain registry.Domain // the zero value is all of the cluster
	Since  time.Time
	// Marked had been marked lately, and Waiting were to be, when it began.
	Marked, Waiting int
}
