package master

import (
	"testing"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// forgets is a cluster that forgets an agent an hour after it was lost.
var forgets = Options{RegistryMaxAgentAge: time.Hour, RemovalBudget: Budget{Share: 1}}

// pruning loses agents and holds the disk when they are about to be forgotten.
func (c *cluster) pruning(agents ...*agent) (release func(error)) {
	c.Helper()
	c.lose(agents...)
	c.pass(time.Hour)
	release = c.gate.hold()
	c.pass(15 * time.Minute)
	return release
}

func TestAgentThatIsForgottenWhileItIsMarkedGoneIsNotKnown(t *testing.T) {
	inCluster(t, forgets, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		release := c.pruning(a)
		gone := background(c, func() error { return c.MarkGone(c.Context(), a.id, By{}) })
		release(nil)
		c.wantsErr("mark gone", <-gone, ops.ErrNotKnown)
		c.must(c.Err())
		c.is()
		b := c.join(comesBack(a.id, "host-1")) // nothing is left under way
		c.must(c.MarkGone(c.Context(), b.id, By{}))
		c.is("S0 gone")
	})
}

func TestWhatIsAskedForAnAgentThatIsBeingForgottenFindsNone(t *testing.T) {
	for name, call := range map[string]func(*cluster, registry.AgentID) error{
		"drain":      func(c *cluster, id registry.AgentID) error { return c.Drain(c.Context(), id, DrainConfig{}, By{}) },
		"deactivate": func(c *cluster, id registry.AgentID) error { return c.Deactivate(c.Context(), id, By{}) },
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, forgets, func(c *cluster) {
				a := c.join(newcomer("host-1"))
				release := c.pruning(a)
				asked := background(c, func() error { return call(c, a.id) })
				release(nil)
				c.wantsErr(name, <-asked, ops.ErrNotKnown)
				c.must(c.Err())
				c.is()
			})
		})
	}
}

func TestAgentThatComesBackWhileItIsForgottenIsAMember(t *testing.T) {
	inCluster(t, forgets, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		release := c.pruning(a)
		returned := background(c, func() error { _, err := c.subscribe(comesBack(a.id, "host-1")); return err })
		release(nil)
		c.must(<-returned)
		c.must(c.Err())
		c.is("S0 connected tasks=0")
		if n := c.Stats().Pruned; n != 1 {
			c.Errorf("%d were forgotten, want the one that came a moment later", n)
		}
	})
}

func TestAgentForWhichSomethingIsUnderWayIsNotForgotten(t *testing.T) {
	inCluster(t, forgets, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		c.lose(a)
		c.pass(time.Hour)
		release := c.gate.hold()
		returned := background(c, func() error { _, err := c.subscribe(comesBack(a.id, "host-1")); return err })
		c.pass(15 * time.Minute)
		release(nil)
		c.must(<-returned)
		c.settle()
		c.is("S0 connected tasks=0")
		if n := c.Stats().Pruned; n != 0 {
			c.Errorf("%d were forgotten, want none", n)
		}
	})
}

func TestAgentsAreForgottenOnceWhenTheDiskIsSlow(t *testing.T) {
	inCluster(t, forgets, func(c *cluster) {
		c.crash()
		c.batch = 1 // so that the two operations do not end together
		c.start()
		gone, lost := c.join(newcomer("host-1")), c.join(newcomer("host-2"))
		c.must(c.MarkGone(c.Context(), gone.id, By{}))
		first := c.pruning(lost)
		second := c.gate.hold()
		first(nil)
		c.settle()
		c.is("S0 gone") // the unreachable one is forgotten, the other is not yet
		c.pass(time.Hour)
		second(nil)
		c.settle()
		c.is()
		if n := c.Stats().Pruned; n != 2 {
			c.Errorf("%d were forgotten, want 2", n)
		}
	})
}
