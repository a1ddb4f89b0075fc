package master

import (
	"errors"
	"fmt"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/link"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// machine is what a new agent is known by before it knows its ID. The port tells
// agents of one host apart; for those that have none, only the incarnation does,
// which is why it is to be random and the agent's own. That a port is not asked
// for has this reason: an agent whose answers are lost would be a new member with
// each attempt.
type machine struct {
	hostname    string
	port        uint16
	incarnation string
}

// identify finds the ID of an agent: the one that it had, or would like; that of
// the same machine in the same incarnation, which did not learn that it was
// admitted; or a new one. An agent without an incarnation is new each time.
func (l *loop) identify(call *wire.Subscribe) registry.AgentID {
	if call.AgentID != "" {
		return call.AgentID
	}
	if call.Agent.ID != "" {
		return call.Agent.ID
	}
	if id, ok := l.machines[machineOf(&call.Agent)]; ok {
		return id
	}
	for {
		id := registry.AgentID(fmt.Sprintf("%s-S%d", l.o.MasterInfo.ID, l.nextAgent))
		l.nextAgent++
		if _, known := l.registrar.Snapshot().Entry(id); !known && l.members[id] == nil {
			return id
		}
	}
}

// isOn writes down by which machine an agent is found; the zero value is none.
func (l *loop) isOn(m *member, on machine) {
	if l.machines[m.machine] == m.id {
		delete(l.machines, m.machine)
	}
	if m.machine = on; on != (machine{}) {
		l.machines[on] = m.id
	}
}

func machineOf(a *registry.Agent) machine {
	if a.Incarnation == "" {
		return machine{}
	}
	return machine{a.Hostname, a.Port, a.Incarnation}
}

// subscribe lets an agent in: a new one is admitted, one that comes back is
// readmitted, which writes nothing if the registry has it as it is. What is
// cheap to refuse comes first: after a failover all agents come at once, and
// some of them twice.
func (l *loop) subscribe(s *Stream, call *wire.Subscribe, answer func(error)) {
	id := l.identify(call)
	refused := l.letIn(id, s, call, answer)
	if refused == nil {
		return
	}
	if errors.Is(refused, ErrNotNow) {
		l.stats.Postponed++
	} else {
		l.stats.Refused++
	}
	if m := l.members[id]; m != nil && m.doing == nothing && !l.present(id) {
		l.isOn(m, machine{})
		delete(l.members, id)
	}
	answer(refused)
}

func (l *loop) letIn(id registry.AgentID, s *Stream, call *wire.Subscribe, answer func(error)) error {
	m := l.member(id)
	if m.doing != nothing {
		return notNow("the agent is " + string(m.doing))
	}
	e, known := l.registrar.Snapshot().Entry(id)
	if known && e.State() == registry.Gone {
		return &GoneError{id}
	}
	var ( // what another incarnation takes the place of
		holder     *registry.Agent
		supersedes string
	)
	if known && e.Incarnation() != call.Agent.Incarnation {
		holder, supersedes = l.holder(e), e.Incarnation()
		if err := l.mayTake(m, holder, call); err != nil {
			return err
		}
	}
	if !known && l.full() {
		return fmt.Errorf("%w: it may have %d agents", ErrFull, l.o.MaxAgents)
	}
	agent := call.Agent
	agent.ID = id
	in := joining{member: m, stream: s, call: call, agent: agent, answer: answer, back: known || call.AgentID != "", holder: holder}
	if in.back {
		return l.submit(m, reregistering, ops.Readmit{Agent: agent, Supersedes: supersedes}, By{}, func(refusal error) { l.join(&in, refusal) })
	}
	l.isOn(m, machineOf(&agent))
	return l.submit(m, registering, ops.Admit{Agent: agent}, By{}, func(refusal error) { l.join(&in, refusal) })
}

// full says that there is no room for the agent that is about to be admitted,
// which is among the members already, as others are for which something is under
// way. The first that is refused is logged.
func (l *loop) full() bool {
	full := len(l.members) > l.o.MaxAgents
	if full && !l.wasFull {
		l.log.Error("new agents are refused: the cluster is full", "agents", len(l.members)-1, "max", l.o.MaxAgents)
	}
	l.wasFull = full
	return full
}

// mayTake decides between two machines that claim one ID. While the holder is
// connected, another must name its incarnation as superseded. Once that
// connection is down, and so after a failover too, the holder is superseded by
// whoever comes: it may be the same machine, booted anew without its state file.
func (l *loop) mayTake(m *member, holder *registry.Agent, call *wire.Subscribe) error {
	if m.stream == nil || m.stream.closed.Load() || call.Supersedes == holder.Incarnation {
		return nil
	}
	asks := &call.Agent
	return &ops.Error{Op: "subscribe", Agent: m.id, Err: &ops.IncarnationError{
		Admitted: ops.Claimant{Hostname: holder.Hostname, Port: holder.Port, Incarnation: holder.Incarnation},
		Claims:   ops.Claimant{Hostname: asks.Hostname, Port: asks.Port, Incarnation: asks.Incarnation}}}
}

// holder is what is known of the machine that has an ID.
func (l *loop) holder(e registry.Entry) *registry.Agent {
	if a, ok := l.find(e.ID()); ok {
		return &a.Info
	}
	if a, ok := l.recovered.Get(&registry.Agent{ID: e.ID()}); ok {
		return a
	}
	a, _ := e.Agent() // of one that was imported, nothing may be known
	return &a
}

// noteTaken tells an operator that another host took over an ID: they may be
// copies of one machine.
func (l *loop) noteTaken(in *joining) {
	h := in.holder
	if h == nil || h.Hostname == "" || h.Hostname == in.agent.Hostname {
		return
	}
	l.note(superseded, in.member.id, "hostname", in.agent.Hostname, "port", in.agent.Port,
		"superseded_hostname", h.Hostname, "superseded_port", h.Port)
}

// joining is an agent on its way in.
type joining struct {
	member *member
	stream *Stream
	call   *wire.Subscribe
	agent  registry.Agent
	answer func(error)
	back   bool            // it says that it was a member, or the registry does
	holder *registry.Agent // whose ID it takes in another incarnation, or nil
}

// join takes an agent in that is durably a member, or tells it why it is not.
func (l *loop) join(in *joining, refusal error) {
	m, s := in.member, in.stream
	if refusal != nil {
		l.stats.Refused++
		if !l.present(m.id) {
			l.isOn(m, machine{})
		}
		l.settle(m)
		if errors.Is(refusal, ops.ErrGone) {
			refusal = &GoneError{m.id}
		}
		in.answer(refusal)
		return
	}
	l.back(m)
	l.noteTaken(in)
	a := l.arrive(in)
	l.attach(m, s)
	l.report(m, a, in.call)
	l.put(m, a)
	l.tell(func() {
		s.push(&wire.Subscribed{AgentID: m.id, MasterID: l.o.MasterInfo.ID, Heartbeat: l.o.PingTimeout,
			MissesAllowed: uint32(l.o.MaxPingTimeouts)})
		s.acknowledge(in.call.Sequence)
		if drain := a.Status.Drain; drain.State == registry.Draining {
			s.push(&wire.Drain{MaxGrace: drain.MaxGrace, MarkGone: drain.MarkGone})
		}
	})
	in.answer(nil)
	l.settle(m)
}

// arrive is the agent as it is now that it is there, and counts how it came.
func (l *loop) arrive(in *joining) *Agent {
	m, id := in.member, in.member.id
	a, here := l.agent(id)
	l.isBack(id)
	switch {
	case here:
		a.Reregistered = l.now
		l.stats.Reconnections++
	case in.back:
		a = newAgent(l.now)
		a.Reregistered = l.now
		l.stats.Reregistrations++
	default:
		a = newAgent(l.now)
		l.stats.Registrations++
	}
	e, _ := l.registrar.Snapshot().Entry(id)
	a.Info, a.Status = in.agent, e.Status()
	a.has(in.agent.Resources)
	a.Version, a.Capabilities = in.call.Version, in.call.Capabilities
	a.Address, a.Connected = in.stream.address, true
	l.noteDrain(a)
	l.isOn(m, machineOf(&a.Info))
	l.waiting.budget.joins(m, a.Info.Domain)
	return a
}

// attach makes a stream the one that stands, in place of an older one.
func (l *loop) attach(m *member, s *Stream) {
	if old := m.stream; old != nil {
		l.detach(m)
		l.tell(func() { old.end(&wire.Error{Message: ErrSuperseded.Error()}) })
	}
	l.away.remove(m)
	m.stream, s.id = s, m.id
	s.generation.Store(l.links.Connect(string(m.id)))
	l.self.LinkAt(string(m.id), string(m.id))
	if s.closed.Load() { // before it knew its generation
		s.broke(link.Lost)
	}
	s.live() // until now it could not say anything
	l.pulse.add(s, l.Master.now())
	l.stats.ConnectedAgents++
}

// detach parts an agent from its stream.
func (l *loop) detach(m *member) {
	l.pulse.remove(m.stream)
	m.stream = nil
	l.stats.ConnectedAgents--
}

// noteDrain writes down when this master learned that an agent drains.
func (l *loop) noteDrain(a *Agent) {
	switch {
	case a.Status.Drain.State == 0:
		a.DrainStarted = time.Time{}
	case a.DrainStarted.IsZero():
		a.DrainStarted = l.now
	}
}
