package master

import (
	"fmt"
	"sync"
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// TestNoStateHasAnAgentThatItsRegistryHasNotAdmitted: what is durable is ahead
// of the loop; no reader may see by how much.
func TestNoStateHasAnAgentThatItsRegistryHasNotAdmitted(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		var agents []*agent
		for i := range 300 {
			agents = append(agents, c.join(newcomer(fmt.Sprint("host-", i))))
		}
		var others sync.WaitGroup
		for i, a := range agents {
			others.Go(func() {
				for n := range uint64(20) {
					a.Receive(&wire.Update{Sequence: n + 2})
				}
				if i%2 == 0 {
					c.must(c.Remove(c.Context(), a.id, By{}))
				} else {
					c.must(c.MarkGone(c.Context(), a.id, By{}))
				}
			})
		}
		left := make(chan struct{})
		go func() { others.Wait(); close(left) }()
		for seen := uint64(0); ; {
			if s := c.State(); s.Version != seen {
				seen = s.Version
				for a := range s.Agents() {
					if e, known := s.Registry.Entry(a.Info.ID); !known || e.State() != registry.Admitted {
						c.Fatalf("agent %q is in version %d and not admitted there", a.Info.ID, s.Version)
					}
				}
			}
			select {
			case <-left:
				return
			default:
			}
		}
	})
}
