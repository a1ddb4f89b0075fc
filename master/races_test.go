package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// The races that Mesos had, by the numbers of its issues; where it has none, by
// the commit that ended it.

// background runs a call that is held up, and hands over how it ends.
func background(c *cluster, call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	c.settle()
	return done
}

func (c *cluster) wantsErr(what string, err, want error) {
	c.Helper()
	if !errors.Is(err, want) {
		c.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// lose lets an agent become unreachable.
func (c *cluster) lose(agents ...*agent) {
	c.Helper()
	for _, a := range agents {
		a.Close()
	}
	c.pass(c.Master.o.AgentReregisterTimeout)
}

func TestUnreachableThenUnregister_81fe779b4(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		release := c.gate.hold()
		a.fallSilent()
		c.pass(90 * time.Second)
		c.must(a.Receive(&wire.Unregister{Sequence: 2}))
		c.settle()
		release(nil)
		c.settle()
		c.is("S0 unreachable")
		a.wants("ERROR nothing was heard of the agent for too long; register again")
	})
}

func TestUnregisterThenUnreachable_81fe779b4(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		release := c.gate.hold()
		a.fallSilent()
		c.must(a.Receive(&wire.Unregister{Sequence: 2}))
		c.pass(2 * time.Minute)
		a.wants()
		release(nil)
		c.settle()
		c.is()
		a.wants("ACK 2")
		if !a.hasEnded() {
			c.Error("its stream stands")
		}
		if s := c.Stats(); s.RemovalsUnregistered != 1 || s.Removals != 1 || s.UnreachableCompleted != 0 {
			c.Errorf("counted %+v", s)
		}
	})
}

func TestAgentThatComesWhileItIsMarkedUnreachableComesLater_MESOS10209(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		id := c.join(newcomer("host-1")).id
		c.failover()
		release := c.gate.hold()
		c.pass(10 * time.Minute)
		_, err := c.subscribe(comesBack(id, "host-1"))
		c.wantsErr("subscribe", err, ErrNotNow)
		release(nil)
		c.settle()
		c.is(string(id) + " unreachable")
		c.join(comesBack(id, "host-1"))
		c.is(string(id) + " connected tasks=0")
	})
}

func TestAgentIsNotMarkedGoneBetweenTheStagesOfItsReturn_b612e9d51(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.lose(a)
		release := c.gate.hold()
		var back *agent
		returned := background(c, func() (err error) { back, err = c.subscribe(comesBack(a.id, "host-1")); return err })
		c.wantsErr("mark gone", c.MarkGone(c.Context(), a.id, By{}), ErrNotNow)
		release(nil)
		c.must(<-returned)
		c.must(c.MarkGone(c.Context(), a.id, By{}))
		c.settle()
		c.is("S0 gone")
		back.wants("SUBSCRIBED "+string(a.id), "ACK 1", fmt.Sprintf("SHUTDOWN agent %q was marked gone", a.id))
	})
}

func TestAgentIsNotReadmittedWhileItIsMarkedGone_b612e9d51(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.lose(a)
		release := c.gate.hold()
		gone := background(c, func() error { return c.MarkGone(c.Context(), a.id, By{}) })
		_, err := c.subscribe(comesBack(a.id, "host-1"))
		c.wantsErr("subscribe", err, ErrNotNow)
		release(nil)
		c.must(<-gone)
		_, err = c.subscribe(comesBack(a.id, "host-1"))
		c.wantsErr("subscribe", err, ops.ErrGone)
		if n := c.registrar.Stats().Refused; n != 0 {
			c.Error("the registrar was asked for what the master can tell")
		}
		if want := (&GoneError{a.id}).Error(); err.Error() != want {
			c.Errorf("it is told %q, want %q", err, want)
		}
	})
}

func TestAgentMissingSinceAFailoverIsUnreachableLikeAnyOther_MESOS6445(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		id := c.join(newcomer("host-1")).id
		c.failover()
		c.is(string(id) + " recovered")
		c.pass(10 * time.Minute)
		c.is(string(id) + " unreachable")
		if s := c.Stats(); s.Removals != 1 || s.RemovalsUnhealthy != 1 || s.RecoveryRemovals != 1 || s.UnreachableScheduled != 1 || s.UnreachableCompleted != 1 {
			c.Errorf("counted %+v", s)
		}
	})
}

func TestTasksOfAFrameworkThatNobodyKnowsBecomeUnreachable_MESOS6226(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		id := c.join(newcomer("host-1")).id
		c.failover()
		call := comesBack(id, "host-1")
		call.Tasks = []wire.Task{task("f1", "t1", wire.TaskRunning)} // and no word about f1
		a := c.join(call)
		c.tasks("f1", "runs t1 TASK_RUNNING")
		c.lose(a)
		c.tasks("f1", "unreachable t1 TASK_LOST")
		c.check()
	})
}

func TestAgentThatKeepsItsAddressAliveButNeverReturnsIsGivenUp_MESOS6286(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1")) // its heartbeats go on after its stream broke
		a.breaks()
		for range 60 {
			a.Receive(&wire.Heartbeat{})
			c.pass(10 * time.Second)
		}
		c.is("S0 unreachable")
	})
}

func TestStreamThatBreaksTwiceBreaksOnce_MESOS675(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.breaks()
		c.pass(9 * time.Minute)
		a.breaks()
		c.is("S0 away tasks=0")
		c.pass(time.Minute) // the first counts
		c.is("S0 unreachable")
		if n := c.Stats().Disconnections; n != 1 {
			c.Errorf("%d disconnections, want 1", n)
		}
	})
}

func TestTasksOfAReturningAgentAreLeftAlone_MESOS7215(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		unaware := aware("f1")
		unaware.Capabilities = nil
		old, young := task("f1", "old", wire.TaskRunning), task("f1", "young", wire.TaskRunning)
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{unaware}, Tasks: []wire.Task{old}})
		c.lose(a)
		call := comesBack(a.id, "host-1")
		call.Frameworks, call.Tasks = []wire.FrameworkInfo{unaware}, []wire.Task{old, young}
		back := c.join(call)
		c.pass(time.Hour)
		back.wants() // no SHUTDOWN, no KILL
		c.tasks("f1", "runs old TASK_RUNNING", "runs young TASK_RUNNING")
	})
}

func TestFrameworkThatEndedDuringAPartitionIsThereAgainWithItsTasks_MESOS6602(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		f1, t1 := []wire.FrameworkInfo{aware("f1")}, []wire.Task{task("f1", "t1", wire.TaskRunning)}
		a.update(wire.Update{Frameworks: f1, Tasks: t1})
		a.update(wire.Update{Tasks: []wire.Task{task("f1", "t1", wire.TaskFinished)}})
		c.tasks("f1", "ended", "completed t1 TASK_FINISHED")
		c.lose(a)
		call := comesBack(a.id, "host-1")
		call.Frameworks, call.Tasks = f1, []wire.Task{task("f1", "t2", wire.TaskRunning)}
		c.join(call)
		c.tasks("f1", "runs t2 TASK_RUNNING", "completed t1 TASK_FINISHED")
	})
}

func TestUnreachableTasksOfWhichItsAgentDoesNotSpeakAreCleared_MESOS8750(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		f1 := []wire.FrameworkInfo{aware("f1")}
		kept, dropped := task("f1", "kept", wire.TaskRunning), task("f1", "dropped", wire.TaskStaging)
		a.update(wire.Update{Frameworks: f1, Tasks: []wire.Task{kept, dropped}})
		c.lose(a)
		c.tasks("f1", "unreachable dropped TASK_UNREACHABLE", "unreachable kept TASK_UNREACHABLE")
		call := comesBack(a.id, "host-1")
		call.Frameworks, call.Tasks = f1, []wire.Task{kept}
		b := c.join(call)
		c.tasks("f1", "runs kept TASK_RUNNING", "completed dropped TASK_GONE")
		c.check()
		c.lose(b)
		c.tasks("f1", "unreachable kept TASK_UNREACHABLE", "completed dropped TASK_GONE")
		c.check()
	})
}

func TestTaskThatEndedBeforeItsAgentBecameUnreachableHasEnded_MESOS8337(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")},
			Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning), task("f1", "t2", wire.TaskFailed)}})
		c.lose(a)
		c.tasks("f1", "unreachable t1 TASK_UNREACHABLE", "completed t2 TASK_FAILED")
	})
}

func TestTasksOfAnUnreachableAgentEndWhenItIsMarkedGone_MESOS9545(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		c.lose(a)
		c.must(c.MarkGone(c.Context(), a.id, By{"ops", "it burnt"}))
		c.is("S0 gone")
		c.tasks("f1", "ended", "completed t1 TASK_GONE_BY_OPERATOR")
	})
}

func TestRecoveredAgentThatIsMarkedGoneIsNotRecoveredAnyMore_MESOS9739(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		id := c.join(newcomer("host-1")).id
		c.failover()
		c.must(c.MarkGone(c.Context(), id, By{}))
		c.is(string(id) + " gone")
		c.pass(10 * time.Minute)
		c.is(string(id) + " gone")
	})
}

func TestUnreachableTasksAreFreedWithTheirAgent_MESOS8887(t *testing.T) {
	o := Options{RegistryMaxAgentAge: time.Hour}
	inCluster(t, o, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		c.lose(a)
		c.tasks("f1", "unreachable t1 TASK_UNREACHABLE")
		c.pass(90 * time.Minute)
		c.is()
		c.tasks("f1", "ended")
	})
}

func TestMemoryIsBoundedOverChurn_53598228f(t *testing.T) {
	o := Options{RegistryMaxAgentAge: time.Hour, MaxCompletedFrameworks: 2, MaxCompletedTasksPerFramework: 3, MaxUnreachableTasksPerFramework: 4,
		RemovalBudget: Budget{Share: 1}}
	inCluster(t, o, func(c *cluster) {
		for round := range 20 {
			var lost []*agent
			for i := range 3 {
				a := c.join(newcomer(fmt.Sprint("host-", i)))
				f := fmt.Sprint("f", round%5)
				a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware(f)}, Tasks: []wire.Task{
					task(f, fmt.Sprint("a", round, i), wire.TaskRunning), task(f, fmt.Sprint("b", round, i), wire.TaskRunning),
					task(f, fmt.Sprint("c", round, i), wire.TaskFinished)}})
				lost = append(lost, a)
			}
			c.lose(lost...)
			c.check()
		}
		for f := range c.State().Frameworks() {
			if n, m := f.unreachable.Len(), f.completed.Len(); n > 4 || m > 3 {
				c.Errorf("framework %s has %d unreachable and %d completed tasks", f.Info.ID, n, m)
			}
		}
		c.pass(3 * time.Hour)
		c.is()
		s := c.State()
		if s.frameworks.Len() != 0 || len(s.completed) != 2 {
			c.Errorf("%d frameworks and %d completed ones are left, want 0 and 2", s.frameworks.Len(), len(s.completed))
		}
		c.Close()
		if l := c.loop; len(l.members)+len(l.unreachable)+len(l.machines)+l.waiting.budget.recent.Len()+len(l.removing)+l.away.list.Len() != 0 || len(l.working) != 2 {
			c.Errorf("the loop still has %d members, %d unreachable tasks, %d frameworks", len(l.members), len(l.unreachable), len(l.working))
		}
	})
}

func TestDrainIsCarriedOverAndJudgedByTheFirstFullReport_MESOS9934(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		f1, t1 := []wire.FrameworkInfo{aware("f1")}, []wire.Task{task("f1", "t1", wire.TaskRunning)}
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: f1, Tasks: t1})
		c.must(c.Drain(c.Context(), a.id, DrainConfig{}, By{"ops", "new disks"}))
		a.wants("DRAIN mark_gone=false")
		c.lose(a)
		c.is("S0 unreachable") // and not drained, although nothing is known to run
		call := comesBack(a.id, "host-1")
		call.Frameworks, call.Tasks = f1, t1
		b, err := c.subscribe(call)
		c.must(err)
		b.live()
		b.wants("SUBSCRIBED "+string(a.id), "DRAIN mark_gone=false", "ACK 1")
		c.is("S0 connected DRAINING tasks=1")
		b.update(wire.Update{Tasks: []wire.Task{task("f1", "t1", wire.TaskKilled)}})
		c.is("S0 connected DRAINED tasks=0")
	})
}

func TestDrainingAgentIsNotReactivated_MESOS10096(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		c.wantsErr("reactivate", c.Reactivate(c.Context(), a.id, By{}), ErrNotDeactivated)
		c.must(c.Drain(c.Context(), a.id, DrainConfig{}, By{}))
		c.wantsErr("reactivate", c.Reactivate(c.Context(), a.id, By{}), ops.ErrDraining)
		a.hears()
		a.update(wire.Update{RemovedTasks: []wire.TaskRef{{FrameworkID: "f1", ID: "t1"}}})
		c.is("S0 connected DRAINED tasks=0")
		c.must(c.Reactivate(c.Context(), a.id, By{}))
		c.is("S0 connected tasks=0")
	})
}

func TestDrainingAgentReturnsAfterAFailoverBeforeItsFrameworks_MESOS10109(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		c.must(c.Drain(c.Context(), a.id, DrainConfig{MarkGone: true}, By{}))
		c.failover()
		c.pass(time.Minute)
		c.is(string(a.id) + " recovered") // and not gone: it may have tasks
		call := comesBack(a.id, "host-1")
		call.Tasks = []wire.Task{task("f1", "t1", wire.TaskRunning)}
		b, err := c.subscribe(call)
		c.must(err)
		b.wants("SUBSCRIBED "+string(a.id), "DRAIN mark_gone=true", "ACK 1")
		b.last++
		c.must(b.Receive(&wire.Update{Sequence: b.last, RemovedTasks: []wire.TaskRef{{FrameworkID: "f1", ID: "t1"}}}))
		c.settle()
		b.wants("ACK 2", fmt.Sprintf("SHUTDOWN agent %q was marked gone", a.id))
		c.is(string(a.id) + " gone")
	})
}

func TestAgentThatReturnsInTimeCostsNoTokenOfTheRate_MESOS8386(t *testing.T) {
	o := Options{AgentRemovalRateLimit: Rate{Count: 1, Per: time.Minute}}
	inCluster(t, o, func(c *cluster) {
		var ids []registry.AgentID
		for i := range 4 {
			ids = append(ids, c.join(newcomer(fmt.Sprint("host-", i))).id)
		}
		c.failover()
		c.pass(10 * time.Minute)
		if n := c.State().Registry.Len(registry.Unreachable); n != 1 {
			c.Fatalf("%d are unreachable at the deadline, want 1", n)
		}
		c.join(comesBack(ids[1], "host-1"))
		c.join(comesBack(ids[2], "host-2"))
		c.pass(time.Minute) // the next token is for the one that is still away
		c.is(string(ids[1])+" connected tasks=0", string(ids[2])+" connected tasks=0",
			string(ids[0])+" unreachable", string(ids[3])+" unreachable")
		if s := c.Stats(); s.UnreachableScheduled != 4 || s.UnreachableCompleted != 2 || s.UnreachableCanceled != 2 || s.UnreachableWaiting != 0 {
			c.Errorf("counted %+v", s)
		}
	})
}

func TestAgentWithTasksThatWouldBeRefusedTodayIsLetIn_MESOS9740(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		id := c.join(newcomer("host-1")).id
		c.failover()
		call := comesBack(id, "host-1")
		call.Frameworks = []wire.FrameworkInfo{{ID: "f1"}}
		call.Tasks = []wire.Task{{FrameworkID: "f1", State: "TASK_OF_TOMORROW"}}
		call.Executors = []wire.ExecutorInfo{{FrameworkID: "f2"}}
		c.join(call)
		c.is(string(id) + " connected tasks=1")
	})
}

func TestDuplicateIsTurnedAwayBeforeItIsLookedAt_dba0ef493(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		release := c.gate.hold()
		first := background(c, func() error { _, err := c.subscribe(comesBack("a1", "host-1")); return err })
		bad := comesBack("a1", "host-1")
		bad.Agent.Resources[0].Name = "\xff" // which costs to find out
		_, err := c.subscribe(bad)
		c.wantsErr("the second", err, ErrNotNow)
		release(nil)
		c.must(<-first)
		_, err = c.subscribe(bad)
		if field := (*registry.FieldError)(nil); !errors.As(err, &field) || field.Field != "resources[0].name" {
			c.Errorf("the third: %v, want the field that is wrong", err)
		}
		c.is("a1 connected tasks=0")
	})
}

func TestAgentThatStopsWaitingLeavesNoConnectionBehind(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		release := c.gate.hold()
		_, err := c.Subscribe(c.within(time.Second), newcomer("host-1"), "", func() {})
		c.wantsErr("subscribe", err, context.DeadlineExceeded)
		release(nil)
		c.settle()
		c.is("S0 away tasks=0")
	})
}

// stall keeps the loop in a turn until resume, so that much happens before the
// next.
func (c *cluster) stall() (resume func()) {
	held := make(chan struct{})
	c.calls <- func(*loop) { <-held }
	c.settle()
	return func() { close(held); c.settle() }
}

// TestOneStreamDoesNotKeepTheOthersFromBeingHeard proves that of a stream which
// says much only so many calls wait before those of others.
func TestOneStreamDoesNotKeepTheOthersFromBeingHeard(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		loud, quiet := c.join(newcomer("loud")), c.join(newcomer("quiet"))
		resume := c.stall()
		said := background(c, func() (err error) {
			for i := range uint64(100) {
				err = cmp.Or(err, loud.Receive(&wire.Update{Sequence: 100 + i}))
			}
			return err
		})
		c.settle()
		if got := len(c.calls); got != maxTurns {
			t.Errorf("%d calls of one stream wait for the loop, want %d", got, maxTurns)
		}
		heard := background(c, func() error { return quiet.Receive(&wire.Update{Sequence: 100}) })
		if err := <-heard; err != nil {
			t.Error(err)
		}
		resume()
		if err := <-said; err != nil {
			t.Error(err)
		}
	})
}

// TestUnderLoadABrokenStreamIsNoticed proves that calls which keep coming, so that no
// turn takes all of them, do not keep the master from what else happens.
func TestUnderLoadABrokenStreamIsNoticed(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		resume := c.stall()
		c.loop.maxTurn = -1 // one call in each turn
		noticed, left := 0, 1000
		var again func(*loop)
		again = func(l *loop) {
			if left--; l.stats.Disconnections > 0 && noticed == 0 {
				noticed = left
			}
			if left > 0 {
				l.Master.calls <- again
			}
		}
		for range 10 {
			c.calls <- again
		}
		a.Close()
		resume()
		if noticed < 900 {
			t.Errorf("noticed with %d of 1,000 calls to come", noticed)
		}
	})
}

func TestLateNoticeDoesNotHitTheNewerConnection(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		old := c.join(newcomer("host-1"))
		release := c.gate.hold()
		returned := background(c, func() error { _, err := c.subscribe(comesBack(old.id, "renamed")); return err })
		resume := c.stall()
		release(nil) // the new connection is about to be made,
		c.settle()
		old.breaks() // and the old one breaks just before
		resume()
		c.must(<-returned)
		c.is("S0 connected tasks=0")
	})
}
