package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// MarkGone says that an agent will never come back, whether it is here, missing
// since a failover, or unreachable. It is told to shut down, now or when it comes.
// An agent that is gone stays so, without an error.
//
// An error of this and the other calls of operators is [ErrNotNow] (503),
// [ErrEnded] or the end of ctx, after which it may still be done, or an
// [*ops.Error] with the reason why not: [ops.ErrNotKnown] (404) or another (400).
func (m *Master) MarkGone(ctx context.Context, id registry.AgentID, by By) error {
	return m.order(ctx, "mark gone", id, func(l *loop, m *member, s registry.Status, answer func(error)) error {
		if s.State == registry.Gone {
			answer(nil)
			return nil
		}
		return l.markGone(m, by, answer)
	})
}

// Remove forgets an agent that is admitted; if it is connected, it is told to
// shut down. Its ID can be admitted again.
func (m *Master) Remove(ctx context.Context, id registry.AgentID, by By) error {
	return m.order(ctx, "remove", id, func(l *loop, m *member, s registry.Status, answer func(error)) error {
		if s.State != registry.Admitted {
			return &ops.Error{Op: "remove", Agent: id, Err: fmt.Errorf("%w: it is %v", ops.ErrNotAdmitted, s.State)}
		}
		return l.remove(m, by, func() {
			l.stats.RemovalsOperator++
			l.shutdown(m, fmt.Sprintf("agent %q was removed", string(id)))
		}, answer)
	})
}

// order is a call of an operator about one agent that the registry knows, and
// for which nothing else is under way. f answers, or returns why not.
func (m *Master) order(ctx context.Context, op string, id registry.AgentID,
	f func(l *loop, m *member, s registry.Status, answer func(error)) error) error {
	return m.do(ctx, func(l *loop, answer func(error)) {
		if err := l.order(op, id, f, answer); err != nil {
			answer(err)
		}
	})
}

func (l *loop) order(op string, id registry.AgentID,
	f func(l *loop, m *member, s registry.Status, answer func(error)) error, answer func(error)) error {
	if m := l.members[id]; m != nil && m.doing != nothing {
		return notNow(fmt.Sprintf("agent %q is %s", string(id), m.doing))
	}
	e, known := l.registrar.Snapshot().Entry(id)
	if !known {
		return &ops.Error{Op: op, Agent: id, Err: ops.ErrNotKnown}
	}
	m := l.member(id)
	err := f(l, m, e.Status(), answer)
	if m.doing == nothing && !l.present(id) {
		delete(l.members, id)
	}
	return err
}

// markGone begins to mark an agent gone. One that is unreachable may be forgotten
// first, by a prune that was under way: it is not known then.
func (l *loop) markGone(m *member, by By, answer func(error)) error {
	at := l.now
	return l.submit(m, markingGone, ops.MarkGone{ID: m.id, At: at}, by, func(refusal error) {
		if errors.Is(refusal, ops.ErrNotKnown) && !l.present(m.id) {
			answer(refusal)
			l.settle(m)
			return
		}
		if !l.must(refusal) {
			return
		}
		l.becomeGone(m, at)
		answer(nil)
	})
}

// becomeGone cleans every list (MESOS-9545, MESOS-9739).
func (l *loop) becomeGone(m *member, at time.Time) {
	if l.present(m.id) {
		l.stats.Removals++
		l.stats.RemovalsGone++
	}
	if a, ok := l.agent(m.id); ok {
		l.endTasks(m, a, wire.TaskGoneByOperator, "REASON_SLAVE_REMOVED", at)
	}
	l.endUnreachable(m.id, wire.TaskGoneByOperator, at)
	l.waiting.budget.forgive(m.id)
	l.shutdown(m, (&GoneError{m.id}).Error())
	l.leave(m)
	l.note(markedGone, m.id)
	l.settle(m)
}

// shutdown sends a connected agent away for good.
func (l *loop) shutdown(m *member, reason string) {
	if s := m.stream; s != nil {
		l.tell(func() { s.end(&wire.Shutdown{Reason: reason}) })
	}
}

// leaving is an UNREGISTER that came up a stream.
type leaving struct {
	stream   *Stream
	sequence uint64
}

// unregister lets an agent go. If it is being marked unreachable or gone
// already, that comes first, and this is dropped; anything else it waits for.
func (l *loop) unregister(m *member, from *leaving) {
	if m.stream != nil && m.stream != from.stream { // it has come back since
		l.stats.DroppedMessages++
		return
	}
	switch m.doing {
	case nothing:
	case markingUnreachable, markingGone, removing:
		l.stats.DroppedMessages++
		return
	default:
		m.leaving = from
		return
	}
	err := l.remove(m, By{Reason: "the agent unregistered"}, func() {
		l.stats.RemovalsUnregistered++
		l.tell(func() {
			from.stream.acknowledge(from.sequence)
			from.stream.end(nil)
		})
	}, func(error) {})
	if err != nil {
		m.leaving = from
		l.postpone(m)
	}
}

// remove begins to forget an admitted agent.
func (l *loop) remove(m *member, by By, left func(), answer func(error)) error {
	at := l.now
	return l.submit(m, removing, ops.Remove{ID: m.id}, by, func(refusal error) {
		if !l.must(refusal) {
			return
		}
		l.stats.Removals++
		left()
		if a, ok := l.agent(m.id); ok {
			l.endTasks(m, a, wire.TaskGone, "REASON_SLAVE_REMOVED", at)
		}
		l.leave(m)
		l.note(removed, m.id, "principal", by.Principal, "reason", by.Reason)
		answer(nil)
		l.settle(m)
	})
}

// postpone has a member settled later, for the registrar had no room.
func (l *loop) postpone(m *member) {
	l.postponed = append(l.postponed, m)
	l.retryLater()
}

func (l *loop) retryLater() { l.alarms.retryAt = l.Master.now() + time.Second }

func (l *loop) retry() {
	again := l.postponed
	l.postponed = nil
	for _, m := range again {
		if l.members[m.id] == m && m.doing == nothing {
			l.settle(m)
		}
	}
}
