package master

import (
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

func TestNewAgentIsAMemberWhenItIsTold(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		if want := c.State().Master.ID + "-S0"; string(a.id) != want {
			c.Errorf("its ID is %q, want %q", a.id, want)
		}
		c.is("S0 connected tasks=0")
		c.join(newcomer("host-2"))
		c.is("S0 connected tasks=0", "S1 connected tasks=0")
	})
}

func TestSilentAgentBecomesUnreachable(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{aware("f1")}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		a.fallSilent()
		c.pass(74 * time.Second)
		c.is("S0 connected tasks=1")
		c.pass(17 * time.Second) // it is noticed up to an interval later
		c.is("S0 unreachable")
		c.tasks("f1", "unreachable t1 TASK_UNREACHABLE")
		if !a.hasEnded() {
			c.Error("its stream stands")
		}
		a.wants("ERROR nothing was heard of the agent for too long; register again")
	})
}

func TestAgentThatDoesNotReturnBecomesUnreachableAtTheDeadline(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.breaks()
		c.is("S0 away tasks=0")
		c.pass(10*time.Minute - time.Second)
		c.is("S0 away tasks=0")
		c.pass(time.Second)
		c.is("S0 unreachable")
	})
}

func TestAgentThatComesBackInTimeIsNotScheduledForAnything(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.breaks()
		c.pass(9 * time.Minute)
		c.join(comesBack(a.id, "host-1"))
		c.pass(time.Hour)
		c.is("S0 connected tasks=0")
		if s := c.Stats(); s.UnreachableScheduled != 0 {
			c.Errorf("counted %+v", s)
		}
	})
}

func TestSilentAgentThatComesBackJustBeforeItsTurnIsNotMarked(t *testing.T) {
	inCluster(t, Options{AgentRemovalRateLimit: Rate{Count: 1, Per: time.Minute}}, func(c *cluster) {
		a, b := c.join(newcomer("host-1")), c.join(newcomer("host-2"))
		a.fallSilent()
		b.fallSilent()
		for c.State().Registry.Len(registry.Unreachable) == 0 {
			c.pass(50 * time.Millisecond)
		}
		c.pass(time.Minute - 100*time.Millisecond)
		c.is("S1 away tasks=0", "S0 unreachable")
		c.join(comesBack(b.id, "host-2"))
		c.pass(time.Minute)
		c.is("S1 connected tasks=0", "S0 unreachable")
	})
}

func TestAgentThatDidNotLearnItsIDGetsItFromTheNextMaster(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		id := c.join(of(newcomer("host-1"), "boot-1")).id
		c.failover()
		c.join(of(newcomer("host-1"), "boot-1"))
		c.is(string(id) + " connected tasks=0")
	})
}
