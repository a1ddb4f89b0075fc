package master

import (
	"container/list"
	"time"
)

// wheelSlots is into how many parts the wheel spreads the agents.
const wheelSlots = 64

// wheel goes by all connected agents once in an interval, a part of them at a
// time. Adding and removing costs O(1), and nothing wakes up for a single agent.
type wheel struct {
	step  time.Duration // from one slot to the next
	due   time.Duration // when the next slot's turn is, by the age of the master
	next  int
	fill  int // the slot for the next agent, so that they spread
	count int
	slots [wheelSlots][]*member
}

// slot is a place in the wheel.
type slot struct{ wheel, index int }

func newWheel(interval, now time.Duration) wheel {
	step := max(interval/wheelSlots, 1)
	return wheel{step: step, due: now + step}
}

func (w *wheel) add(m *member) {
	m.slot = slot{w.fill, len(w.slots[w.fill])}
	w.slots[w.fill] = append(w.slots[w.fill], m)
	w.fill = (w.fill + 1) % wheelSlots
	w.count++
}

func (w *wheel) remove(m *member) {
	s := w.slots[m.slot.wheel]
	last := s[len(s)-1]
	s[m.slot.index], last.slot.index = last, m.slot.index
	s[len(s)-1] = nil
	w.slots[m.slot.wheel] = s[:len(s)-1]
	w.count--
}

// turn visits the agents whose turn it is. After a long wait it goes round once.
func (w *wheel) turn(now time.Duration, visit func(*member)) {
	for range wheelSlots {
		if w.due > now {
			return
		}
		for _, m := range w.slots[w.next] {
			visit(m)
		}
		w.next = (w.next + 1) % wheelSlots
		w.due += w.step
	}
	w.due = max(w.due, now+w.step)
}

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
	l.wheel.turn(now, func(m *member) { l.visit(m, now) })
	for m := l.away.first(); m != nil && m.due <= now; m = l.away.first() {
		l.away.remove(m)
		l.scheduleUnreachable(m)
	}
	if at := l.alarms.recoveryAt; at != 0 && at <= now {
		l.alarms.recoveryAt = 0
		l.endRecovery()
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
	if l.wheel.count > 0 {
		next = min(next, l.wheel.due)
	}
	if m := l.away.first(); m != nil {
		next = min(next, m.due)
	}
	for _, at := range []time.Duration{l.alarms.recoveryAt, l.alarms.retryAt, l.waiting.nextAt} {
		if at != 0 {
			next = min(next, at)
		}
	}
	return next
}

// visit looks after a connected agent once in an interval.
func (l *loop) visit(m *member, now time.Duration) {
	s := m.stream
	s.keepAlive(now - l.o.PingTimeout/2) // so that no pause is longer than an interval and a half
	if l.silent(m, now) {
		l.scheduleUnreachable(m)
	} else if m.waits != nil {
		l.back(m)
	}
}

// silent says that nothing came from a connected agent for too long.
func (l *loop) silent(m *member, now time.Duration) bool {
	return now-time.Duration(m.stream.heard.Load()) >= l.o.PingTimeout*time.Duration(l.o.MaxPingTimeouts)
}
