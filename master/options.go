package master

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/metrics"
	"github.com/eaba02dc/registrar/registry"
)

// Options tunes a master. The zero value is ready for production; names and
// defaults are those of Mesos where it has the thing.
type Options struct {
	// MasterInfo is who leads. An empty ID means a random UUID, which is right:
	// the IDs of agents begin with it, so that no two masters give out the same.
	MasterInfo registry.Master

	// PingTimeout is how often each side of a stream sends something; 0 means
	// 15 s. An agent of which nothing came for MaxPingTimeouts of them, 0
	// means 5, is silent: its stream is ended, and it is to be marked
	// unreachable. That is noticed up to one later. Agents are told both: at most
	// [wire.MaxHeartbeat], and as many as fit a uint32.
	PingTimeout     time.Duration
	MaxPingTimeouts int
	// AgentReregisterTimeout is how long an agent may be away after its stream
	// broke, or after a failover; 0 means 10 min.
	AgentReregisterTimeout time.Duration

	// RegistryGCInterval is how often agents are looked for that have been
	// unreachable or gone for too long; 0 means 15 min. They are forgotten after
	// RegistryMaxAgentAge, 0 means two weeks, and the oldest of them when there
	// are more than RegistryMaxAgentCount of either kind; 0 means 102,400.
	RegistryGCInterval    time.Duration
	RegistryMaxAgentAge   time.Duration
	RegistryMaxAgentCount int

	// MaxAgents is how many agents may be admitted; 0 means 200,000. A new one
	// beyond that is refused ([ErrFull]), so that nobody can fill the registry
	// with agents that are none. One that the registry knows, also as
	// unreachable, may always come back.
	MaxAgents int

	// MaxPods is how many pods may be defined; 0 means 20,000. A new one beyond
	// that is refused ([ErrTooManyPods]).
	MaxPods int

	// AgentRemovalRateLimit bounds how fast agents are marked unreachable; zero
	// means no limit. One that comes back before its turn costs nothing.
	AgentRemovalRateLimit Rate
	// RecoveryAgentRemovalLimit is the share of the recovered agents that may
	// be missing at AgentReregisterTimeout after a failover; with more, the
	// master ends with an error instead of marking them. 0 means 1, all of them;
	// less than 0 means none.
	RecoveryAgentRemovalLimit float64
	// RemovalBudget is the guard against a storm: it bounds how many agents are
	// marked unreachable before somebody has a look.
	RemovalBudget Budget

	// Of what has ended or may come back, this much is remembered: 50
	// frameworks, and 1000 tasks of each framework that ended, and 1000 on
	// unreachable agents. 0 means these numbers, less than 0 none.
	MaxCompletedFrameworks          int
	MaxCompletedTasksPerFramework   int
	MaxUnreachableTasksPerFramework int

	// Metrics is the table to which the master adds what it counts; nil means one
	// of its own, see [Master.Metrics]. A table is for one master: what it added
	// stays when it ends.
	Metrics *metrics.Table
	// HideFrameworkMetrics leaves out what is counted of each framework, of which
	// there are some 60 numbers.
	HideFrameworkMetrics bool
	// StoreTimes is what the registrar's option Stored observes; nil leaves
	// registrar/state_store_ms out.
	StoreTimes *metrics.Timer

	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
}

// Rate is a number of events in a time, evenly spread. The zero value has no
// bound.
type Rate struct {
	Count int
	Per   time.Duration
}

// Budget bounds how many agents may be marked unreachable within a time. Over
// it, marking freezes ([State.Frozen]): the rest stay members, away but not
// declared dead, until so many have come back that the others fit the budget, or
// until somebody calls [Master.Unfreeze]. Time alone does not end a freeze.
type Budget struct {
	// Share is of all members; 0 means a half, and 1 or more is no bound. A
	// master that has lost its own network loses all of them at once.
	Share float64
	// DomainShare is of the members of one fault domain, and freezes only that;
	// 0 means no bound: that a whole domain fails is what domains are for.
	DomainShare float64
	// Window is the time after which a mark does not count any more; 0 means an
	// hour.
	Window time.Duration
	// Least may always be marked within the window, so that a small cluster is
	// not frozen by two machines; 0 means 10.
	Least int
}

// validate names the first field that no master can work with.
func (o *Options) validate() error {
	for _, f := range []struct {
		name string
		bad  bool
	}{
		{"PingTimeout", o.PingTimeout < 0},
		{"MaxPingTimeouts", o.MaxPingTimeouts < 0},
		{"AgentReregisterTimeout", o.AgentReregisterTimeout < 0},
		{"RegistryGCInterval", o.RegistryGCInterval < 0},
		{"RegistryMaxAgentAge", o.RegistryMaxAgentAge < 0},
		{"RegistryMaxAgentCount", o.RegistryMaxAgentCount < 0},
		{"MaxAgents", o.MaxAgents < 0},
		{"MaxPods", o.MaxPods < 0},
		{"AgentRemovalRateLimit", o.AgentRemovalRateLimit.Count < 0 || o.AgentRemovalRateLimit.Per < 0},
		{"RemovalBudget", o.RemovalBudget.Share < 0 || o.RemovalBudget.DomainShare < 0 || o.RemovalBudget.Window < 0 || o.RemovalBudget.Least < 0},
	} {
		if f.bad {
			return fmt.Errorf("start the master: Options.%s is less than nothing", f.name)
		}
	}
	if o.PingTimeout > wire.MaxHeartbeat {
		return fmt.Errorf("start the master: Options.PingTimeout is %v, and agents can be told of %v at most", o.PingTimeout, wire.MaxHeartbeat)
	}
	if uint64(o.MaxPingTimeouts) > math.MaxUint32 {
		return fmt.Errorf("start the master: Options.MaxPingTimeouts is %d, and agents can be told of %d at most", o.MaxPingTimeouts, uint32(math.MaxUint32))
	}
	if d := o.WithDefaults(); time.Duration(d.MaxPingTimeouts) > math.MaxInt64/d.PingTimeout {
		return fmt.Errorf("start the master: Options.MaxPingTimeouts is %d, and so many of %v are more than %v", d.MaxPingTimeouts, d.PingTimeout, time.Duration(math.MaxInt64))
	}
	return nil
}

// WithDefaults is o with what each zero means, and with an ID for the master.
func (o Options) WithDefaults() Options {
	if o.MasterInfo.ID == "" {
		o.MasterInfo.ID = uuid.NewString()
	}
	o.PingTimeout = cmp.Or(o.PingTimeout, 15*time.Second)
	o.MaxPingTimeouts = cmp.Or(o.MaxPingTimeouts, 5)
	o.AgentReregisterTimeout = cmp.Or(o.AgentReregisterTimeout, 10*time.Minute)
	o.RegistryGCInterval = cmp.Or(o.RegistryGCInterval, 15*time.Minute)
	o.RegistryMaxAgentAge = cmp.Or(o.RegistryMaxAgentAge, 14*24*time.Hour)
	o.RegistryMaxAgentCount = cmp.Or(o.RegistryMaxAgentCount, 102_400)
	o.MaxAgents = cmp.Or(o.MaxAgents, 200_000)
	o.MaxPods = cmp.Or(o.MaxPods, 20_000)
	o.RecoveryAgentRemovalLimit = cmp.Or(o.RecoveryAgentRemovalLimit, 1)
	o.RemovalBudget.Share = cmp.Or(o.RemovalBudget.Share, 0.5)
	o.RemovalBudget.DomainShare = cmp.Or(o.RemovalBudget.DomainShare, 1)
	o.RemovalBudget.Window = cmp.Or(o.RemovalBudget.Window, time.Hour)
	o.RemovalBudget.Least = cmp.Or(o.RemovalBudget.Least, 10)
	o.MaxCompletedFrameworks = cmp.Or(o.MaxCompletedFrameworks, 50)
	o.MaxCompletedTasksPerFramework = cmp.Or(o.MaxCompletedTasksPerFramework, 1000)
	o.MaxUnreachableTasksPerFramework = cmp.Or(o.MaxUnreachableTasksPerFramework, 1000)
	o.Metrics = cmp.Or(o.Metrics, &metrics.Table{})
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}
