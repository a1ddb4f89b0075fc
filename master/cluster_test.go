package master

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// gate is a store whose disk the test holds in its hand.
type gate struct {
	store.Store

	mu   sync.Mutex
	held chan struct{} // while not nil, records wait for it to be closed
	fail error         // what durable answers
	full error         // what it has no room for is refused with
}

func (g *gate) Room() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full
}

func (g *gate) Condition() store.Condition { return store.Condition{Full: g.Room()} }

// fills makes the disk full, or with nil makes room.
func (g *gate) fills(full error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.full = full
}

func (g *gate) Append(r store.Record) (func() error, error) {
	r.Data = slices.Clone(r.Data)
	return func() error {
		g.mu.Lock()
		held := g.held
		g.mu.Unlock()
		if held != nil {
			<-held
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.fail != nil {
			return g.fail
		}
		wait, err := g.Store.Append(r)
		if err != nil {
			return err
		}
		return wait()
	}, nil
}

// hold makes records wait until release, which lets them end with err.
func (g *gate) hold() (release func(err error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := make(chan struct{})
	g.held = held
	return func(err error) {
		g.mu.Lock()
		if g.held == held { // else somebody holds those that come after
			g.held = nil
		}
		g.fail = err
		g.mu.Unlock()
		close(held)
	}
}

// cluster is a master on a store in memory, in a bubble of package synctest.
type cluster struct {
	*testing.T
	*Master
	registrar *registrar.Registrar
	memory    *store.Memory
	gate      *gate
	o         Options
	queue     int   // of the registrar; 0 is its default
	batch     int   // likewise
	loop      *loop // to be looked at when the master has ended
}

// inCluster runs a test with a master whose time is the test's.
func inCluster(t *testing.T, o Options, test func(*cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{T: t, memory: store.NewMemory(), o: o}
		c.start()
		defer c.crash()
		test(c)
		c.check()
	})
}

func (c *cluster) start() {
	c.Helper()
	c.gate = &gate{Store: c.memory}
	const never = 1 << 62 // a test may hold the disk for as long as it likes
	r, err := registrar.Open(c.Context(), c.gate, registrar.Options{Logger: quiet, MaxQueue: c.queue, MaxBatch: c.batch, HungAfter: never})
	if err != nil {
		c.Fatal(err)
	}
	o := c.o
	o.Logger = cmp.Or(o.Logger, quiet)
	o.MasterInfo.Hostname = "master-1"
	m, l, err := start(c.Context(), r, o)
	if err != nil {
		c.Fatal(err)
	}
	c.Master, c.registrar, c.loop = m, r, l
}

func (c *cluster) crash() {
	c.Master.Close()
	c.registrar.Close()
	c.memory = c.memory.Reopen()
}

// failover is the end of a master and the begin of the next, on the same store.
func (c *cluster) failover() {
	c.Helper()
	c.crash()
	c.start()
}

// settle lets everything happen that needs no time.
func (c *cluster) settle() { synctest.Wait() }

// pass lets time pass, and everything happen that is due.
func (c *cluster) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// agent is a stream, read by the test. beats makes it live.
type agent struct {
	*Stream
	c      *cluster
	id     registry.AgentID
	last   uint64
	silent chan struct{}
}

func info(host string) registry.Agent {
	return registry.Agent{Hostname: host, Port: 5051, Resources: []registry.Resource{{Name: "cpus", Value: registry.Scalar(4)}}}
}

func newcomer(host string) *wire.Subscribe {
	return &wire.Subscribe{Sequence: 1, Agent: info(host), Version: "1.12.0", Capabilities: []string{drainCapability}}
}

func comesBack(id registry.AgentID, host string) *wire.Subscribe {
	call := newcomer(host)
	call.AgentID = id
	return call
}

func (c *cluster) subscribe(call *wire.Subscribe) (*agent, error) {
	s, err := c.Subscribe(c.Context(), call, "10.0.0.1:4711", func() {})
	if err != nil {
		return nil, err
	}
	return &agent{Stream: s, c: c, id: s.AgentID(), last: call.Sequence}, nil
}

// join is a subscription that succeeds, of an agent that stays alive by itself.
func (c *cluster) join(call *wire.Subscribe) *agent {
	c.Helper()
	a, err := c.subscribe(call)
	if err != nil {
		c.Fatal(err)
	}
	a.live()
	a.wants("SUBSCRIBED "+string(a.id), fmt.Sprint("ACK ", call.Sequence))
	return a
}

// live sends heartbeats until the stream ends or the agent falls silent.
func (a *agent) live() {
	silent := make(chan struct{})
	a.silent = silent
	go func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.Receive(&wire.Heartbeat{})
			case <-a.Ended():
				return
			case <-silent:
				return
			}
		}
	}()
}

func (a *agent) fallSilent() { close(a.silent) }

func (a *agent) breaks() {
	a.Close()
	a.c.settle()
}

// update sends an UPDATE and wants its ACK.
func (a *agent) update(u wire.Update) {
	a.c.Helper()
	a.last++
	u.Sequence = a.last
	if err := a.Receive(&u); err != nil {
		a.c.Fatal(err)
	}
	a.c.settle()
	a.wants(fmt.Sprint("ACK ", a.last))
}

// hears takes the events that wait, but for heartbeats.
func (a *agent) hears() (all []string) {
	for e, ok := a.Next(); ok; e, ok = a.Next() {
		switch e := e.(type) {
		case *wire.Subscribed:
			all = append(all, "SUBSCRIBED "+string(e.AgentID))
		case *wire.Ack:
			all = append(all, fmt.Sprint("ACK ", e.Sequence))
		case *wire.Drain:
			all = append(all, fmt.Sprint("DRAIN mark_gone=", e.MarkGone))
		case *wire.Shutdown:
			all = append(all, "SHUTDOWN "+e.Reason)
		case *wire.Error:
			all = append(all, "ERROR "+e.Message)
		case *wire.Heartbeat:
		default:
			all = append(all, fmt.Sprintf("%T", e))
		}
	}
	return all
}

func (a *agent) wants(want ...string) {
	a.c.Helper()
	if got := a.hears(); !slices.Equal(got, want) {
		a.c.Errorf("agent %s heard %q, want %q", a.id, got, want)
	}
}

func (a *agent) hasEnded() bool {
	select {
	case <-a.Ended():
		return true
	default:
		return false
	}
}

func task(framework, id string, s wire.TaskState) wire.Task {
	t := wire.Task{FrameworkID: framework, ID: id, Name: id, State: s,
		Statuses: []wire.TaskStatus{{State: s, Timestamp: 1}}}
	switch len(id) % 3 { // the ways to know what a task uses
	case 1:
		t.Resources = cpus(0.1)
		t.Uses = wire.UsesOf(t.Resources)
	case 2:
		t.Resources = append(cpus(0.25), wire.Resource{Resource: registry.Resource{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 1, End: 2})}})
	}
	return t
}

// cpus is so many of them.
func cpus(n float64) []wire.Resource {
	return []wire.Resource{{Resource: registry.Resource{Name: "cpus", Value: registry.Scalar(n)}}}
}

// aware is a framework that knows of partitions.
func aware(id string) wire.FrameworkInfo {
	return wire.FrameworkInfo{ID: id, Name: id, User: "root", Capabilities: []string{"PARTITION_AWARE"}}
}

// where says where everything is, one line for each agent and framework.
func (c *cluster) where() (lines []string) {
	s := c.State()
	for a := range s.Agents() {
		word := "connected"
		if !a.Connected {
			word = "away"
		}
		if a.Status.Drain.State != 0 {
			word += " " + a.Status.Drain.State.String()
		} else if a.Status.Deactivated {
			word += " deactivated"
		}
		lines = append(lines, fmt.Sprintf("%s %s tasks=%d", short(s, a.Info.ID), word, a.TasksLen()))
	}
	for a := range s.Recovered() {
		lines = append(lines, string(short(s, a.ID))+" recovered")
	}
	for e := range s.Registry.Entries(registry.Unreachable, registry.Gone) {
		lines = append(lines, string(short(s, e.ID()))+" "+e.State().String())
	}
	return lines
}

// short leaves the UUID of the master out of an ID.
func short(s *State, id registry.AgentID) registry.AgentID {
	if prefix := s.Master.ID + "-"; len(id) > len(prefix) && string(id[:len(prefix)]) == prefix {
		return id[len(prefix):]
	}
	return id
}

func (c *cluster) is(want ...string) {
	c.Helper()
	if got := c.where(); !slices.Equal(got, want) {
		c.Errorf("the cluster is %q, want %q", got, want)
	}
	c.check()
}

// tasks says in which list the tasks of a framework are, with their states.
func (c *cluster) tasks(framework string, want ...string) {
	c.Helper()
	var got []string
	s := c.State()
	f, ok := s.Framework(framework)
	if !ok {
		for e := range s.CompletedFrameworks() {
			if e.Info.ID == framework {
				f = e
				got = append(got, "ended")
			}
		}
	}
	if f != nil {
		for t := range f.Tasks() {
			got = append(got, "runs "+t.ID+" "+string(t.State))
		}
		for t := range f.UnreachableTasks() {
			got = append(got, "unreachable "+t.ID+" "+string(t.State))
		}
		for t := range f.CompletedTasks() {
			got = append(got, "completed "+t.ID+" "+string(t.State))
		}
	}
	if !slices.Equal(got, want) {
		c.Errorf("framework %s has %q, want %q", framework, got, want)
	}
}

func (c *cluster) check() {
	c.Helper()
	for _, err := range c.State().check() {
		c.Errorf("broken invariant: %v", err)
	}
	if !c.o.HideFrameworkMetrics {
		c.checkMetrics()
	}
}

// within is a context that ends before anything that is held does.
func (c *cluster) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(c.Context(), d)
	c.Cleanup(cancel)
	return ctx
}
