package master

import (
	"container/list"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// deadlines are agents that are to come back within the same delay, so that
// they stand in the order in which they are due.
type deadlines struct {
	delay time.Duration
	list  list.List
}

func (d *deadlines) add(m *member, now time.Duration) {
	d.remove(m)
	m.due = now + d.delay
	m.away = d.list.PushBack(m)
}

func (d *deadlines) remove(m *member) {
	if m.away != nil {
		d.list.Remove(m.away)
		m.away = nil
	}
}

func (d *deadlines) first() *member {
	if front := d.list.Front(); front != nil {
		return front.Value.(*member)
	}
	return nil
}

// alarms are what happens at a time for no single agent.
type alarms struct {
	recoveryAt       time.Duration // the end of the wait for recovered agents; 0 once it came
	recoveredAtFirst int
	late             []registry.AgentID // did not come back in time, and wait to be scheduled
	lateEach         int                // so many at a time
	lateAt           time.Duration      // when; 0 for none
	gcAt             time.Duration
	pruning          int           // operations under way that forget agents
	checkAt          time.Duration // whether the registrar has failed
	retryAt          time.Duration // of what the registrar had no room for; 0 for nothing
}

func newAlarms(o Options, now time.Duration) alarms {
	return alarms{recoveryAt: now + o.AgentReregisterTimeout, gcAt: now + o.RegistryGCInterval, checkAt: now + o.PingTimeout}
}

// tick does what is due, and sets the timer for what comes next.
func (l *loop) tick() {
	if l.failed != nil {
		return
	}
	now := l.Master.now()
	for m := l.away.first(); m != nil && m.due <= now; m = l.away.first() {
		l.away.remove(m)
		l.scheduleUnreachable(m)
	}
	if at := l.alarms.recoveryAt; at != 0 && at <= now {
		l.alarms.recoveryAt = 0
		l.endRecovery()
	}
	if at := l.alarms.lateAt; at != 0 && at <= now {
		l.scheduleLate()
	}
	if l.alarms.gcAt <= now {
		l.alarms.gcAt = now + l.o.RegistryGCInterval
		l.prune()
	}
	if l.alarms.checkAt <= now {
		l.alarms.checkAt = now + l.o.PingTimeout
		if err := l.registrar.Stats().Failed; err != nil {
			l.fail(err)
		}
	}
	if at := l.alarms.retryAt; at != 0 && at <= now {
		l.alarms.retryAt = 0
		l.retry()
	}
	l.markWaiting()
	l.timer.Reset(max(l.nextTick()-now, 0))
}

func (l *loop) nextTick() time.Duration {
	next := min(l.alarms.gcAt, l.alarms.checkAt)
	if m := l.away.first(); m != nil {
		next = min(next, m.due)
	}
	for _, at := range []time.Duration{l.alarms.recoveryAt, l.alarms.lateAt, l.alarms.retryAt, l.waiting.nextAt} {
		if at != 0 {
			next = min(next, at)
		}
	}
	return next
}
