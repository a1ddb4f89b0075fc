package master

import (
	"cmp"
	"slices"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// maxPrune is how many agents one operation forgets, so that those of others get
// their turn in between.
const maxPrune = 10_000

// prune forgets agents that have been unreachable or gone for too long, or too
// many. One for which something is under way has its turn at the next interval,
// so that all of those that the operations name are forgotten by them; what is
// asked for after finds an agent that is not known.
func (l *loop) prune() {
	if l.alarms.pruning > 0 {
		return
	}
	unreachable, gone := l.expired(registry.Unreachable), l.expired(registry.Gone)
	for ids := range slices.Chunk(unreachable, maxPrune) {
		l.submitPrune(ops.Prune{Unreachable: ids}, ids)
	}
	for ids := range slices.Chunk(gone, maxPrune) {
		l.submitPrune(ops.Prune{Gone: ids}, ids)
	}
}

// expired lists the agents of a state that are to be forgotten.
func (l *loop) expired(s registry.State) (ids []registry.AgentID) {
	all := slices.Collect(l.registrar.Snapshot().Entries(s))
	slices.SortFunc(all, func(a, b registry.Entry) int { return cmp.Compare(a.Since(), b.Since()) })
	for i, e := range all {
		if len(all)-i > l.o.RegistryMaxAgentCount || l.now.Sub(e.Status().At) > l.o.RegistryMaxAgentAge {
			if m := l.members[e.ID()]; m == nil || m.doing == nothing {
				ids = append(ids, e.ID())
			}
		}
	}
	return ids
}

func (l *loop) submitPrune(op ops.Prune, ids []registry.AgentID) {
	c := &change{then: func(refusal error) {
		l.alarms.pruning--
		if !l.must(refusal) {
			return
		}
		l.stats.Pruned += uint64(len(ids))
		for _, id := range ids {
			l.takeUnreachable(id)
			l.waiting.budget.forgive(id)
		}
		l.log.Info("agents were forgotten", "count", len(ids))
	}}
	if l.begin(c, op, By{Reason: "unreachable or gone for too long"}) == nil { // else at the next interval
		l.alarms.pruning++
	}
}
