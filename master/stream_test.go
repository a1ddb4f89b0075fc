package master

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

func TestAcksThatWaitAreOne(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		for i := uint64(2); i < 100; i++ {
			c.must(a.Receive(&wire.Update{Sequence: i}))
		}
		c.must(a.Receive(&wire.Unknown{Type: "NEWER", Sequence: 120}))
		c.must(a.Receive(&wire.Unknown{Type: "NEWER"}))
		c.settle()
		a.wants("ACK 120")
	})
}

func TestNumbersMustGrow(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		for _, n := range []uint64{0, 1} {
			err := a.Receive(&wire.Update{Sequence: n})
			if field := (*wire.FieldError)(nil); !errors.As(err, &field) || field.Field != "sequence" {
				c.Errorf("number %d: %v, want the field", n, err)
			}
		}
		c.must(a.Receive(&wire.Update{Sequence: 7}))
	})
}

func TestWakeIsCalledOnceUntilAllIsRead(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		var wakes atomic.Int32
		s, err := c.Subscribe(c.Context(), newcomer("host-1"), "", func() { wakes.Add(1) })
		c.must(err)
		a := &agent{Stream: s, c: c}
		c.must(s.Receive(&wire.Update{Sequence: 2}))
		c.settle()
		if n := wakes.Load(); n != 1 {
			c.Errorf("woken %d times, want once", n)
		}
		if got := a.hears(); len(got) != 2 {
			c.Errorf("heard %q", got)
		}
		c.must(s.Receive(&wire.Update{Sequence: 3}))
		c.settle()
		if n := wakes.Load(); n != 2 {
			c.Errorf("woken %d times, want twice", n)
		}
		a.hears()
		c.must(c.Close()) // a silent end, which nobody watches for
		if n := wakes.Load(); n != 3 {
			c.Errorf("woken %d times when the stream had ended, want three", n)
		}
	})
}

func TestEndOfTheMasterWakesReaders(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		woken := make(chan struct{}, 2)
		s, err := c.Subscribe(c.Context(), newcomer("host-1"), "", func() { woken <- struct{}{} })
		c.must(err)
		<-woken
		(&agent{Stream: s, c: c}).hears()
		c.Master.Close()
		select {
		case <-woken:
		default:
			c.Error("who waits for events does not learn that none will come")
		}
	})
}

func TestHeartbeatsGoDownEachIntervalAndDoNotWakeTheLoop(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		version := c.State().Version
		c.pass(15 * time.Second) // in the first, SUBSCRIBED was enough
		a.wants()
		for range 40 {
			c.pass(15 * time.Second)
			beats := 0
			for e, ok := a.Next(); ok; e, ok = a.Next() {
				if _, is := e.(*wire.Heartbeat); is {
					beats++
				}
			}
			if beats != 1 {
				c.Errorf("%d heartbeats in an interval, want 1", beats)
			}
		}
		if now := c.State().Version; now != version {
			c.Errorf("an idle agent took the state from version %d to %d", version, now)
		}
		c.is("S0 connected tasks=0")
	})
}

func TestSlowReaderLosesItsStream(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		for range maxEvents {
			c.must(c.Drain(c.Context(), a.id, DrainConfig{}, By{}))
		}
		if a.hasEnded() {
			c.Fatalf("it was ended with %d events", maxEvents)
		}
		c.must(c.Drain(c.Context(), a.id, DrainConfig{}, By{}))
		c.settle()
		if !a.hasEnded() {
			c.Error("its stream stands")
		}
		c.is("S0 away DRAINING tasks=1")
	})
}

func TestNewerConnectionOfTheSameIncarnationTakesTheOldOnesPlace(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		old := c.join(newcomer("host-1"))
		young := c.join(comesBack(old.id, "host-1"))
		old.wants("ERROR " + ErrSuperseded.Error())
		if !old.hasEnded() {
			c.Error("the old stream stands")
		}
		old.Close() // late, and without effect
		c.must(old.Receive(&wire.Update{Sequence: 2, Resources: []registry.Resource{}}))
		c.settle()
		c.is("S0 connected tasks=0")
		if a, _ := c.State().Agent(old.id); len(a.Resources) != 1 {
			c.Error("the old stream changed something")
		}
		young.update(wire.Update{})
		if s := c.Stats(); s.Reconnections != 1 || s.Reregistrations != 0 || s.DroppedMessages != 1 || s.ConnectedAgents != 1 {
			c.Errorf("counted %+v", s)
		}
	})
}

func of(call *wire.Subscribe, incarnation string) *wire.Subscribe {
	call.Agent.Incarnation = incarnation
	return call
}

func TestAnotherIncarnationWaitsUntilTheHolderIsAway(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		holder := c.join(of(newcomer("host-1"), "boot-1"))
		_, err := c.subscribe(of(comesBack(holder.id, "host-2"), "boot-2"))
		var two *ops.IncarnationError
		if !errors.As(err, &two) || two.Admitted.Hostname != "host-1" || two.Claims.Hostname != "host-2" {
			c.Fatalf("refused with %v, want both hosts named", err)
		}
		holder.Close()
		c.join(of(comesBack(holder.id, "host-2"), "boot-2"))
		if a, _ := c.State().Agent(holder.id); a.Info.Hostname != "host-2" {
			c.Errorf("it is on %q", a.Info.Hostname)
		}
		supersedes := of(comesBack(holder.id, "host-3"), "boot-3")
		supersedes.Supersedes = "boot-2" // somebody said so
		c.join(supersedes)
		c.is("S0 connected tasks=0")
	})
}

func TestAnotherIncarnationMayComeAfterAFailover(t *testing.T) {
	var log lines
	inCluster(t, Options{Logger: log.logger()}, func(c *cluster) {
		id := c.join(of(newcomer("host-1"), "boot-1")).id
		c.failover()
		log.take()
		c.join(of(comesBack(id, "host-1"), "boot-2"))
		log.want(t) // it may well be the same machine
	})
}

func TestOperatorIsToldWhenAnotherHostTakesAnID(t *testing.T) {
	var log lines
	inCluster(t, Options{Logger: log.logger()}, func(c *cluster) {
		holder := c.join(of(newcomer("host-1"), "boot-1"))
		holder.breaks()
		log.take()
		second := c.join(of(comesBack(holder.id, "host-2"), "boot-2"))
		log.want(t, fmt.Sprintf(`WARN "agent was superseded by another host" agent=%s `+
			`hostname=host-2 port=5051 superseded_hostname=host-1 superseded_port=5051`, holder.id))
		_, err := c.subscribe(of(comesBack(holder.id, "host-1"), "boot-1")) // it is the first that is refused now
		c.wantsErr("the first", err, ops.ErrIncarnation)
		second.breaks()
		log.take()
		said := of(comesBack(holder.id, "host-3"), "boot-3")
		said.Supersedes = "boot-2"
		third := c.join(said)
		if got := log.take(); len(got) != 1 || !strings.Contains(got[0], "superseded_hostname=host-2") {
			c.Errorf("logged %q", got) // it said so, and may have a copy of the other's file
		}
		c.lose(third)
		log.take()
		c.join(of(comesBack(holder.id, "host-1"), "boot-1")) // of one that is unreachable, too
		if got := log.take(); len(got) != 1 || !strings.Contains(got[0], "superseded_hostname=host-3") {
			c.Errorf("logged %q", got)
		}
		c.is("S0 connected tasks=0")
	})
}

func TestAgentsOfOneHostWithoutPortsAreToldApartByTheirIncarnations(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		for _, incarnation := range []string{"random-1", "random-2", "random-1"} {
			call := of(newcomer("host-1"), incarnation)
			call.Agent.Port = 0
			c.join(call)
		}
		c.is("S0 connected tasks=0", "S1 connected tasks=0")
	})
}

func TestFullClusterTakesNoNewAgentButThoseThatComeBack(t *testing.T) {
	var log lines
	inCluster(t, Options{MaxAgents: 2, Logger: log.logger()}, func(c *cluster) {
		lost := c.join(newcomer("host-0"))
		c.lose(lost)
		a, b := c.join(of(newcomer("host-1"), "boot-1")), c.join(newcomer("host-2"))
		log.take()
		for _, call := range []*wire.Subscribe{newcomer("host-3"), comesBack("says-so", "host-3")} {
			_, err := c.subscribe(call)
			c.wantsErr("a new agent", err, ErrFull)
			if errors.Is(err, ErrNotNow) {
				c.Error("it is told that something is under way")
			}
		}
		log.want(t, `ERROR "new agents are refused: the cluster is full" agents=2 max=2`)
		c.join(of(newcomer("host-1"), "boot-1")) // it did not learn that it is a member
		c.join(comesBack(b.id, "host-2"))
		c.join(comesBack(lost.id, "host-0"))
		c.is("S0 connected tasks=0", "S1 connected tasks=0", "S2 connected tasks=0")
		c.failover()
		c.join(comesBack(a.id, "host-1"))
		c.must(c.Remove(c.Context(), b.id, By{}))
		c.must(c.Remove(c.Context(), lost.id, By{}))
		c.join(newcomer("host-4"))
		_, err := c.subscribe(newcomer("host-5"))
		c.wantsErr("one too many", err, ErrFull)
		if s := c.Stats(); s.Refused != 1 || s.Postponed != 0 {
			c.Errorf("counted %+v", s)
		}
	})
}

func TestAgentsThatComeToAFullClusterAtOnceAreNotTooMany(t *testing.T) {
	inCluster(t, Options{MaxAgents: 1}, func(c *cluster) {
		release := c.gate.hold()
		first := background(c, func() error { _, err := c.subscribe(newcomer("host-1")); return err })
		_, err := c.subscribe(newcomer("host-2"))
		c.wantsErr("the second", err, ErrFull)
		release(nil)
		c.must(<-first)
	})
}

func TestAgentThatDidNotLearnItsIDGetsTheSameOne(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		first := c.join(of(newcomer("host-1"), "boot-1"))
		again := c.join(of(newcomer("host-1"), "boot-1"))
		if again.id != first.id {
			c.Errorf("IDs %q and %q", first.id, again.id)
		}
		first.Close()
		again.breaks()
		c.join(of(newcomer("host-1"), "boot-1"))
		c.join(of(newcomer("host-1"), "boot-2")) // a boot later it is new
		c.is("S0 connected tasks=0", "S1 connected tasks=0")
	})
}

func TestAgentGetsTheIDThatItWouldLike(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		call := newcomer("host-1")
		call.Agent.ID = "a1"
		a := c.join(call)
		c.is("a1 connected tasks=0")
		c.must(c.MarkGone(c.Context(), "a1", By{}))
		_, err := c.subscribe(call)
		c.wantsErr("again", err, ops.ErrGone)
		two := comesBack("a1", "host-1")
		two.Agent.ID = "a2"
		_, err = c.subscribe(two)
		if field := (*registry.FieldError)(nil); !errors.As(err, &field) || field.Field != "subscribe.agent_info.id" {
			c.Errorf("two IDs: %v", err)
		}
		a.hears()
	})
}

func TestReturningAgentThatIsUnchangedWritesNothing(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		var ids []registry.AgentID
		for i := range 10 {
			ids = append(ids, c.join(newcomer(fmt.Sprint("host-", i))).id)
		}
		c.failover()
		before := c.registrar.Stats().Records
		for i, id := range ids {
			c.join(comesBack(id, fmt.Sprint("host-", i)))
		}
		if n := c.registrar.Stats().Records - before; n != 0 {
			c.Errorf("%d records were written, want none", n)
		}
		c.join(comesBack(ids[0], "renamed"))
		if n := c.registrar.Stats().Records - before; n != 1 {
			c.Errorf("%d records were written, want 1", n)
		}
		if s := c.Stats(); s.Reregistrations != 10 || s.Reconnections != 1 || s.Registrations != 0 {
			c.Errorf("counted %+v", s)
		}
	})
}

func TestStreamsEndWithTheMaster(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.must(c.Close())
		if !a.hasEnded() {
			c.Error("the stream stands")
		}
		c.wantsErr("receive", a.Receive(&wire.Update{Sequence: 2}), ErrEnded)
		_, err := c.subscribe(newcomer("host-2"))
		c.wantsErr("subscribe", err, ErrEnded)
		c.wantsErr("mark gone", c.MarkGone(c.Context(), a.id, By{}), ErrEnded)
	})
}

func TestUpdateChangesWhatItNames(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		staging := task("f1", "t1", wire.TaskStaging)
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")},
			Tasks:     []wire.Task{staging, task("f1", "t0", wire.TaskRunning), task("f0", "t9", wire.TaskRunning)},
			Executors: []wire.ExecutorInfo{{ID: "e2", FrameworkID: "f1", Resources: cpus(1)}, {ID: "e1", FrameworkID: "f1", Resources: cpus(0.5)}}})
		running := staging
		running.State = wire.TaskRunning
		running.Statuses = append(slices.Clone(staging.Statuses), wire.TaskStatus{State: wire.TaskRunning, Timestamp: 2, Data: []byte("x")},
			wire.TaskStatus{State: wire.TaskRunning, Timestamp: 3})
		a.update(wire.Update{Tasks: []wire.Task{running}, Resources: []registry.Resource{},
			Executors:        []wire.ExecutorInfo{{ID: "e1", FrameworkID: "f1", Resources: cpus(0.75)}},
			RemovedExecutors: []wire.ExecutorRef{{FrameworkID: "f1", ID: "e2"}}})
		v, _ := c.State().Agent(a.id)
		var names []string
		for t := range v.Tasks() {
			names = append(names, t.FrameworkID+"/"+t.ID)
		}
		for e := range v.Executors() {
			names = append(names, e.ID)
		}
		if want := []string{"f0/t9", "f1/t0", "f1/t1", "e1"}; !slices.Equal(names, want) {
			c.Errorf("the agent has %q, want %q", names, want)
		}
		if len(v.Resources) != 0 || len(v.Info.Resources) != 1 {
			c.Errorf("it has %d resources now, and %d in the registry, want 0 and 1", len(v.Resources), len(v.Info.Resources))
		}
		if s := slices.Collect(v.Tasks())[2].Statuses; len(s) != 2 || s[0].State != wire.TaskStaging || s[1].Timestamp != 3 {
			c.Errorf("its statuses are %+v, want one of each state, the latest", s)
		}
		c.check()
	})
}

func TestFrameworkEndsWithTheLastThatHoldsIt(t *testing.T) {
	inCluster(t, Options{MaxCompletedFrameworks: 1}, func(c *cluster) {
		a, b := c.join(newcomer("host-1")), c.join(newcomer("host-2"))
		f1 := []wire.FrameworkInfo{aware("f1")}
		a.update(wire.Update{Frameworks: f1})
		b.update(wire.Update{Frameworks: f1, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		b.update(wire.Update{Tasks: []wire.Task{task("f1", "t1", wire.TaskFinished)}})
		c.tasks("f1", "completed t1 TASK_FINISHED") // a may begin with it still
		a.update(wire.Update{Tasks: []wire.Task{task("f2", "t1", wire.TaskRunning)}})
		c.tasks("f1", "completed t1 TASK_FINISHED")
		c.must(c.Remove(c.Context(), a.id, By{}))
		a.wants(fmt.Sprintf("SHUTDOWN agent %q was removed", a.id))
		c.tasks("f1", "ended", "completed t1 TASK_FINISHED")
		c.tasks("f2") // there was room for one
		c.is("S1 connected tasks=0")
	})
}

func TestNoFrameworkEndsWhileAgentsAreMissing(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a, b := c.join(newcomer("host-1")).id, c.join(newcomer("host-2")).id
		c.failover()
		call := comesBack(a, "host-1")
		call.CompletedFrameworks = []wire.CompletedFramework{{Info: aware("f1"), Tasks: []wire.Task{task("f1", "t1", wire.TaskFinished)}}}
		c.join(call)
		c.tasks("f1", "completed t1 TASK_FINISHED")
		c.join(comesBack(b, "host-2"))
		c.tasks("f1", "ended", "completed t1 TASK_FINISHED")
	})
}

func TestWhatIsToldCanBeSeen(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		var s *Stream
		var seen []string
		wake := func() { // the loop is about to say something
			word := "nothing"
			for a := range c.State().Agents() {
				word = fmt.Sprintf("agent with %d resources", len(a.Resources))
			}
			seen = append(seen, word)
		}
		s, err := c.Subscribe(c.Context(), newcomer("host-1"), "", wake)
		c.must(err)
		a := &agent{Stream: s, c: c}
		a.hears()
		c.must(s.Receive(&wire.Update{Sequence: 2, Resources: []registry.Resource{}}))
		c.settle()
		if want := []string{"agent with 1 resources", "agent with 0 resources"}; !slices.Equal(seen, want) {
			c.Errorf("when something was told, %q was seen, want %q", seen, want)
		}
	})
}

func TestNoNameOfAnOutsiderIsTakenForTwo(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		call := newcomer("host-1")
		call.Tasks = []wire.Task{task("a\x00b", "c", wire.TaskRunning), task("a", "b\x00c", wire.TaskRunning),
			task("", "", wire.TaskRunning), task("a", "b\x00c", wire.TaskStaging)}
		call.Executors = []wire.ExecutorInfo{{}, {FrameworkID: "a", ID: "\x00"}, {FrameworkID: "a", ID: "\x00"}}
		a := c.join(call)
		c.check()
		c.lose(a)
		c.check()
		b := c.join(comesBack(a.id, "host-1"))
		c.check()
		b.update(wire.Update{RemovedTasks: []wire.TaskRef{{}}, RemovedExecutors: []wire.ExecutorRef{{}}})
		for f := range c.State().Frameworks() {
			c.Errorf("framework %q is left", f.Info.ID)
		}
	})
}
