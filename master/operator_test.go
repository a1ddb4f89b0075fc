package master

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

func TestOperatorsAreToldWhyNot(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		for name, call := range map[string]func(registry.AgentID) error{
			"mark gone":  func(id registry.AgentID) error { return c.MarkGone(c.Context(), id, By{}) },
			"remove":     func(id registry.AgentID) error { return c.Remove(c.Context(), id, By{}) },
			"drain":      func(id registry.AgentID) error { return c.Drain(c.Context(), id, DrainConfig{}, By{}) },
			"deactivate": func(id registry.AgentID) error { return c.Deactivate(c.Context(), id, By{}) },
			"reactivate": func(id registry.AgentID) error { return c.Reactivate(c.Context(), id, By{}) },
		} {
			c.wantsErr(name+" nobody", call("nobody"), ops.ErrNotKnown)
			gone := c.join(newcomer("host-1"))
			c.must(c.MarkGone(c.Context(), gone.id, By{}))
			want := map[string]error{"mark gone": nil, "remove": ops.ErrNotAdmitted}[name]
			if want == nil && name != "mark gone" {
				want = ops.ErrGone
			}
			c.wantsErr(name+" one that is gone", call(gone.id), want)

			busy := c.join(newcomer("host-1"))
			release := c.gate.hold()
			first := background(c, func() error { return c.Deactivate(c.Context(), busy.id, By{}) })
			c.wantsErr(name+" one that is busy", call(busy.id), ErrNotNow)
			release(nil)
			c.must(<-first)
			c.must(c.MarkGone(c.Context(), busy.id, By{}))
		}
		call := newcomer("host-1")
		call.Capabilities = nil
		old := c.join(call)
		c.wantsErr("drain one that cannot", c.Drain(c.Context(), old.id, DrainConfig{}, By{}), ErrCannotDrain)
	})
}

func TestWhoAskedIsWrittenDown(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.must(c.Deactivate(c.Context(), a.id, By{"ops", "noise"}))
		var last registrar.Logged
		for entry, err := range c.registrar.Log(c.Context(), 0) {
			c.must(err)
			last = entry
		}
		if last.Principal != "ops" || last.Reason != "noise" {
			c.Errorf("written down: %+v", last)
		}
	})
}

func TestDeactivatedAgentStaysSo(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.must(c.Deactivate(c.Context(), a.id, By{}))
		if v, _ := c.State().Agent(a.id); v.Active() {
			c.Error("it is active")
		}
		c.lose(a)
		b := c.join(comesBack(a.id, "host-1"))
		c.is("S0 connected deactivated tasks=0")
		b.Close()
		c.failover()
		c.join(comesBack(a.id, "host-1"))
		c.is(string(a.id) + " connected deactivated tasks=0")
		c.must(c.Reactivate(c.Context(), a.id, By{}))
		c.is(string(a.id) + " connected tasks=0")
	})
}

func TestEmptyAgentIsDrainedAtOnce(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.must(c.Drain(c.Context(), a.id, DrainConfig{}, By{}))
		c.settle()
		c.is("S0 connected DRAINED tasks=0")
		c.must(c.Drain(c.Context(), a.id, DrainConfig{MarkGone: true}, By{}))
		c.settle()
		c.is("S0 gone")
		a.wants("DRAIN mark_gone=false", "DRAIN mark_gone=true", fmt.Sprintf("SHUTDOWN agent %q was marked gone", a.id))
	})
}

func TestUnregisterWaitsForWhatIsUnderWay(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		release := c.gate.hold()
		first := background(c, func() error { return c.Deactivate(c.Context(), a.id, By{}) })
		c.must(a.Receive(&wire.Unregister{Sequence: 2}))
		a.Close() // it does not wait for the answer
		c.settle()
		release(nil)
		c.must(<-first)
		c.settle()
		c.is()
	})
}

func TestUnregisterCountsAlthoughTheStreamEndsAtOnce(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		resume := c.stall()
		c.must(a.Receive(&wire.Unregister{Sequence: 2}))
		a.breaks()
		resume()
		c.is()
	})
}

func TestMasterEndsWithItsRegistrar(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		before := c.State()
		release := c.gate.hold()
		asked := background(c, func() error { return c.MarkGone(c.Context(), a.id, By{}) })
		disk := errors.New("the disk is on fire")
		release(disk)
		c.wantsErr("mark gone", <-asked, ErrEnded)
		<-c.Done()
		c.wantsErr("the master", c.Err(), disk)
		if c.State() != before {
			c.Error("something was published after the failure")
		}
		if !a.hasEnded() {
			c.Error("the stream stands")
		}
	})
}

func TestMasterEndsAlsoIfSomebodyElseMetTheFailure_5b42b52f5(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		disk := errors.New("the disk is on fire")
		c.gate.hold()(disk)
		_, err := c.registrar.Apply(c.Context(), ops.Put{Table: "t", Key: "k", Value: "v"})
		c.wantsErr("put", err, registrar.ErrUnknown)
		c.pass(15 * time.Second)
		c.wantsErr("the master", c.Err(), disk)
	})
}

func TestTooManyMissingAfterAFailoverEndTheMaster(t *testing.T) {
	inCluster(t, Options{RecoveryAgentRemovalLimit: 0.5}, func(c *cluster) {
		var ids []registry.AgentID
		for i := range 4 {
			ids = append(ids, c.join(newcomer(fmt.Sprint("host-", i))).id)
		}
		c.failover()
		c.join(comesBack(ids[0], "host-0"))
		c.pass(11 * time.Minute)
		var missing *RecoveryError
		if !errors.As(c.Err(), &missing) || missing.Missing != 3 || missing.Recovered != 4 {
			c.Fatalf("the master: %v", c.Err())
		}
		c.failover()
		c.join(comesBack(ids[0], "host-0"))
		c.join(comesBack(ids[1], "host-1"))
		c.pass(11 * time.Minute)
		c.must(c.Err())
		if n := c.State().Registry.Len(registry.Unreachable); n != 2 {
			c.Errorf("%d are unreachable, want 2", n)
		}
	})
}

func TestOldestAreForgottenByAgeAndByCount(t *testing.T) {
	o := Options{RegistryMaxAgentCount: 2, RegistryMaxAgentAge: 3 * time.Hour}
	inCluster(t, o, func(c *cluster) {
		for i := range 4 {
			a := c.join(newcomer(fmt.Sprint("host-", i)))
			if i == 0 {
				c.must(c.MarkGone(c.Context(), a.id, By{}))
				continue
			}
			c.lose(a)
		}
		c.pass(15 * time.Minute)
		c.is("S0 gone", "S2 unreachable", "S3 unreachable") // S1 was one too many
		c.pass(3 * time.Hour)
		c.is()
		if n := c.Stats().Pruned; n != 4 {
			c.Errorf("%d were pruned, want 4", n)
		}
	})
}

func TestAgentThatReturnsWhileItIsForgottenStays(t *testing.T) {
	o := Options{RegistryMaxAgentAge: time.Hour, RegistryGCInterval: 2 * time.Hour}
	inCluster(t, o, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		c.lose(a)
		release := c.gate.hold()
		c.pass(2*time.Hour - 10*time.Minute)
		call := comesBack(a.id, "host-1")
		call.Tasks = []wire.Task{task("f1", "t1", wire.TaskRunning)}
		back := background(c, func() error { _, err := c.subscribe(call); return err })
		release(nil)
		c.must(<-back)
		c.settle()
		c.is("S0 connected tasks=1")
		c.tasks("f1", "runs t1 TASK_RUNNING")
	})
}

func TestWhenTheRegistrarIsFullAgentsComeLaterAndMarksAreMadeLater(t *testing.T) {
	inCluster(t, Options{RemovalBudget: Budget{Share: 1}}, func(c *cluster) {
		c.queue = 2
		c.failover()
		const n = 30
		var agents []*agent
		for i := range n {
			agents = append(agents, c.join(newcomer(fmt.Sprint("host-", i))))
		}
		release := c.gate.hold()
		refused := 0
		var under []<-chan error
		for i := range n {
			call := newcomer(fmt.Sprint("late-", i))
			under = append(under, background(c, func() error { _, err := c.subscribe(call); return err }))
		}
		release(nil)
		for _, err := range under {
			if err := <-err; err != nil {
				c.wantsErr("subscribe", err, ErrNotNow)
				refused++
			}
		}
		c.settle()
		if refused == 0 || refused == n || uint64(refused) != c.Stats().Postponed {
			c.Errorf("%d were told to come later, counted %d", refused, c.Stats().Postponed)
		}
		for _, a := range agents {
			a.Close()
		}
		release = c.gate.hold()
		c.pass(10*time.Minute + 5*time.Second)
		release(nil)
		c.pass(10 * time.Second)
		if got := c.State().Registry.Len(registry.Unreachable); got < n {
			c.Errorf("%d are unreachable, want the %d that went", got, n)
		}
		c.check()
	})
}

func TestReceiveWaitsWhileThereIsTooMuchToDo(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		resume := c.stall()
		sent := background(c, func() error {
			for i := range uint64(maxCalls + 1) {
				if err := a.Receive(&wire.Update{Sequence: i + 2}); err != nil {
					return err
				}
			}
			return nil
		})
		select {
		case err := <-sent:
			c.Errorf("it did not wait: %v", err)
		default:
		}
		resume()
		c.must(<-sent)
		c.settle()
		a.wants(fmt.Sprint("ACK ", maxCalls+2))
	})
}

func TestNothingIsToldThatIsNotPublishedBecauseTheMasterFailed(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.must(c.registrar.Close())
		resume := c.stall()
		asked := background(c, func() error { return c.Remove(c.Context(), a.id, By{}) })
		c.must(a.Receive(&wire.Update{Sequence: 2}))
		resume()
		c.wantsErr("remove", <-asked, ErrEnded)
		<-c.Done()
		a.wants()
		c.wantsErr("the master", c.Err(), registrar.ErrClosed)
	})
}
