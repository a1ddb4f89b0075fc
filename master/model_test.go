package master

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// machineModel is one machine of the model: what its agent knows of itself.
type machineModel struct {
	host    string
	id      registry.AgentID // that it was told
	stream  *agent           // that it thinks stands
	old     []*agent         // that it has not closed yet
	tasks   map[string]wire.TaskState
	joining bool // a subscription is under way
	gone    bool // an operator was told so
	left    bool // it sent UNREGISTER
}

// model drives a cluster at random, and holds what was acknowledged against what
// can be seen.
type model struct {
	*cluster
	r        *rand.Rand
	machines []*machineModel
	release  func(error)
	results  chan func() // what calls that were under way came to
	steps    []string
	tasks    int
}

// TestWhateverHappensWhatWasAcknowledgedIsSeen lets agents register, break, come
// back, fall silent and be forgotten, operators interfere, the disk be slow and
// fail, and masters follow each other, in any order.
func TestWhateverHappensWhatWasAcknowledgedIsSeen(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			o := Options{RemovalBudget: Budget{Share: 1}}
			if seed%2 == 1 { // agents that are lost or gone are forgotten soon
				o.RegistryGCInterval, o.RegistryMaxAgentAge = 2*time.Minute, time.Minute
			}
			inCluster(t, o, func(c *cluster) {
				m := &model{cluster: c, r: rand.New(rand.NewPCG(seed, 1)), results: make(chan func(), 1000)}
				for i := range 5 {
					m.machines = append(m.machines, &machineModel{host: fmt.Sprint("host-", i), tasks: map[string]wire.TaskState{}})
				}
				for range 80 {
					m.step()
					if c.Failed() {
						c.Fatalf("after\n%s", strings.Join(m.steps, "\n"))
					}
				}
				m.end()
			})
		})
	}
}

func (m *model) say(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *model) step() {
	v := m.machines[m.r.IntN(len(m.machines))]
	switch n := m.r.IntN(100); {
	case n < 25:
		m.subscribe(v)
	case n < 32:
		m.breaks(v)
	case n < 36:
		m.closesLate(v)
	case n < 55:
		m.update(v)
	case n < 58:
		m.unregister(v)
	case n < 60 && v.stream != nil:
		m.say("%s falls silent", v.host)
		v.stream.fallSilent()
		v.stream.silent = make(chan struct{})
	case n < 75:
		m.operator(v)
	case n < 80:
		m.holdDisk()
	case n < 88:
		m.releaseDisk(nil)
	case n < 90:
		m.say("failover")
		m.releaseDisk(nil)
		m.nextMaster()
	case n < 91 && m.release != nil:
		m.say("the disk fails, failover")
		m.releaseDisk(errors.New("the disk is on fire"))
		m.settle()
		m.nextMaster()
	default:
		d := []time.Duration{time.Second, 20 * time.Second, 2 * time.Minute, 10 * time.Minute}[m.r.IntN(4)]
		m.say("%v pass", d)
		m.pass(d)
	}
	m.settle()
	m.takeResults()
	m.see()
}

// later runs a call that may be held up. What it comes to is taken by the test's
// own goroutine.
func (m *model) later(call func() func()) {
	go func() { m.results <- call() }()
	m.settle()
}

func (m *model) takeResults() {
	for {
		select {
		case result := <-m.results:
			result()
		default:
			return
		}
	}
}

func (m *model) subscribe(v *machineModel) {
	if v.joining || v.gone {
		return
	}
	v.joining = true
	call := newcomer(v.host)
	call.Agent.Incarnation = "boot-" + v.host
	call.AgentID = v.id
	for id, s := range v.tasks {
		call.Tasks = append(call.Tasks, task("f-"+id[:1], id, s))
	}
	m.say("%s subscribes as %q with %d tasks", v.host, v.id, len(call.Tasks))
	v.left = false
	m.later(func() func() {
		a, err := m.cluster.subscribe(call)
		return func() { m.joined(v, a, err, len(call.Tasks)) }
	})
}

func (m *model) joined(v *machineModel, a *agent, err error, tasks int) {
	v.joining = false
	m.say("%s: %v", v.host, err)
	if gone := new(GoneError); errors.As(err, &gone) {
		v.gone = true
	}
	if err != nil {
		return
	}
	if v.stream != nil {
		v.old = append(v.old, v.stream)
	}
	a.live()
	v.stream, v.id = a, a.AgentID()
}

func (m *model) breaks(v *machineModel) {
	if v.stream != nil {
		m.say("%s breaks", v.host)
		v.stream.Close()
		v.stream = nil
	}
}

func (m *model) closesLate(v *machineModel) {
	if len(v.old) > 0 {
		m.say("%s closes an old stream", v.host)
		v.old[0].Close()
		v.old = v.old[1:]
	}
}

func (m *model) update(v *machineModel) {
	if v.stream == nil || v.joining {
		return
	}
	v.stream.last++
	u := &wire.Update{Sequence: v.stream.last}
	if ids := slices.Sorted(maps.Keys(v.tasks)); len(ids) > 0 && m.r.IntN(2) == 0 {
		id := ids[m.r.IntN(len(ids))]
		if m.r.IntN(3) == 0 {
			u.RemovedTasks = []wire.TaskRef{{FrameworkID: "f-" + id[:1], ID: id}}
		} else {
			u.Tasks = []wire.Task{task("f-"+id[:1], id, wire.TaskFinished)}
		}
		m.say("%s ends %s", v.host, id)
		delete(v.tasks, id)
	} else {
		m.tasks++
		id := fmt.Sprintf("%c%d", 'a'+rune(m.r.IntN(3)), m.tasks)
		v.tasks[id] = wire.TaskRunning
		u.Tasks = []wire.Task{task("f-"+id[:1], id, wire.TaskRunning)}
		m.say("%s begins %s", v.host, id)
	}
	if err := v.stream.Receive(u); err != nil {
		m.Errorf("update: %v", err)
	}
}

func (m *model) unregister(v *machineModel) {
	if v.stream == nil || v.joining {
		return
	}
	m.say("%s unregisters", v.host)
	v.stream.last++
	v.left = true
	if err := v.stream.Receive(&wire.Unregister{Sequence: v.stream.last}); err != nil {
		m.Errorf("unregister: %v", err)
	}
}

func (m *model) operator(v *machineModel) {
	id := v.id
	if id == "" {
		return
	}
	ctx := m.Context()
	calls := []struct {
		name string
		call func() error
	}{
		{"mark gone", func() error { return m.MarkGone(ctx, id, By{}) }},
		{"remove", func() error { return m.Remove(ctx, id, By{}) }},
		{"drain", func() error { return m.Drain(ctx, id, DrainConfig{MarkGone: m.tasks%7 == 0}, By{}) }},
		{"deactivate", func() error { return m.Deactivate(ctx, id, By{}) }},
		{"reactivate", func() error { return m.Reactivate(ctx, id, By{}) }},
	}
	n := m.r.IntN(len(calls) + 3)
	if n >= len(calls) {
		n = 2 + n%3 // the milder ones more often
	}
	if v.stream == nil && m.o.RegistryGCInterval > 0 && m.r.IntN(2) == 0 {
		n = m.r.IntN(len(calls))
		m.holdDisk()
		m.pass(m.o.RegistryGCInterval) // it may be about to be forgotten
	}
	o := calls[n]
	m.say("operator: %s %s", o.name, v.host)
	m.later(func() func() {
		err := o.call()
		return func() {
			m.say("operator: %s %s: %v", o.name, v.host, err)
			if refused := new(ops.Error); err != nil && !errors.As(err, &refused) && !errors.Is(err, ErrNotNow) && !errors.Is(err, ErrEnded) {
				m.Errorf("%s: %v is none of the errors that were promised", o.name, err)
			}
			if err == nil && o.name == "mark gone" && v.id == id {
				v.gone = true
			}
		}
	})
}

func (m *model) holdDisk() {
	if m.release == nil {
		m.say("the disk is slow")
		m.release = m.gate.hold()
	}
}

func (m *model) releaseDisk(err error) {
	if m.release != nil {
		m.say("the disk goes on, %v", err)
		m.release(err)
		m.release = nil
	}
}

func (m *model) nextMaster() {
	m.settle()
	m.takeResults()
	m.failover()
	m.settle()
	m.takeResults()
	for _, v := range m.machines {
		v.stream, v.old = nil, nil
	}
}

// see holds what was acknowledged against what can be seen.
func (m *model) see() {
	if err := m.Err(); err != nil {
		m.Errorf("the master has failed: %v", err)
	}
	m.check()
	s := m.State()
	for _, v := range m.machines {
		if v.gone && v.id != "" {
			e, known := s.Registry.Entry(v.id)
			if forgets := m.o.RegistryMaxAgentAge > 0; known && e.State() != registry.Gone || !known && !forgets {
				m.Errorf("%s was marked gone, and is %v", v.host, e)
			}
		}
		if v.stream == nil || v.stream.hasEnded() {
			continue
		}
		a, ok := s.Agent(v.id)
		if !ok || !a.Connected {
			m.Errorf("%s has a stream, and is no connected member", v.host)
			continue
		}
		if v.joining { // a full report of other tasks may be under way
			continue
		}
		var has []string
		for t := range a.Tasks() {
			has = append(has, t.ID)
		}
		if want := slices.Sorted(maps.Keys(v.tasks)); !slices.Equal(has, want) {
			m.Errorf("%s has %q, and is seen with %q", v.host, want, has)
		}
	}
}

// end lets everything come to rest: who is away then is no member.
func (m *model) end() {
	m.releaseDisk(nil)
	m.settle()
	m.takeResults()
	m.pass(11 * time.Minute)
	m.pass(2 * time.Minute)
	m.see()
	for a := range m.State().Agents() {
		if !a.Connected {
			m.Errorf("agent %q is away, and a member", a.Info.ID)
		}
	}
	if n := m.State().RecoveredLen(); n != 0 {
		m.Errorf("%d agents are recovered still", n)
	}
	s := m.Stats()
	if s.UnreachableScheduled != s.UnreachableCompleted+s.UnreachableCanceled+uint64(s.UnreachableWaiting) {
		m.Errorf("counted %+v", s)
	}
	if m.Failed() {
		m.Fatalf("at the end of\n%s", strings.Join(m.steps, "\n"))
	}
	m.Close()
	l := m.loop
	for id, v := range l.members {
		if v.doing != nothing || !l.present(id) {
			m.Errorf("%q is left %s", id, v.doing)
		}
	}
	if n := len(l.members); n != l.agents.Len()+l.recovered.Len() || l.waiting.budget.all.members != n {
		m.Errorf("%d members, %d in the budget", n, l.waiting.budget.all.members)
	}
}
