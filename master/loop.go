package master

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/eaba02dc/registrar/master/leaves"
	"github.com/eaba02dc/registrar/master/link"
	"github.com/eaba02dc/registrar/master/metrics"
	"github.com/eaba02dc/registrar/registry"
)

// loop owns what the master knows, and is the only one that changes it. It takes
// what has happened in groups, publishes once for each group, and only then
// answers.
type loop struct {
	*Master
	ctx   context.Context
	stats Stats

	// The State in the making.
	version    uint64
	elected    time.Time
	edit       *leaves.Edit // since the last one
	agents     leaves.Map[*Agent]
	sums       sums // of agents
	recovered  leaves.Map[*registry.Agent]
	frameworks leaves.Map[*Framework]
	completed  []*Framework
	frozen     []Freeze
	pods       pods
	changed    bool // since the last one

	members   map[registry.AgentID]*member
	nextAgent uint64 // the number in the next ID
	machines  map[machine]registry.AgentID

	inbox  *link.Inbox   // of the notices that streams broke
	broken []link.Notice // of streams that broke
	ahead  int           // calls that go ahead of them
	// maxTurn is about how long a turn takes calls; one of them, of an agent that says
	// all that it has, may take as long again.
	maxTurn time.Duration

	self  *link.Process
	pulse *pulse // of the streams that stand

	wasFull     bool                // when the last new agent asked
	missed      bool                // an agent is not recovered any more
	working     map[string]*working // frameworks, ended or not
	ended       []*working          // the oldest first
	touched     []*working          // that changed since the last State
	unreachable map[registry.AgentID]map[lostTask]bool

	reasons  map[reason]*metrics.Counter
	shapes   shapes    // of the metrics of frameworks
	removing []*change // of admitted agents, in the order in which they were submitted
	waiting  waiting   // to be marked unreachable
	away     deadlines // agents that are to come back
	alarms   alarms
	// postponed are those for whom the registrar had no room.
	postponed []*member

	now    time.Time // of this turn
	timer  *time.Timer
	after  []func() // answers that wait for the State to be published
	notes  notes
	failed error
}

func newLoop(ctx context.Context, m *Master) (*loop, error) {
	l := &loop{Master: m, ctx: ctx, now: time.Now(), inbox: m.links.NewInbox(),
		members: map[registry.AgentID]*member{}, machines: map[machine]registry.AgentID{}, working: map[string]*working{},
		unreachable: map[registry.AgentID]map[lostTask]bool{}, maxTurn: 5 * time.Millisecond, edit: new(leaves.Edit), agents: leaves.New(compareAgents),
		recovered: leaves.New(compareRecovered), frameworks: leaves.New(compareFrameworks), pods: newPods()}
	l.self = m.links.Start("master", l.inbox)
	l.elected, l.changed = l.now, true
	l.pulse = newPulse(m.o)
	l.away.delay = m.o.AgentReregisterTimeout
	l.waiting = newWaiting(m.o)
	l.alarms = newAlarms(m.o, l.Master.now())
	l.timer = time.NewTimer(0)
	return l, l.takeOver()
}

// takeOver recovers the agents that the registry has admitted.
func (l *loop) takeOver() error {
	for e := range l.registrar.Snapshot().Entries(registry.Admitted) {
		agent, err := e.Agent()
		if err != nil {
			return fmt.Errorf("recover agent %q: %w", string(e.ID()), err)
		}
		l.recovered.Set(l.edit, &agent)
		m := l.member(agent.ID)
		l.isOn(m, machineOf(&agent))
		l.waiting.budget.joins(m, agent.Domain)
	}
	l.alarms.recoveredAtFirst = l.recovered.Len()
	l.recoverPods()
	return nil
}

func (l *loop) run() {
	defer l.end()
	for {
		select {
		case <-l.ctx.Done():
			return
		case f := <-l.calls:
			l.turn(f)
		case <-l.outcomes.ready:
			l.turn(nil)
		case <-l.inbox.Ready():
			l.turn(nil)
		case <-l.timer.C:
			l.turn(nil)
		}
		if l.failed != nil {
			return
		}
	}
}

// end ends what the master began, and says why if that is not Close.
func (l *loop) end() {
	if l.failed != nil && l.ctx.Err() == nil {
		l.Master.err = l.failed
		l.log.Error("master has failed", "err", l.failed)
	}
	l.stop()
	<-l.awaited
	<-l.pulse.done
	l.timer.Stop()
	for _, m := range l.members {
		if m.stream != nil {
			m.stream.end(nil)
		}
	}
	close(l.Master.done)
}

// turn takes all that has happened, publishes, and answers.
func (l *loop) turn(first func(*loop)) {
	defer func() {
		if cause := recover(); cause != nil {
			l.fail(fmt.Errorf("master panicked: %v\n%s", cause, debug.Stack()))
		}
	}()
	l.now = time.Now()
	if len(l.broken) == 0 {
		l.notices()
	}
	if first != nil {
		first(l)
	}
	l.answerCalls()
	for _, o := range l.outcomes.take() {
		l.conclude(o.change, o.err)
	}
	l.disconnectBroken()
	l.tick()
	l.publish()
	if l.failed != nil {
		return
	}
	for _, tell := range l.after {
		tell()
	}
	clear(l.after)
	l.after = l.after[:0]
}

// answerCalls does what outsiders asked for until now, but not for so long that
// those whose turn it was would wait for their answers.
func (l *loop) answerCalls() {
	for range len(l.calls) {
		(<-l.calls)(l)
		l.ahead = max(l.ahead-1, 0)
		if time.Since(l.now) > l.maxTurn {
			return
		}
	}
}

// notices takes the notices that there are. What came up a stream before it broke is
// among the calls that wait now, and goes ahead of them.
func (l *loop) notices() {
	l.broken, l.ahead = l.broken[:0], 0
	for n, ok := l.inbox.Next(); ok; n, ok = l.inbox.Next() {
		l.broken, l.ahead = append(l.broken, n), len(l.calls)
	}
}

// disconnectBroken takes in that streams broke once nothing is ahead of it.
func (l *loop) disconnectBroken() {
	for l.ahead == 0 && len(l.broken) > 0 {
		for _, n := range l.broken {
			l.disconnect(n)
		}
		l.notices()
	}
}

// tell has something said once what happened in this turn can be seen.
func (l *loop) tell(f func()) { l.after = append(l.after, f) }

// fail ends the master: nothing is published or answered any more.
func (l *loop) fail(err error) {
	if l.failed == nil {
		l.failed = err
	}
	l.after = nil
}

// publish makes what changed visible.
func (l *loop) publish() {
	durable := l.registrar.Snapshot()
	l.catchUp(durable)
	if l.failed != nil {
		return
	}
	l.Master.mu.Lock()
	l.Master.stats = l.stats
	l.Master.mu.Unlock()
	l.settlePods()
	if !l.changed {
		return
	}
	l.endEmpty()
	l.changed = false
	l.publishFrameworks()
	l.version++
	l.cur.Store(&State{Version: l.version, Master: l.o.MasterInfo, Started: l.started, Elected: l.elected,
		Registry: durable, Frozen: slices.Clone(l.frozen),
		agents: l.agents, recovered: l.recovered, frameworks: l.frameworks, completed: l.completed,
		sums: l.sums, pods: l.pods.shown, PodsVersion: l.pods.version})
	l.edit = new(leaves.Edit)
}

func (l *loop) publishFrameworks() {
	if len(l.touched) == 0 {
		return
	}
	for _, w := range l.touched {
		switch public := w.publish(); {
		case l.working[w.info.ID] != w: // it was forgotten
			continue
		case w.unregistered.IsZero():
			l.frameworks.Set(l.edit, public)
		default:
			l.frameworks.Delete(l.edit, public)
		}
		l.showMetrics(w)
	}
	clear(l.touched)
	l.touched = l.touched[:0]
	l.completed = make([]*Framework, len(l.ended))
	for i, w := range l.ended {
		l.completed[i] = w.public
	}
}

// find finds an agent that has registered.
func (l *loop) find(id registry.AgentID) (*Agent, bool) {
	m := l.members[id]
	if m == nil || m.agent == nil {
		return nil, false
	}
	return m.agent, true
}

// agent is a copy of one, to be changed and put back.
func (l *loop) agent(id registry.AgentID) (*Agent, bool) {
	a, ok := l.find(id)
	if !ok {
		return nil, false
	}
	c := *a
	return &c, true
}

func (l *loop) put(m *member, a *Agent) {
	m.agent = a
	if old, was := l.agents.Set(l.edit, a); was {
		l.sums.add(old, -1)
	}
	l.sums.add(a, 1)
	l.changed = true
}

func (l *loop) isRecovered(id registry.AgentID) bool {
	_, is := l.recovered.Get(&registry.Agent{ID: id})
	return is
}

// isBack takes an agent out of the recovered ones, if it is there.
func (l *loop) isBack(id registry.AgentID) bool {
	_, was := l.recovered.Delete(l.edit, &registry.Agent{ID: id})
	l.missed = l.missed || was
	return was
}
