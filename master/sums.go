package master

import (
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// sums is what agents have, and what is used there. The loop keeps it as agents
// change: to add it up costs a walk over all that runs in the cluster.
type sums struct {
	connected, active int
	total, used       wire.Usage
}

// add counts an agent n times, -1 to count it no more.
func (s *sums) add(a *Agent, n int64) {
	if a.Connected {
		s.connected += int(n)
	}
	if a.Active() {
		s.active += int(n)
	}
	s.total.Add(&a.total, n)
	s.used.Add(&a.used, n)
}

// has notes what an agent has.
func (a *Agent) has(list []registry.Resource) {
	a.Resources, a.total = list, wire.Usage{}
	for _, r := range list {
		one := wire.UsageOf([]wire.Resource{{Resource: r}})
		a.total.Add(&one, 1)
	}
}

// uses notes that a task or an executor of a framework uses something on an agent;
// -1 that it does not any more.
func uses(a *Agent, w *working, u wire.Usage, n int64) {
	a.used.Add(&u, n)
	w.used.Add(&u, n)
}
