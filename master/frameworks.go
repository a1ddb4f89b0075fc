package master

import (
	"slices"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
)

// framework finds a framework, or begins one of which only the ID is known. It
// is about to be changed.
func (l *loop) framework(id string) *working {
	w := l.working[id]
	if w == nil {
		w = &working{info: wire.FrameworkInfo{ID: id}, registered: l.now}
		l.working[id] = w
	}
	l.touch(w)
	return w
}

// touch has a framework published anew.
func (l *loop) touch(w *working) {
	if !w.changed {
		w.changed = true
		l.touched = append(l.touched, w)
	}
	l.changed = true
}

// learn takes in what an agent says of a framework.
func (l *loop) learn(info *wire.FrameworkInfo) *working {
	w := l.framework(info.ID)
	w.info = *info
	return w
}

func (l *loop) know(frameworks []wire.FrameworkInfo) {
	for i := range frameworks {
		l.learn(&frameworks[i])
	}
}

// hold works out which frameworks an agent has something of: those of its tasks
// and executors, those that it has just named, and others that it named before.
func (l *loop) hold(m *member, a *Agent, named []wire.FrameworkInfo, others []string) {
	now := others
	for i := range named {
		now = append(now, named[i].ID)
	}
	for _, t := range a.Tasks {
		now = append(now, t.FrameworkID)
	}
	for _, e := range a.Executors {
		now = append(now, e.FrameworkID)
	}
	slices.Sort(now)
	now = slices.Clip(slices.Compact(now))
	before := m.holds
	m.holds = now
	for _, id := range now {
		if _, had := slices.BinarySearch(before, id); !had {
			l.heldBy(l.framework(id))
		}
	}
	for _, id := range before {
		if _, has := slices.BinarySearch(now, id); !has {
			l.framework(id).agents--
		}
	}
}

// unmentioned are the frameworks that an agent holds and an update does not speak
// of, nor has it anything of them: it named them once, and may begin with them.
func unmentioned(m *member, before *Agent, u *wire.Update) []string {
	said := map[string]bool{}
	for _, t := range before.Tasks {
		said[t.FrameworkID] = true
	}
	for _, e := range before.Executors {
		said[e.FrameworkID] = true
	}
	for i := range u.Tasks {
		said[u.Tasks[i].FrameworkID] = true
	}
	for _, ref := range u.RemovedTasks {
		said[ref.FrameworkID] = true
	}
	for _, ref := range u.RemovedExecutors {
		said[ref.FrameworkID] = true
	}
	return slices.DeleteFunc(slices.Clone(m.holds), func(id string) bool { return said[id] })
}

// heldBy counts an agent that holds a framework. One that had been found to have
// ended has not.
func (l *loop) heldBy(w *working) {
	w.agents++
	if !w.unregistered.IsZero() {
		w.unregistered = time.Time{}
		l.ended = slices.DeleteFunc(l.ended, func(e *working) bool { return e == w })
	}
}

// endEmpty moves the frameworks of which nothing is left to those that have
// ended: no task and no executor, no unreachable task that may come back, and no
// agent that names it. While agents are missing since a failover, they may have
// something of any framework, and none ends; with the last of them all are looked
// at once.
func (l *loop) endEmpty() {
	if l.recovered.Len() > 0 {
		return
	}
	if l.missed {
		l.missed = false
		for _, w := range l.working {
			l.maybeEnd(w)
		}
	}
	for i := 0; i < len(l.touched); i++ { // it grows
		l.maybeEnd(l.touched[i])
	}
}

func (l *loop) maybeEnd(w *working) {
	if !w.empty() || !w.unregistered.IsZero() || l.working[w.info.ID] != w {
		return
	}
	l.touch(w)
	w.unregistered = l.now
	l.ended = append(l.ended, w)
	for len(l.ended) > max(l.o.MaxCompletedFrameworks, 0) {
		old := l.ended[0]
		l.touch(old)
		l.frameworks.Delete(old.info.ID)
		delete(l.working, old.info.ID)
		l.ended = l.ended[1:]
	}
}
