package mesosjson

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// defaultPort is where a Mesos agent listens when nobody says otherwise.
const defaultPort = 5051

// registryAgent reads an element of the registry's slaves.slaves.
func registryAgent(n *node) Entry {
	a := agentInfo(n.in("info"))
	return Entry{ID: a.ID, Status: status(n, registry.Admitted), Agent: &a}
}

// registryUnreachable reads an element of the registry's unreachable.slaves.
func registryUnreachable(n *node) Entry {
	s := status(n, registry.Unreachable)
	s.At = timestamp(n)
	return Entry{ID: agentID(n), Status: s}
}

// registryGone reads an element of the registry's gone.slaves.
func registryGone(n *node) Entry {
	return Entry{ID: agentID(n), Status: registry.Status{State: registry.Gone, At: timestamp(n)}}
}

// operatorAgent reads an Agent message of the operator API.
func operatorAgent(n *node) Entry {
	n.pass("active", "pid", "registered_time", "reregistered_time", "estimated_drain_start_time",
		"total_resources", "allocated_resources", "offered_resources")
	e := operatorRecovered(n.in("agent_info"))
	e.Status, e.Recovered = status(n, registry.Admitted), false
	return e
}

// operatorRecovered reads an AgentInfo message of the operator API.
func operatorRecovered(n *node) Entry {
	a := agentInfo(n)
	return Entry{
		ID: a.ID, Status: registry.Status{State: registry.Admitted}, Agent: &a, Recovered: true,
		silent: silence{checkpoint: n.member("checkpoint") == nil},
	}
}

// agentInfo reads a SlaveInfo or AgentInfo message.
func agentInfo(n *node) registry.Agent {
	return registry.Agent{
		ID:         agentID(n),
		Hostname:   n.member("hostname").str(),
		Port:       n.member("port").port(defaultPort),
		Resources:  resources(n.member("resources")),
		Attributes: attributes(n.member("attributes")),
		Domain:     domain(n.in("domain")),
		Checkpoint: n.member("checkpoint").truth(),
	}
}

func agentID(n *node) registry.AgentID {
	return registry.AgentID(n.in("id").member("value").str())
}

func timestamp(n *node) time.Time {
	t := n.member("timestamp")
	if t == nil {
		n.fail("has no timestamp")
	}
	return t.time()
}

// status reads what was decided about an agent. A drain stands for
// deactivation too, whether or not the input says so.
func status(n *node, state registry.State) registry.Status {
	s := registry.Status{State: state, Deactivated: n.member("deactivated").truth()}
	d := n.in("drain_info")
	if d == nil {
		return s
	}
	s.Deactivated = true
	switch state := d.member("state").str(); state {
	case "DRAINING":
		s.Drain.State = registry.Draining
	case "DRAINED":
		s.Drain.State = registry.Drained
	default:
		d.fail("%q is not a state of a drain", cut(state))
	}
	config := d.in("config")
	s.Drain.MarkGone = config.member("mark_gone").truth()
	if grace := config.in("max_grace_period"); grace != nil {
		g := time.Duration(grace.member("nanoseconds").whole())
		s.Drain.MaxGrace = &g
	}
	return s
}

// stateAgent reads an element of slaves in a state.
func stateAgent(n *node) Entry {
	for _, field := range n.kids {
		if strings.HasPrefix(field.key, "TASK_") {
			field.swallow() // how many tasks are in this state
		}
	}
	n.pass("registered_time", "reregistered_time", "estimated_drain_start_time_seconds", "active", "framework_ids",
		"used_resources", "used_resources_full", "offered_resources", "offered_resources_full")
	a, said := stateInfo(n)
	return Entry{
		ID: a.ID, Status: status(n, registry.Admitted), Agent: &a,
		silent: silence{checkpoint: true, resources: !said, reservations: !hasFullResources(n)},
	}
}

// stateRecovered reads an element of recovered_slaves in a state.
func stateRecovered(n *node) Entry {
	e := stateAgent(n)
	e.Recovered = true
	return e
}

// stateInfo also reports whether anything was said about resources.
func stateInfo(n *node) (a registry.Agent, said bool) {
	pid := n.member("pid").str()
	a = registry.Agent{
		ID:         registry.AgentID(n.member("id").str()),
		Hostname:   n.member("hostname").str(),
		Port:       n.member("port").port(pidPort(pid)),
		Attributes: stateAttributes(n.member("attributes")),
		Domain:     domain(n.in("domain")),
	}
	a.Resources, said = stateResources(n)
	return a, said
}

// pidPort is the port in a process address such as "slave(1)@10.0.0.4:5051".
func pidPort(pid string) uint16 {
	_, port := pidAddress(pid)
	if port == 0 {
		return defaultPort
	}
	return port
}

// pidAddress is the address and port in a process address, as far as they are
// there.
func pidAddress(pid string) (ip string, port uint16) {
	_, address, _ := strings.Cut(pid, "@")
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0
	}
	p, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return host, 0
	}
	return host, uint16(p)
}
