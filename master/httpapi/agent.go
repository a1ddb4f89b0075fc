package httpapi

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// defaultPort is where a Mesos agent listens when nobody says otherwise.
const defaultPort = 5051

// How agents look in /state, and in /slaves, which has all that is known of their
// resources; and those that have not come back yet, in both.
var (
	agentsInState    = &kind[*master.Agent]{asInState, wholeAgent(appendAgent), sizeOfAgent, noteAgents, hasTheSame}
	agentsInSlaves   = &kind[*master.Agent]{asInSlaves, wholeAgent(appendFullAgent), sizeOfAgent, noteFullAgents, func(_, _ *master.Agent) bool { return false }}
	recoveredInState = &kind[*registry.Agent]{form: asInState, one: appendRecovered, size: func(a *registry.Agent) int { return len(a.Hostname) }}
)

// looks is how an agent looks to those who see so much of it.
type looks func([]byte, *master.Agent, View) []byte

func wholeAgent(one looks) func([]byte, *master.Agent) []byte {
	return func(b []byte, a *master.Agent) []byte { return one(b, a, View{}) }
}

func sizeOfAgent(a *master.Agent) int {
	const about = 512
	return about + len(a.Info.Hostname) + len(a.Address) + len(a.Version)
}

// noteAgents notes for whom something of an agent is set aside.
func noteAgents(agents []*master.Agent) *note {
	n := &note{}
	for _, a := range agents {
		for i := range a.Resources {
			if role := reservedFor(&a.Resources[i]); role != anyRole {
				n.of(role)
			}
		}
	}
	return n
}

// hasTheSame reports whether an agent has what another had.
func hasTheSame(old, now *master.Agent) bool {
	return len(old.Resources) == len(now.Resources) && (len(now.Resources) == 0 || &old.Resources[0] == &now.Resources[0])
}

// noteFullAgents notes who uses something of an agent, too, and all that is named.
func noteFullAgents(agents []*master.Agent) *note {
	n := noteAgents(agents)
	for _, a := range agents {
		for t := range a.Tasks() {
			n.of(roleOf(t))
			n.named(t.Resources)
		}
		for e := range a.Executors() {
			n.of(allocatedTo(e.Resources))
			n.named(e.Resources)
		}
		for i := range a.Resources {
			n.reserved(&a.Resources[i])
		}
	}
	return n
}

// named notes the roles that stand in resources that are shown in full.
func (n *note) named(list []wire.Resource) {
	for i := range list {
		if role := list[i].AllocationRole; role != "" {
			n.of(role)
		}
		n.reserved(&list[i].Resource)
	}
}

func (n *note) reserved(r *registry.Resource) {
	for _, one := range r.Reservations {
		n.of(one.Role)
	}
}

// agentsBody is the answer of /slaves: the agents of /state with all that is
// known of their resources.
func agentsBody(p *page, s *master.State, q *question) error {
	p.b = append(p.b, '{')
	if q.Has("slave_id") {
		oneAgent(p, s, q)
	} else {
		agentLists(p, s, q, agentsInSlaves, appendFullAgent)
	}
	p.b = append(p.b, '}')
	return nil
}

// agentLists are the agents that registered and those that did not yet come back.
func agentLists(p *page, s *master.State, q *question, k *kind[*master.Agent], one looks) {
	p.b = append(key(p.b, "slaves"), '[')
	addLeaves(p, s.AgentLeaves(), k, q.view, func(a *master.Agent, _ []byte) {
		p.add(part{bytes: one(nil, a, q.view)})
	})
	p.b = append(key(append(p.b, ']'), "recovered_slaves"), '[')
	addLeaves(p, s.RecoveredLeaves(), recoveredInState, q.view, nil)
	p.b = append(p.b, ']')
}

// oneAgent are the same lists with the agent that the question asks for.
func oneAgent(p *page, s *master.State, q *question) {
	id := registry.AgentID(q.Get("slave_id"))
	p.b = append(key(p.b, "slaves"), '[')
	if a, ok := s.Agent(id); ok {
		p.b = appendFullAgent(p.b, a, q.view)
	}
	p.b = append(key(append(p.b, ']'), "recovered_slaves"), '[')
	if a, ok := s.RecoveredAgent(id); ok {
		p.b = appendRecovered(p.b, a)
	}
	p.b = append(p.b, ']')
}

// appendAgent writes an agent as /state shows it.
func appendAgent(b []byte, a *master.Agent, view View) []byte {
	return append(agentMembers(append(b, '{'), a, view), '}')
}

// appendFullAgent writes an agent as /slaves shows it.
func appendFullAgent(b []byte, a *master.Agent, view View) []byte {
	b = agentMembers(append(b, '{'), a, view)
	return append(fullResources(b, a, view), '}')
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

func agentMembers(b []byte, a *master.Agent, view View) []byte {
	b = agentInfo(b, &a.Info)
	b = text(b, "pid", agentPID(a))
	b = seconds(b, "registered_time", a.Registered)
	b = optSeconds(b, "reregistered_time", a.Reregistered)
	b = agentResources(b, a, view)
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
	if len(list) == 0 {
		return b
	}
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

// agentResources are sums. Nothing is ever offered. What is set aside for roles that
// are not in the view is in the whole only.
func agentResources(b []byte, a *master.Agent, view View) []byte {
	var total, free totals
	var reserved map[string]*totals // nil as long as nothing is, as on most agents
	for i := range a.Resources {
		r := &a.Resources[i]
		total.add(r.Name, &r.Value)
		t := &free
		if role := reservedFor(r); role != anyRole {
			if !view.Sees(role) {
				continue
			}
			if t = reserved[role]; t == nil {
				t = &totals{}
				if reserved == nil {
					reserved = map[string]*totals{}
				}
				reserved[role] = t
			}
		}
		t.add(r.Name, &r.Value)
	}
	b = appendTotals(key(b, "resources"), &total)
	b = appendTotals(key(b, "used_resources"), usedOn(a))
	b = append(key(b, "offered_resources"), nothing...)
	b = append(key(b, "reserved_resources"), '{')
	for _, role := range slices.Sorted(maps.Keys(reserved)) {
		b = appendTotals(foreignKey(b, role), reserved[role])
	}
	b = append(b, '}')
	return appendTotals(key(b, "unreserved_resources"), &free)
}

// usedOn is what is used on an agent.
func usedOn(a *master.Agent) *totals {
	if u := a.Used(); u.Others == 0 {
		return totalsOf(&u)
	}
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
