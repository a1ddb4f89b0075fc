package master

import (
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// Definition says what a metric of the master is.
type Definition struct {
	// Name is that of Mesos, if it has the thing.
	Name    string
	Counter bool // else it is a gauge
	Help    string
	// Family is how Prometheus knows it; Label and Value tell it apart from the
	// others of the family. Scale is what its unit is in base units; 0 means 1.
	Family, Label, Value string
	Scale                float64

	value func(*seen) float64 // nil is always 0
}

// Zero reports whether the metric is constant: this master does not have the thing
// that Mesos counts.
func (d *Definition) Zero() bool { return d.value == nil }

// FamilyHelp is what is said of all of the family.
func (d *Definition) FamilyHelp() string {
	if d.Label == "" {
		return d.Help
	}
	return familyHelp[d.Family]
}

// familyHelp is for the families that have several metrics.
var familyHelp = map[string]string{
	"mesos_master_event_queue":             "What waits for the master.",
	"mesos_master_frameworks":              "Frameworks that have something in the cluster.",
	"mesos_master_frameworks_active":       "Frameworks that have something in the cluster, by whether they may get offers.",
	"mesos_system_load":                    "Load of the machine.",
	"mesos_master_agent_removals_total":    "Agents that left, by why.",
	"mesos_master_agent_unreachable_total": "Agents that were to be marked unreachable, and what became of them.",
	"mesos_master_messages_total":          "Messages of agents.",
	"mesos_master_agents_connected":        "Registered agents, by whether their stream stands.",
	"mesos_master_agents_active":           "Registered agents, by whether they may be given tasks.",
	"mesos_master_tasks":                   "Tasks that have not ended, by their state.",
	"mesos_master_tasks_ended_total":       "Tasks that have ended, by their state.",
}

// Definitions are the metrics that every master has, in the order of their names.
func Definitions() []Definition { return slices.Clone(definitions) }

var definitions = func() []Definition {
	all := slices.Concat(general(), agentMetrics(), taskMetrics(), resourceMetrics(), registrarMetrics(), zeros())
	slices.SortFunc(all, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return all
}()

func gauge(name, help, family string, value func(*seen) float64) Definition {
	return Definition{Name: name, Help: help, Family: family, value: value}
}

func counter(name, help, family string, value func(*seen) float64) Definition {
	return Definition{Name: name, Counter: true, Help: help, Family: family, value: value}
}

// by puts a metric into its family by a label.
func (d Definition) by(label, value string) Definition {
	d.Label, d.Value = label, value
	return d
}

func general() []Definition {
	return []Definition{
		gauge("master/uptime_secs", "Seconds since the master was started.", "mesos_master_uptime_seconds", func(s *seen) float64 { return s.now.Sub(s.m.started).Seconds() }),
		gauge("master/elected", "1: a master that answers leads.", "mesos_master_elected", func(*seen) float64 { return 1 }),
		gauge("master/event_queue_dispatches", "Calls that wait for the master.", "mesos_master_event_queue", func(s *seen) float64 { return float64(s.stats.QueuedCalls) }).by("kind", "dispatches"),
		gauge("master/frameworks_disconnected", "Frameworks that have something in the cluster. None connects to this master.", "mesos_master_frameworks", func(s *seen) float64 { return float64(s.frameworks) }).by("state", "disconnected"),
		gauge("master/frameworks_inactive", "The same: none is active.", "mesos_master_frameworks_active", func(s *seen) float64 { return float64(s.frameworks) }).by("active", "false"),
		counter("master/dropped_messages", "Messages of agents that were not members, or on a stream that was not theirs any more.", "mesos_master_dropped_messages_total", func(s *seen) float64 { return float64(s.stats.DroppedMessages) }),
		gauge("system/load_1min", "Load of the machine, over a minute.", "mesos_system_load", func(s *seen) float64 { return s.system.load[0] }).by("over", "1m"),
		gauge("system/load_5min", "Load of the machine, over 5 minutes.", "mesos_system_load", func(s *seen) float64 { return s.system.load[1] }).by("over", "5m"),
		gauge("system/load_15min", "Load of the machine, over 15 minutes.", "mesos_system_load", func(s *seen) float64 { return s.system.load[2] }).by("over", "15m"),
		gauge("system/cpus_total", "Cores of the machine.", "mesos_system_cpus", func(s *seen) float64 { return s.system.cpus }),
		gauge("system/mem_total_bytes", "Memory of the machine.", "mesos_system_memory_bytes", func(s *seen) float64 { return s.system.memory }),
		gauge("system/mem_free_bytes", "Memory of the machine that nobody uses.", "mesos_system_memory_free_bytes", func(s *seen) float64 { return s.system.free }),
	}
}

func agentMetrics() []Definition {
	const removals = "mesos_master_agent_removals_total"
	const unreachable = "mesos_master_agent_unreachable_total"
	message := func(name, help string, value func(*Stats) uint64) Definition {
		return counter("master/messages_"+name, help, "mesos_master_messages_total", count(value)).by("type", name)
	}
	return []Definition{
		gauge("master/slaves_connected", "Registered agents whose stream stands.", "mesos_master_agents_connected", func(s *seen) float64 { return float64(s.connected) }).by("connected", "true"),
		gauge("master/slaves_disconnected", "Registered agents that are away.", "mesos_master_agents_connected", func(s *seen) float64 { return float64(s.state.AgentsLen() - s.connected) }).by("connected", "false"),
		gauge("master/slaves_active", "Registered agents that may be given tasks.", "mesos_master_agents_active", func(s *seen) float64 { return float64(s.active) }).by("active", "true"),
		gauge("master/slaves_inactive", "Registered agents that may not: away, deactivated or draining.", "mesos_master_agents_active", func(s *seen) float64 { return float64(s.state.AgentsLen() - s.active) }).by("active", "false"),
		gauge("master/slaves_unreachable", "Agents that are unreachable.", "mesos_master_agents_unreachable", func(s *seen) float64 { return float64(s.state.Registry.Len(registry.Unreachable)) }),
		gauge("master/slaves_recovered", "Agents of an earlier master that have not come back. Mesos has no such metric.", "mesos_master_agents_recovered", func(s *seen) float64 { return float64(s.state.RecoveredLen()) }),
		gauge("master/slave_removal_frozen", "1 while agents are not marked unreachable because there were too many. Mesos has no such metric.", "mesos_master_agent_removal_frozen", func(s *seen) float64 { return is(!s.stats.FrozenSince.IsZero()) }),
		counter("master/slave_registrations", "New agents.", "mesos_master_agent_registrations_total", count(func(s *Stats) uint64 { return s.Registrations })),
		counter("master/slave_reregistrations", "Agents that came back, but for those whose registration stood.", "mesos_master_agent_reregistrations_total", count(func(s *Stats) uint64 { return s.Reregistrations })),
		counter("master/slave_removals", "Agents that left: all of the reasons, and those that were marked gone or removed by an operator.", "", count(func(s *Stats) uint64 { return s.Removals })),
		counter("master/slave_removals/reason_unhealthy", "Agents that became unreachable.", removals, count(func(s *Stats) uint64 { return s.RemovalsUnhealthy })).by("reason", "unhealthy"),
		counter("master/slave_removals/reason_unregistered", "Agents that unregistered.", removals, count(func(s *Stats) uint64 { return s.RemovalsUnregistered })).by("reason", "unregistered"),
		counter("master/slave_removals/reason_gone", "Agents that were marked gone. Mesos has no such metric.", removals, count(func(s *Stats) uint64 { return s.RemovalsGone })).by("reason", "gone"),
		counter("master/slave_removals/reason_operator", "Agents that an operator removed. Mesos has no such metric.", removals, count(func(s *Stats) uint64 { return s.RemovalsOperator })).by("reason", "operator"),
		counter("master/recovery_slave_removals", "Agents that did not come back after a failover.", "mesos_master_recovery_agent_removals_total", count(func(s *Stats) uint64 { return s.RecoveryRemovals })),
		counter("master/slave_unreachable_scheduled", "Agents that were to be marked unreachable.", unreachable, count(func(s *Stats) uint64 { return s.UnreachableScheduled })).by("outcome", "scheduled"),
		counter("master/slave_unreachable_completed", "Agents that were marked unreachable.", unreachable, count(func(s *Stats) uint64 { return s.UnreachableCompleted })).by("outcome", "completed"),
		counter("master/slave_unreachable_canceled", "Agents that came back before they were marked.", unreachable, count(func(s *Stats) uint64 { return s.UnreachableCanceled })).by("outcome", "canceled"),
		message("register_slave", "Agents that asked to register: those that were new, and those that were refused or put off.", func(s *Stats) uint64 { return s.Registrations + s.Refused + s.Postponed }),
		message("reregister_slave", "Agents that asked to come back, and did.", func(s *Stats) uint64 { return s.Reregistrations + s.Reconnections }),
		message("unregister_slave", "Agents that unregistered.", func(s *Stats) uint64 { return s.MessagesUnregister }),
		message("update_slave", "Updates of agents: resources, tasks, executors. A status update of a task is one.", func(s *Stats) uint64 { return s.MessagesUpdate }),
	}
}

func taskMetrics() []Definition {
	state := func(name string, value func(*Stats) int) Definition {
		return gauge("master/tasks_"+name, "Tasks in state TASK_"+strings.ToUpper(name)+".", "mesos_master_tasks",
			func(s *seen) float64 { return float64(value(&s.stats)) }).by("state", "task_"+name)
	}
	ended := func(name string, value func(*Stats) uint64) Definition {
		return counter("master/tasks_"+name, "Tasks that ended in state TASK_"+strings.ToUpper(name)+".", "mesos_master_tasks_ended_total", count(value)).by("state", "task_"+name)
	}
	away := state("unreachable", func(s *Stats) int { return s.TasksAway })
	away.Help = "Tasks on unreachable agents, whatever their frameworks call them."
	return []Definition{
		state("staging", func(s *Stats) int { return s.TasksStaging }),
		state("starting", func(s *Stats) int { return s.TasksStarting }),
		state("running", func(s *Stats) int { return s.TasksRunning }),
		state("killing", func(s *Stats) int { return s.TasksKilling }),
		away,
		ended("finished", func(s *Stats) uint64 { return s.TasksFinished }),
		ended("failed", func(s *Stats) uint64 { return s.TasksFailed }),
		ended("killed", func(s *Stats) uint64 { return s.TasksKilled }),
		ended("lost", func(s *Stats) uint64 { return s.TasksLost }),
		ended("error", func(s *Stats) uint64 { return s.TasksError }),
		ended("dropped", func(s *Stats) uint64 { return s.TasksDropped }),
		ended("gone", func(s *Stats) uint64 { return s.TasksGone }),
		ended("gone_by_operator", func(s *Stats) uint64 { return s.TasksGoneByOperator }),
	}
}

func count(value func(*Stats) uint64) func(*seen) float64 {
	return func(s *seen) float64 { return float64(value(&s.stats)) }
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// resourceMetrics are how much there is, how much of it is used, and which share
// that is. Mesos counts mem and disk in MB; Prometheus gets bytes.
func resourceMetrics() (all []Definition) {
	for i, name := range wire.Counted {
		what, scale := name+" of registered agents", 1.0
		unit := ""
		if strings.HasPrefix(name, "mem") || strings.HasPrefix(name, "disk") {
			what, scale, unit = what+", in MB", 1<<20, "_bytes"
		}
		total := func(s *seen) float64 { return float64(s.total.Amounts[i]) / 1000 }
		used := func(s *seen) float64 { return float64(s.used.Amounts[i]) / 1000 }
		percent := func(s *seen) float64 {
			if s.total.Amounts[i] == 0 {
				return 0
			}
			return float64(s.used.Amounts[i]) / float64(s.total.Amounts[i])
		}
		family := "mesos_master_" + name
		all = append(all,
			scaled(gauge("master/"+name+"_total", "Amount of "+what+".", family+unit, total), scale),
			scaled(gauge("master/"+name+"_used", "Amount of "+what+", that tasks and executors use.", family+"_used"+unit, used), scale),
			gauge("master/"+name+"_percent", "Share that is used, from 0 to 1.", family+"_used_ratio", percent))
	}
	return all
}

func scaled(d Definition, scale float64) Definition {
	d.Scale = scale
	return d
}

func registrarMetrics() []Definition {
	fetch := scaled(gauge("registrar/state_fetch_ms", "How long it took to recover the registry, in milliseconds.", "mesos_registrar_state_fetch_seconds",
		func(s *seen) float64 { return float64(s.m.registrar.Recovery().Took.Nanoseconds()) / 1e6 }), 1e-3)
	return []Definition{
		gauge("registrar/queued_operations", "Operations that wait to be decided.", "", func(s *seen) float64 { return float64(s.registrar.QueuedOperations) }),
		gauge("registrar/log/recovered", "1: the log has recovered, or the master would not answer.", "mesos_registrar_log_recovered", func(*seen) float64 { return 1 }),
		gauge("registrar/log/ensemble_size", "1: the log is on one machine.", "mesos_registrar_log_ensemble_size", func(*seen) float64 { return 1 }),
		fetch,
	}
}

// zeros are what Mesos counts of things that this master does not have.
func zeros() (all []Definition) {
	add := func(counter bool, prefix string, names ...string) {
		for _, name := range names {
			all = append(all, Definition{Name: prefix + name, Counter: counter, Help: "Always 0: this master does not have what Mesos counts here."})
		}
	}
	add(false, "master/event_queue_", "messages", "http_requests")
	add(false, "master/frameworks_", "connected", "active")
	add(false, "master/", "outstanding_offers", "operator_event_stream_subscribers")
	add(true, "master/slave_removals/", "reason_registered")
	add(true, "master/slave_shutdowns_", "scheduled", "completed", "canceled")
	add(true, "master/messages_", strings.Fields(`register_framework reregister_framework unregister_framework
		deactivate_framework kill_task status_update_acknowledgement operation_status_update_acknowledgement
		resource_request launch_tasks decline_offers revive_offers suppress_offers reconcile_operations reconcile_tasks
		framework_to_executor executor_to_framework status_update operation_status_update exited_executor authenticate`)...)
	for _, validity := range []string{"valid_", "invalid_"} {
		add(true, "master/"+validity, strings.Fields(`framework_to_executor_messages executor_to_framework_messages
			status_updates status_update_acknowledgements operation_status_updates operation_status_update_acknowledgements`)...)
	}
	types := strings.Fields("reserve unreserve create destroy grow_volume shrink_volume create_disk destroy_disk")
	for _, of := range append([]string{""}, types...) {
		if of != "" {
			of += "/"
		}
		add(true, "master/operations/"+of, "total", "finished", "failed", "error", "dropped", "gone_by_operator")
		add(false, "master/operations/"+of, "pending", "recovering", "unreachable")
	}
	add(false, "allocator/", "event_queue_dispatches", "mesos/event_queue_dispatches")
	add(true, "allocator/mesos/", "allocation_runs")
	for _, name := range []string{"cpus", "mem", "disk"} {
		add(false, "allocator/mesos/resources/"+name+"/", "total", "offered_or_allocated")
	}
	return all
}
