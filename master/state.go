package master

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/leaves"
	"github.com/eaba02dc/registrar/master/pod"
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
	// PodsVersion is the Version of the State with which anything of Pods last
	// changed.
	PodsVersion uint64

	agents     leaves.Map[*Agent]
	recovered  leaves.Map[*registry.Agent]
	frameworks leaves.Map[*Framework]
	completed  []*Framework // the oldest first
	sums       sums         // of agents
	pods       leaves.Map[*pod.Status]
}

// Agents yields the agents that have registered with this master, connected or
// not, in the order of their IDs.
func (s *State) Agents() iter.Seq[*Agent] { return s.agents.All() }

// AgentLeaves yields the same, in leaves.
func (s *State) AgentLeaves() iter.Seq[*leaves.Leaf[*Agent]] { return s.agents.Leaves() }

// Agent finds one of them.
func (s *State) Agent(id registry.AgentID) (*Agent, bool) {
	return s.agents.Get(&Agent{Info: registry.Agent{ID: id}})
}

// Recovered yields the agents that an earlier master admitted and that have not
// come back to this one yet, in the order of their IDs.
func (s *State) Recovered() iter.Seq[*registry.Agent] { return s.recovered.All() }

// RecoveredLeaves yields the same, in leaves.
func (s *State) RecoveredLeaves() iter.Seq[*leaves.Leaf[*registry.Agent]] {
	return s.recovered.Leaves()
}

// RecoveredAgent finds one of them.
func (s *State) RecoveredAgent(id registry.AgentID) (*registry.Agent, bool) {
	return s.recovered.Get(&registry.Agent{ID: id})
}

// Frameworks yields the frameworks that have something on an agent, or may have
// it on one that is to come back, in the order of their IDs.
func (s *State) Frameworks() iter.Seq[*Framework] { return s.frameworks.All() }

// Framework finds one of them.
func (s *State) Framework(id string) (*Framework, bool) {
	return s.frameworks.Get(&Framework{Info: wire.FrameworkInfo{ID: id}})
}

// CompletedFrameworks yields the frameworks that have ended, the latest last.
func (s *State) CompletedFrameworks() iter.Seq[*Framework] { return slices.Values(s.completed) }

// Pods yields the pods that are defined, in the order of their IDs.
func (s *State) Pods() iter.Seq[*pod.Status] { return s.pods.All() }

// Pod finds one of them by its ID, as in "/web/front".
func (s *State) Pod(id string) (*pod.Status, bool) {
	return s.pods.Get(&pod.Status{Definition: &pod.Definition{ID: id}})
}

// PodsLen is how many Pods yields.
func (s *State) PodsLen() int { return s.pods.Len() }

// AgentsLen is how many Agents yields.
func (s *State) AgentsLen() int { return s.agents.Len() }

// ActiveLen is how many of them are active.
func (s *State) ActiveLen() int { return s.sums.active }

// RecoveredLen is how many Recovered yields.
func (s *State) RecoveredLen() int { return s.recovered.Len() }

func compareAgents(a, b *Agent) int { return cmp.Compare(a.Info.ID, b.Info.ID) }

func compareRecovered(a, b *registry.Agent) int { return cmp.Compare(a.ID, b.ID) }

func compareFrameworks(a, b *Framework) int { return cmp.Compare(a.Info.ID, b.Info.ID) }

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

	tasks     leaves.Map[*wire.Task]
	executors leaves.Map[*wire.ExecutorInfo]
	used      wire.Usage // by both
	total     wire.Usage // of Resources
}

func newAgent(registered time.Time) *Agent {
	return &Agent{Registered: registered, tasks: leaves.New(compareTasks), executors: leaves.New(compareInfos)}
}

// Tasks yields the tasks that run on the agent, in the order of framework and
// ID. They are the same values as in their frameworks.
func (a *Agent) Tasks() iter.Seq[*wire.Task] { return a.tasks.All() }

// TasksLen is how many Tasks yields.
func (a *Agent) TasksLen() int { return a.tasks.Len() }

// Executors yields the executors that run on the agent, in the order of
// framework and ID.
func (a *Agent) Executors() iter.Seq[*wire.ExecutorInfo] { return a.executors.All() }

// Used is what tasks and executors use of the agent.
func (a *Agent) Used() wire.Usage { return a.used }

// Active says that the agent may be given tasks.
func (a *Agent) Active() bool { return a.Connected && !a.Status.Deactivated }

// Freeze is a part of the cluster whose agents are not marked unreachable.
type Freeze struct {
	Domain registry.Domain // the zero value is all of the cluster
	Since  time.Time
	// Marked had been marked lately, and Waiting were to be, when it began.
	Marked, Waiting int
}
