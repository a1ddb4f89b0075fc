package httpapi

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// defaultPort is where a Mesos agent listens when nobody says otherwise.
const defaultPort = 5051

// agentsBody is the answer of /slaves: the agents of /state with all that is
// known of their resources.
func agentsBody(b []byte, s *master.State, query url.Values) ([]byte, error) {
	b = agentLists(append(b, '{'), s, query, appendFullAgent)
	return append(b, '}'), nil
}

// agentLists are the agents that registered and those that did not yet come
// back, all or the one that the query asks for.
func agentLists(b []byte, s *master.State, query url.Values, one func([]byte, *master.Agent) []byte) []byte {
	b = append(key(b, "slaves"), '[')
	for a := range s.Agents() {
		if asksFor(query, "slave_id", string(a.Info.ID)) {
			b = one(next(b), a)
		}
	}
	b = append(key(append(b, ']'), "recovered_slaves"), '[')
	for a := range s.Recovered() {
		if asksFor(query, "slave_id", string(a.ID)) {
			b = appendRecovered(next(b), a)
		}
	}
	return append(b, ']')
}

// asksFor reports whether a query that may name one thing means this one.
func asksFor(query url.Values, name, id string) bool {
	return !query.Has(name) || query.Get(name) == id
}

// appendAgent writes an agent as /state shows it.
func appendAgent(b []byte, a *master.Agent) []byte {
	return append(agentMembers(append(b, '{'), a), '}')
}

// appendFullAgent writes an agent as /slaves shows it.
func appendFullAgent(b []byte, a *master.Agent) []byte {
	b = agentMembers(append(b, '{'), a)
	return append(fullResources(b, a), '}')
}

// appendRecovered writes an agent that has not come back yet.
func appendRecovered(b []byte, a *registry.Agent) []byte {
	return append(agentInfo(append(b, '{'), a), '}')
}

func agentInfo(b []byte, a *registry.Agent) []byte {
	b = text(b, "id", a.ID)
	b = text(b, "hostname", a.Hostname)
	b = integer(b, "port", int64(agentPort(a)))
	b = append(key(b, "attributes"), '{')
	b = append(attributes(b, a.Attributes), '}')
	return domain(b, a.Domain)
}

func agentPort(a *registry.Agent) uint16 { return cmp.Or(a.Port, defaultPort) }

func agentMembers(b []byte, a *master.Agent) []byte {
	b = agentInfo(b, &a.Info)
	b = text(b, "pid", agentPID(a))
	b = seconds(b, "registered_time", a.Registered)
	b = optSeconds(b, "reregistered_time", a.Reregistered)
	b = agentResources(b, a)
	b = boolean(b, "active", a.Active())
	b = boolean(b, "deactivated", a.Status.Deactivated)
	b = text(b, "version", a.Version)
	b = texts(b, "capabilities", a.Capabilities)
	return drain(b, a)
}

// agentPID is where clients find the agent: the host from which it connected,
// which they cannot guess, and the port that it says it listens on.
func agentPID(a *master.Agent) string {
	host, _, err := net.SplitHostPort(a.Address)
	if err != nil {
		host = cmp.Or(a.Address, a.Info.Hostname)
	}
	return "slave(1)@" + net.JoinHostPort(host, strconv.Itoa(int(agentPort(&a.Info))))
}

// attributes writes each name once, with the last value that it has. Mesos
// writes it as often as it stands there; strict readers refuse such an object,
// others take the last.
func attributes(b []byte, list []registry.Attribute) []byte {
	last := make(map[string]int, len(list))
	for i := range list {
		last[list[i].Name] = i
	}
	for i := range list {
		if last[list[i].Name] == i {
			b = appendValue(foreignKey(b, list[i].Name), &list[i].Value)
		}
	}
	return b
}

// agentResources are sums. Nothing is ever offered.
func agentResources(b []byte, a *master.Agent) []byte {
	var total, free totals
	reserved := map[string]*totals{}
	for i := range a.Resources {
		r := &a.Resources[i]
		total.add(r.Name, &r.Value)
		t := &free
		if role := reservedFor(r); role != anyRole {
			if t = reserved[role]; t == nil {
				t = &totals{}
				reserved[role] = t
			}
		}
		t.add(r.Name, &r.Value)
	}
	b = appendTotals(key(b, "resources"), &total)
	b = appendTotals(key(b, "used_resources"), usedOn(a))
	b = appendTotals(key(b, "offered_resources"), &totals{})
	b = append(key(b, "reserved_resources"), '{')
	for _, role := range slices.Sorted(maps.Keys(reserved)) {
		b = appendTotals(foreignKey(b, role), reserved[role])
	}
	b = append(b, '}')
	return appendTotals(key(b, "unreserved_resources"), &free)
}

// usedOn is what is used on an agent.
func usedOn(a *master.Agent) *totals {
	var t totals
	for task := range a.Tasks() {
		t.task(task)
	}
	for e := range a.Executors() {
		t.use(a.Info.ID, e.Resources)
	}
	return &t
}

// drain is how far a drain has come, if one was ordered.
func drain(b []byte, a *master.Agent) []byte {
	d := &a.Status.Drain
	if d.State == 0 {
		return b
	}
	b = append(key(b, "drain_info"), '{')
	b = text(b, "state", d.State.String())
	b = append(key(b, "config"), '{')
	if d.MaxGrace != nil {
		b = append(key(b, "max_grace_period"), `{"nanoseconds":`...)
		b = append(jsonout.Int(b, int64(*d.MaxGrace)), '}')
	}
	b = boolean(b, "mark_gone", d.MarkGone)
	b = append(b, "}}"...)
	return optSeconds(b, "estimated_drain_start_time_seconds", a.DrainStarted)
}
