package master

import (
	"reflect"
	"slices"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
)

// framework finds a framework, or begins one of which only the ID is known. It
// is about to be changed.
func (l *loop) framework(id string) *working {
	w := l.working[id]
	if w == nil {
		w = newWorking(id, l.now)
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
func (l *loop) learn(info *wire.FrameworkInfo) {
	if w := l.working[info.ID]; w != nil && reflect.DeepEqual(&w.info, info) {
		return
	}
	l.framework(info.ID).info = *info
}

func (l *loop) know(frameworks []wire.FrameworkInfo) {
	for i := range frameworks {
		l.learn(&frameworks[i])
	}
}

// hold is what an agent has to do with a framework.
type hold struct {
	has     int  // how many tasks and executors of it run on the agent
	named   bool // the agent named it, and has not had anything of it since
	held    bool // it counts among the agents that hold the framework
	changed bool // since the holds were settled
}

// hold finds what an agent has to do with a framework, to be changed.
func (m *member) hold(framework string) *hold {
	h := m.holds[framework]
	if h == nil {
		h = &hold{}
		if m.holds == nil {
			m.holds = map[string]*hold{}
		}
		m.holds[framework] = h
	}
	if !h.changed {
		h.changed = true
		m.unsettled = append(m.unsettled, framework)
	}
	return h
}

// has notes that an agent has so many more tasks and executors of a framework.
func (m *member) has(framework string, more int) {
	h := m.hold(framework)
	h.has += more
	h.named = false
}

// name notes frameworks that an agent has just named.
func (m *member) name(frameworks []wire.FrameworkInfo) {
	for i := range frameworks {
		m.hold(frameworks[i].ID).named = true
	}
}

// settleHolds counts an agent for the frameworks that it holds now, and no more
// for those that it let go of.
func (l *loop) settleHolds(m *member) {
	for _, id := range m.unsettled {
		h := m.holds[id]
		h.changed = false
		holds := h.has > 0 || h.named
		switch {
		case holds && !h.held:
			l.heldBy(l.framework(id))
		case !holds && h.held:
			l.framework(id).agents--
		}
		if h.held = holds; !holds {
			delete(m.holds, id)
		}
	}
	m.unsettled = m.unsettled[:0]
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
		l.frameworks.Delete(l.edit, &Framework{Info: old.info})
		delete(l.working, old.info.ID)
		l.hideMetrics(old)
		l.ended = l.ended[1:]
	}
}
