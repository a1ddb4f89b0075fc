package master

import (
	"context"
	"slices"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// DrainConfig says how an agent is drained.
type DrainConfig struct {
	MaxGrace *time.Duration // how long a task may take to end; nil keeps that of an earlier drain
	MarkGone bool           // mark the agent gone once it is drained
}

// Drain orders an agent to end its tasks and take no new ones. Once it has no
// tasks it is drained, or gone if that was asked for. One that is away gets the
// order when it comes back. See [Master.MarkGone] for errors; [ErrCannotDrain] is
// one more.
func (m *Master) Drain(ctx context.Context, id registry.AgentID, c DrainConfig, by By) error {
	return m.order(ctx, "drain", id, func(l *loop, m *member, s registry.Status, answer func(error)) error {
		if a, ok := l.find(id); ok && !slices.Contains(a.Capabilities, drainCapability) {
			return &ops.Error{Op: "drain", Agent: id, Err: ErrCannotDrain}
		}
		return l.decide(m, ops.Drain{ID: id, MaxGrace: c.MaxGrace, MarkGone: c.MarkGone}, by, answer)
	})
}

// Deactivate keeps new tasks off an agent. See [Master.MarkGone] for errors.
func (m *Master) Deactivate(ctx context.Context, id registry.AgentID, by By) error {
	return m.order(ctx, "deactivate", id, func(l *loop, m *member, s registry.Status, answer func(error)) error {
		return l.decide(m, ops.Deactivate{ID: id}, by, answer)
	})
}

// Reactivate ends a deactivation, or a drain that is done. See [Master.MarkGone]
// for errors; [ErrNotDeactivated] and [ops.ErrDraining] are two more.
func (m *Master) Reactivate(ctx context.Context, id registry.AgentID, by By) error {
	return m.order(ctx, "reactivate", id, func(l *loop, m *member, s registry.Status, answer func(error)) error {
		if s.State != registry.Gone && !s.Deactivated {
			return &ops.Error{Op: "reactivate", Agent: id, Err: ErrNotDeactivated}
		}
		return l.decide(m, ops.Reactivate{ID: id}, by, answer)
	})
}

// decide begins a change of what the cluster wants of an agent.
func (l *loop) decide(m *member, op ops.Operation, by By, answer func(error)) error {
	return l.submit(m, deciding, op, by, func(refusal error) {
		if refusal == nil {
			l.follow(m)
		}
		answer(refusal)
		l.settle(m)
	})
}

// follow takes over the status of an agent that is here from the registry, and
// tells it to drain if it is to.
func (l *loop) follow(m *member) {
	a, ok := l.agent(m.id)
	if !ok {
		return
	}
	e, _ := l.registrar.Snapshot().Entry(m.id)
	a.Status = e.Status()
	l.noteDrain(a)
	l.put(m, a)
	if s, drain := m.stream, a.Status.Drain; s != nil && drain.State == registry.Draining {
		l.tell(func() { s.push(&wire.Drain{MaxGrace: drain.MaxGrace, MarkGone: drain.MarkGone}) })
	}
}

// checkDrained ends the drain of an agent that has told all and has no task left.
// One that is unreachable, or missing since a failover, may have some still
// (MESOS-9934).
func (l *loop) checkDrained(m *member) {
	a, here := l.find(m.id)
	if !here || m.doing != nothing || a.Status.Drain.State != registry.Draining || a.TasksLen() > 0 {
		return
	}
	var err error
	by := By{Reason: "the agent is drained"}
	if a.Status.Drain.MarkGone {
		err = l.markGone(m, by, func(error) { l.stats.Drained++ })
	} else {
		err = l.decide(m, ops.MarkDrained{ID: m.id}, by, func(refusal error) {
			if l.must(refusal) {
				l.stats.Drained++
			}
		})
	}
	if err != nil {
		l.postpone(m)
	}
}
