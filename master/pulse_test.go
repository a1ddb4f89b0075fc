package master

import (
	"fmt"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
)

// beats counts the heartbeats that wait, and wants nothing else to.
func (a *agent) beats() (n int) {
	a.c.Helper()
	for e, ok := a.Next(); ok; e, ok = a.Next() {
		if _, is := e.(*wire.Heartbeat); !is {
			a.c.Errorf("agent %s heard %T, want heartbeats", a.id, e)
		}
		n++
	}
	return n
}

func TestStreamsAreSpreadOverTheInterval(t *testing.T) {
	w := newWheel(64 * time.Second)
	streams := make([]*Stream, 640)
	for i := range streams {
		streams[i] = &Stream{}
		w.add(streams[i], 0)
	}
	for i := 0; i < len(streams); i += 3 { // of each slot some
		w.remove(streams[i])
	}
	visited := w.turn(time.Second, nil)
	if n := len(visited); n != 6 {
		t.Errorf("%d of 426 were visited in a 64th of the interval, want 6", n)
	}
	visited = w.turn(64*time.Second, visited)
	if n := len(visited); n != 426 {
		t.Errorf("%d were visited in the interval, want 426", n)
	}
	visited = w.turn(time.Hour, visited)
	if n := len(visited); n != 852 || w.due != time.Hour+time.Second {
		t.Errorf("after an hour %d were visited, the next at %v; want each once more", n, w.due)
	}
}

func TestAgentsHearTheirMasterWhileItsLoopIsBusy(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		resume := c.stall()
		c.pass(15 * time.Second)
		a.beats()
		for range 20 {
			c.pass(15 * time.Second)
			if n := a.beats(); n != 1 {
				c.Errorf("%d heartbeats in an interval, want 1", n)
			}
		}
		resume()
		c.is("S0 connected tasks=0")
		if n := c.Stats().Disconnections; n != 0 {
			c.Errorf("%d disconnections, want none", n)
		}
	})
}

func TestAgentThatIsKeptWaitingIsNotSilent(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.fallSilent() // its heartbeats stand behind what cannot be handed over
		resume := c.stall()
		handed := background(c, func() error {
			for i := range uint64(maxCalls + 1) {
				if err := a.Receive(&wire.Update{Sequence: i + 2}); err != nil {
					return err
				}
			}
			return nil
		})
		c.pass(10 * time.Minute)
		resume()
		c.must(<-handed)
		c.settle()
		c.is("S0 connected tasks=0")
		a.hears()
		c.pass(74 * time.Second)
		c.is("S0 connected tasks=0")
		c.pass(17 * time.Second)
		c.is("S0 unreachable")
	})
}

func TestAgentWhoseSubscriptionTookLongIsNotSilentYet(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		release := c.gate.hold()
		joined := background(c, func() error { _, err := c.subscribe(newcomer("host-1")); return err })
		c.pass(10 * time.Minute)
		release(nil)
		c.must(<-joined)
		c.pass(74 * time.Second)
		c.is("S0 connected tasks=0")
	})
}

func TestNobodyIsSilentBecauseTheProcessDidNotRun(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.join(newcomer("host-1"))
		p := c.loop.pulse
		now := c.Master.now()
		p.turn(now+10*time.Minute, nil) // it was stopped, and goes on
		c.settle()
		c.is("S0 connected tasks=0")
		p.mu.Lock()
		p.excused = 0
		p.mu.Unlock()
		p.turn(now+10*time.Minute+15*time.Second, nil) // without the excuse it is
		c.settle()
		c.is("S0 unreachable")
	})
}

func TestSilentAgentIsAwayWhileItWaitsToBeMarked(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 0.25, Least: 1}}
	inCluster(t, o, func(c *cluster) {
		var agents []*agent
		for i := range 4 {
			agents = append(agents, c.join(newcomer(fmt.Sprint("host-", i))))
		}
		agents[0].Close()
		c.pass(10 * time.Minute)
		c.is("S1 connected tasks=0", "S2 connected tasks=0", "S3 connected tasks=0", "S0 unreachable")
		if since := c.Stats().FrozenSince; !since.IsZero() {
			c.Errorf("frozen since %v", since)
		}
		a := agents[1]
		a.hears()
		a.fallSilent()
		c.pass(90 * time.Second)
		c.is("S1 away tasks=0", "S2 connected tasks=0", "S3 connected tasks=0", "S0 unreachable")
		a.wants("ERROR nothing was heard of the agent for too long; register again")
		if !a.hasEnded() {
			c.Error("its stream stands")
		}
		a.Close() // the connection follows, and is no second notice
		c.settle()
		s := c.Stats()
		if s.Disconnections != 2 || s.ConnectedAgents != 2 || s.UnreachableWaiting != 1 || s.UnreachableScheduled != 2 {
			c.Errorf("counted %+v", s)
		}
		if f := c.State().Frozen; len(f) != 1 || !s.FrozenSince.Equal(f[0].Since) {
			c.Errorf("frozen since %v, by the state %+v", s.FrozenSince, f)
		}
		c.join(comesBack(a.id, "host-1"))
		c.is("S1 connected tasks=0", "S2 connected tasks=0", "S3 connected tasks=0", "S0 unreachable")
		s = c.Stats()
		if s.Reconnections != 1 || s.UnreachableCanceled != 1 || s.UnreachableWaiting != 0 || s.Reregistrations != 0 {
			c.Errorf("counted %+v", s)
		}
		c.pass(15 * time.Second)
		if since := c.Stats().FrozenSince; !since.IsZero() {
			c.Errorf("frozen since %v, want an end", since)
		}
	})
}
