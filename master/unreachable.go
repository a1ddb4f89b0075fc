package master

import (
	"container/list"
	"time"

	"golang.org/x/time/rate"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// waiting are the agents that are to be marked unreachable, until the rate and
// the budget allow it. A token of the rate is taken only when an agent is
// marked: one that comes back before costs those behind it nothing (MESOS-8386).
type waiting struct {
	list    *list.List
	held    map[registry.Domain]*list.List // whose fault domain is frozen
	limiter *rate.Limiter
	budget  budget
	nextAt  time.Duration // when the rate allows the next; 0 if that is not it
}

func newWaiting(o Options) waiting {
	w := waiting{list: list.New(), held: map[registry.Domain]*list.List{}, budget: newBudget(o.RemovalBudget)}
	w.limiter = rate.NewLimiter(rate.Inf, 1)
	if r := o.AgentRemovalRateLimit; r.Count > 0 && r.Per > 0 {
		w.limiter = rate.NewLimiter(rate.Limit(float64(r.Count)/r.Per.Seconds()), 1)
	}
	return w
}

func (w *waiting) add(m *member, to *list.List) {
	w.remove(m)
	m.line, m.waits = to, to.PushBack(m)
	w.budget.waits(m, 1)
}

func (w *waiting) remove(m *member) bool {
	if m.waits == nil {
		return false
	}
	m.line.Remove(m.waits)
	m.line, m.waits = nil, nil
	w.budget.waits(m, -1)
	return true
}

// len is how many wait.
func (w *waiting) len() int { return w.budget.all.waiting }

// scheduleUnreachable puts an agent into the line, or leaves a note for the end
// of what is under way for it.
func (l *loop) scheduleUnreachable(m *member) {
	if m.doing != nothing {
		m.overdue = true
		return
	}
	if m.waits != nil {
		return
	}
	l.stats.UnreachableScheduled++
	l.waiting.add(m, l.waiting.list)
}

// back takes an agent out of the line.
func (l *loop) back(m *member) {
	m.overdue, m.exempt = false, false
	if l.waiting.remove(m) {
		l.stats.UnreachableCanceled++
	}
}

// endRecovery gives up waiting for agents after a failover.
func (l *loop) endRecovery() {
	missing, of := l.recovered.Len(), l.alarms.recoveredAtFirst
	if limit := l.o.RecoveryAgentRemovalLimit; missing > 0 && float64(missing) > max(limit, 0)*float64(of) {
		l.fail(&RecoveryError{Missing: missing, Recovered: of, Limit: max(limit, 0)})
		return
	}
	for a := range l.recovered.All() {
		l.alarms.late = append(l.alarms.late, a.ID)
	}
	l.alarms.lateEach = missing
	if l.o.AgentRemovalRateLimit.Count == 0 { // else that spreads them
		l.alarms.lateEach = (missing + lateSteps - 1) / lateSteps
	}
	l.scheduleLate()
}

// Agents that did not come back after a failover are scheduled in so many steps,
// over this part of AgentReregisterTimeout: their time ends at the same moment, and
// all their tasks are started elsewhere.
const (
	lateSteps = 20
	latePart  = 10
)

// scheduleLate schedules the next of them.
func (l *loop) scheduleLate() {
	some := l.alarms.late[:min(l.alarms.lateEach, len(l.alarms.late))]
	for _, id := range some {
		if l.isRecovered(id) {
			l.scheduleUnreachable(l.member(id))
		}
	}
	l.alarms.late, l.alarms.lateAt = l.alarms.late[len(some):], 0
	if len(l.alarms.late) > 0 {
		l.alarms.lateAt = l.Master.now() + l.o.AgentReregisterTimeout/latePart/lateSteps
	}
}

// markWaiting begins to mark those whose turn it is.
func (l *loop) markWaiting() {
	w := &l.waiting
	now := l.Master.now()
	w.nextAt = 0
	l.thaw(now)
	at := l.now // one timestamp for all of a turn
	for !w.budget.all.frozen() && l.failed == nil {
		front := w.list.Front()
		if front == nil {
			break
		}
		m := front.Value.(*member)
		if m.doing != nothing { // it may come back
			m.overdue = true
			w.remove(m)
			l.stats.UnreachableCanceled++
			continue
		}
		if !m.exempt && !l.affordable(m, now) {
			continue
		}
		if !l.token(now) {
			break
		}
		if !l.markUnreachable(m, at) {
			break
		}
	}
	l.stats.UnreachableWaiting, l.stats.FrozenSince = w.len(), time.Time{}
	if len(l.frozen) > 0 {
		l.stats.FrozenSince = l.frozen[0].Since // the oldest stands first
	}
}

// token takes a token of the rate, or sets the time for the next.
func (l *loop) token(now time.Duration) bool {
	t := l.started.Add(now)
	r := l.waiting.limiter.ReserveN(t, 1)
	delay := r.DelayFrom(t)
	if delay == 0 {
		return true
	}
	r.CancelAt(t)
	l.waiting.nextAt = now + delay
	return false
}

// markUnreachable begins the transition.
func (l *loop) markUnreachable(m *member, at time.Time) bool {
	err := l.submit(m, markingUnreachable, ops.MarkUnreachable{ID: m.id, At: at}, By{}, func(refusal error) {
		if l.must(refusal) {
			l.becomeUnreachable(m, at)
		}
	})
	if err != nil { // it has its turn again
		l.retryLater()
		return false
	}
	l.waiting.remove(m)
	l.waiting.budget.marks(m, l.Master.now())
	return true
}

// becomeUnreachable is the same whether the agent was here or is missing since a
// failover (MESOS-6445).
func (l *loop) becomeUnreachable(m *member, at time.Time) {
	l.stats.Removals++
	l.stats.RemovalsUnhealthy++
	l.stats.UnreachableCompleted++
	if l.isRecovered(m.id) {
		l.stats.RecoveryRemovals++
	}
	if a, ok := l.agent(m.id); ok {
		l.loseTasks(m, a, at)
	}
	l.leave(m)
	l.note(unreachable, m.id)
	l.settle(m)
}
