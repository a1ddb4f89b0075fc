package master

import (
	"fmt"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

func in(region, zone string, n int) (calls []registry.Domain) {
	for range n {
		calls = append(calls, registry.Domain{Region: region, Zone: zone})
	}
	return calls
}

// recovering is a cluster after a failover, whose agents stand in these domains.
func (c *cluster) recovering(domains []registry.Domain) (ids []registry.AgentID) {
	c.Helper()
	for i, d := range domains {
		call := newcomer(fmt.Sprint("host-", i))
		call.Agent.Domain = d
		ids = append(ids, c.join(call).id)
	}
	c.failover()
	return ids
}

// returns lets a recovered agent of a domain come back.
func (c *cluster) returns(id registry.AgentID, i int, d registry.Domain) {
	c.Helper()
	call := comesBack(id, fmt.Sprint("host-", i))
	call.Agent.Domain = d
	c.join(call)
}

func (c *cluster) unreachable(want, frozen int) {
	c.Helper()
	s := c.State()
	if n := s.Registry.Len(registry.Unreachable); n != want || len(s.Frozen) != frozen {
		c.Errorf("%d are unreachable and frozen is %+v, want %d and %d freezes", n, s.Frozen, want, frozen)
	}
	c.check()
}

func TestStormFreezesUntilAgentsComeBack(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 0.5, Least: 1}}
	inCluster(t, o, func(c *cluster) {
		none := make([]registry.Domain, 10)
		ids := c.recovering(none)
		c.pass(11 * time.Minute)
		c.unreachable(5, 1)
		c.pass(24 * time.Hour) // time alone does not help
		c.unreachable(5, 1)
		for i := range 4 { // first those that are unreachable, then others
			c.returns(ids[i], i, none[0])
		}
		c.settle()
		c.unreachable(1, 1)
		c.returns(ids[5], 5, none[0])
		c.pass(15 * time.Second)
		c.unreachable(5, 0)
		if n := c.Stats().UnreachableWaiting; n != 0 {
			c.Errorf("%d wait", n)
		}
	})
}

func TestFreezeEndsWhenAnOperatorSaysSo(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 0.5, Least: 1}}
	inCluster(t, o, func(c *cluster) {
		c.recovering(make([]registry.Domain, 10))
		c.pass(11 * time.Minute)
		c.unreachable(5, 1)
		c.must(c.Unfreeze(c.Context(), By{"ops", "they are dead"}))
		c.settle()
		c.unreachable(10, 0)
		var others []*agent
		for i := range 4 {
			others = append(others, c.join(newcomer(fmt.Sprint("new-", i))))
		}
		c.lose(others[:2]...) // the budget has begun anew
		c.unreachable(12, 0)
	})
}

func TestStormInOneDomainFreezesThatDomain(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 1, DomainShare: 0.5, Least: 1}}
	inCluster(t, o, func(c *cluster) {
		domains := append(in("eu", "a", 4), in("eu", "b", 4)...)
		ids := c.recovering(domains)
		for i := 4; i < 7; i++ {
			c.returns(ids[i], i, domains[i])
		}
		c.pass(11 * time.Minute)
		c.unreachable(2+1, 1)
		if f := c.State().Frozen; len(f) != 1 || f[0].Domain != domains[0] {
			c.Errorf("frozen is %+v, want zone a", f)
		}
		var waits []int
		for i := range 4 {
			if e, _ := c.State().Registry.Entry(ids[i]); e.State() == registry.Admitted {
				waits = append(waits, i)
			}
		}
		if len(waits) != 2 {
			c.Fatalf("%v wait, want two", waits)
		}
		c.returns(ids[waits[0]], waits[0], domains[0])
		c.returns(ids[waits[1]], waits[1], domains[0])
		c.pass(15 * time.Second)
		c.unreachable(3, 0)
	})
}

func TestMarksAreForgottenAfterTheWindow(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 0.5, Least: 1, Window: time.Hour}}
	inCluster(t, o, func(c *cluster) {
		var agents []*agent
		for i := range 4 {
			agents = append(agents, c.join(newcomer(fmt.Sprint("host-", i))))
		}
		c.lose(agents[0], agents[1])
		c.unreachable(2, 0)
		c.pass(time.Hour)
		c.lose(agents[2])
		c.unreachable(3, 0)
	})
}

func TestAgentThatIsMarkedGoneWhileItWaitsDoesNotWaitAnyMore(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 0.5, Least: 1}}
	inCluster(t, o, func(c *cluster) {
		c.recovering(make([]registry.Domain, 10))
		c.pass(11 * time.Minute)
		c.unreachable(5, 1)
		for a := range c.State().Recovered() {
			c.must(c.MarkGone(c.Context(), a.ID, By{}))
			break
		}
		c.must(c.Unfreeze(c.Context(), By{}))
		c.settle()
		c.must(c.Err())
		c.unreachable(9, 0)
		if s := c.Stats(); s.UnreachableScheduled != 10 || s.UnreachableCompleted != 9 || s.UnreachableCanceled != 1 {
			c.Errorf("%d were scheduled, %d completed, %d canceled; want 10, 9 and 1", s.UnreachableScheduled, s.UnreachableCompleted, s.UnreachableCanceled)
		}
	})
}

// After a failover the time of all agents ends at once. Those that are missing then
// are marked over a tenth of it, and who comes back meanwhile is not.
func TestAgentsMissingAfterAFailoverAreMarkedOneAfterAnother(t *testing.T) {
	inCluster(t, Options{RemovalBudget: Budget{Share: 1}}, func(c *cluster) {
		ids := c.recovering(make([]registry.Domain, 40))
		c.pass(10*time.Minute - time.Second)
		c.unreachable(0, 0) // each has its full time
		c.pass(time.Second)
		c.unreachable(2, 0)
		c.pass(27 * time.Second)
		c.unreachable(20, 0)
		c.returns(ids[39], 39, registry.Domain{})
		c.pass(time.Minute)
		c.unreachable(39, 0)
		if s := c.Stats(); s.UnreachableScheduled != 39 || s.UnreachableCanceled != 0 {
			c.Errorf("%d were scheduled, %d canceled; want 39 and 0", s.UnreachableScheduled, s.UnreachableCanceled)
		}
	})
}

func TestTimeAloneDoesNotEndAFreeze(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 0.5, Least: 1, Window: time.Hour}}
	inCluster(t, o, func(c *cluster) {
		none := make([]registry.Domain, 10)
		ids := c.recovering(none)
		for i := range 3 {
			c.returns(ids[i], i, none[i])
		}
		c.pass(11 * time.Minute)
		c.unreachable(5, 1)
		c.pass(24 * time.Hour) // without the freeze, the two that wait would fit now
		c.unreachable(5, 1)
	})
}

func TestSilentAgentsThatComeBackEndAFreeze(t *testing.T) {
	o := Options{RemovalBudget: Budget{Share: 0.5, Least: 1}}
	inCluster(t, o, func(c *cluster) {
		var agents []*agent
		for i := range 6 {
			agents = append(agents, c.join(newcomer(fmt.Sprint("host-", i))))
			agents[i].fallSilent()
		}
		c.pass(2 * time.Minute)
		c.unreachable(3, 1)
		for i, a := range agents {
			if e, _ := c.State().Registry.Entry(a.id); e.State() == registry.Admitted {
				c.join(comesBack(a.id, fmt.Sprint("host-", i)))
			}
		}
		c.pass(15 * time.Second)
		c.unreachable(3, 0)
		if s := c.Stats(); s.UnreachableCanceled != 3 || s.UnreachableWaiting != 0 {
			c.Errorf("counted %+v", s)
		}
	})
}
