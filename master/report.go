package master

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// receive takes in what came up a stream.
func (l *loop) receive(s *Stream, sequence uint64, call wire.Call) {
	m := l.members[s.id]
	if m == nil || m.stream != s {
		l.stats.DroppedMessages++
		return
	}
	switch call := call.(type) {
	case *wire.Unregister:
		l.unregister(m, &leaving{s, sequence})
		return // it is acknowledged once it is durable
	case *wire.Update:
		l.update(m, call)
	}
	l.tell(func() { s.acknowledge(sequence) })
}

// update takes in what changed on an agent: O(what changed), whatever it has. If
// that is nothing, there is no new State either.
func (l *loop) update(m *member, u *wire.Update) {
	a, _ := l.agent(m.id)
	changed := u.Resources != nil && !sameResources(a.Resources, u.Resources)
	if changed {
		a.has(u.Resources)
	}
	l.know(u.Frameworks)
	for _, ref := range u.RemovedTasks {
		m.hold(ref.FrameworkID).named = false
		if t := l.take(m, a, ref.FrameworkID, ref.ID); t != nil {
			changed = true
			l.vanish(t)
		}
	}
	for _, ref := range u.RemovedExecutors {
		m.hold(ref.FrameworkID).named = false
		changed = l.takeExecutor(m, a, ref.FrameworkID, ref.ID) || changed
	}
	changed = l.reported(m, a, u.Tasks) || changed
	changed = l.reportedExecutors(m, a, u.Executors) || changed
	m.name(u.Frameworks)
	l.settleHolds(m)
	if changed {
		l.put(m, a)
	}
	l.checkDrained(m)
}

func sameResources(a, b []registry.Resource) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// report takes in all that an agent has, in place of what was known of it: what
// it had and does not speak of has ended. All its unreachable tasks are with it
// again, or lost (MESOS-8750).
func (l *loop) report(m *member, a *Agent, call *wire.Subscribe) {
	before := l.clear(m, a)
	before = append(before, l.takeUnreachable(m.id)...)
	l.know(call.Frameworks)
	l.reported(m, a, call.Tasks)
	l.reportedExecutors(m, a, call.Executors)
	for i := range call.CompletedTasks {
		l.remember(m.id, &call.CompletedTasks[i])
	}
	for i := range call.CompletedFrameworks {
		f := &call.CompletedFrameworks[i]
		l.learn(&f.Info)
		for j := range f.Tasks {
			f.Tasks[j].FrameworkID = f.Info.ID
			l.remember(m.id, &f.Tasks[j])
		}
	}
	for _, t := range before {
		w := l.framework(t.FrameworkID)
		if _, here := w.tasks.Get(t); !here && !w.completed.has(keyOf(t)) {
			l.vanish(t)
		}
	}
	m.name(call.Frameworks)
	l.settleHolds(m)
}

// clear takes off an agent all that it had, and returns the tasks. What it held
// is not let go of yet: it may have it again in a moment.
func (l *loop) clear(m *member, a *Agent) []*wire.Task {
	tasks := slices.Collect(a.Tasks())
	for _, t := range tasks {
		l.take(m, a, t.FrameworkID, t.ID)
	}
	for _, e := range slices.Collect(a.Executors()) {
		l.takeExecutor(m, a, e.FrameworkID, e.ID)
	}
	for id := range m.holds {
		m.hold(id).named = false
	}
	return tasks
}

// reported takes in tasks that an agent tells of, and says whether there was news
// of any.
func (l *loop) reported(m *member, a *Agent, tasks []wire.Task) (news bool) {
	for i := range tasks {
		t := tasks[i] // one that is dropped does not keep the others
		t.AgentID, t.Statuses = m.id, fold(t.Statuses)
		if old, ok := a.tasks.Get(&t); ok && sameTask(old, &t) {
			m.has(t.FrameworkID, 0)
			continue
		}
		news = true
		w := l.framework(t.FrameworkID)
		if t.State.Terminal() {
			l.take(m, a, t.FrameworkID, t.ID)
			l.complete(w, &t)
			continue
		}
		w.completed.take(l.edit, keyOf(&t))
		if old, was := w.tasks.Set(l.edit, &t); was {
			l.count(w, old.State, -1)
			uses(a, w, old.Usage(), -1)
		}
		uses(a, w, t.Usage(), 1)
		l.count(w, t.State, 1)
		n := a.tasks.Len()
		a.tasks.Set(l.edit, &t)
		l.pods.task(&t, here)
		m.has(t.FrameworkID, a.tasks.Len()-n)
	}
	return news
}

// sameTask reports whether nothing that was said of a task is new.
func sameTask(old, now *wire.Task) bool {
	n := len(now.Statuses)
	if old.State != now.State || len(old.Statuses) != n || n > 0 && old.Statuses[n-1].Timestamp != now.Statuses[n-1].Timestamp {
		return false // as it nearly always is
	}
	a, b := *old, *now
	a.Packed, b.Packed = nil, nil
	a.Uses = b.Uses
	return reflect.DeepEqual(&a, &b)
}

// remember writes down a task that ended before this master heard of it.
func (l *loop) remember(id registry.AgentID, t *wire.Task) {
	c := *t
	c.AgentID, c.Statuses = id, fold(c.Statuses)
	w := l.framework(c.FrameworkID)
	if _, runs := w.tasks.Get(&c); !runs {
		w.completed.add(l.edit, &c, l.o.MaxCompletedTasksPerFramework)
		l.pods.task(&c, ended)
	}
}

// reportedExecutors is the same for executors.
func (l *loop) reportedExecutors(m *member, a *Agent, executors []wire.ExecutorInfo) (news bool) {
	for i := range executors {
		e := executors[i]
		if old, ok := a.executors.Get(&e); ok && reflect.DeepEqual(old, &e) {
			m.has(e.FrameworkID, 0)
			continue
		}
		news = true
		w := l.framework(e.FrameworkID)
		w.executors.Set(l.edit, &Executor{AgentID: m.id, Info: &e})
		n := a.executors.Len()
		if old, was := a.executors.Set(l.edit, &e); was {
			uses(a, w, wire.UsageOf(old.Resources), -1)
		}
		uses(a, w, wire.UsageOf(e.Resources), 1)
		m.has(e.FrameworkID, a.executors.Len()-n)
	}
	return news
}

// take takes a task off an agent, and off the list of those that run.
func (l *loop) take(m *member, a *Agent, framework, task string) *wire.Task {
	t, ok := a.tasks.Delete(l.edit, &wire.Task{FrameworkID: framework, ID: task})
	if !ok {
		return nil
	}
	m.has(framework, -1)
	l.pods.task(t, nowhere)
	w := l.framework(framework)
	if _, was := w.tasks.Delete(l.edit, t); was {
		l.count(w, t.State, -1)
	}
	uses(a, w, t.Usage(), -1)
	return t
}

// takeExecutor is the same for an executor.
func (l *loop) takeExecutor(m *member, a *Agent, framework, executor string) bool {
	e, ok := a.executors.Delete(l.edit, &wire.ExecutorInfo{FrameworkID: framework, ID: executor})
	if !ok {
		return false
	}
	m.has(framework, -1)
	w := l.framework(framework)
	w.executors.Delete(l.edit, &Executor{AgentID: m.id, Info: e})
	uses(a, w, wire.UsageOf(e.Resources), -1)
	return true
}

// fold keeps one status of each run of equal states, the last, as Mesos does,
// and none of the data that frameworks send each other.
func fold(all []wire.TaskStatus) []wire.TaskStatus {
	kept := all[:0]
	for _, s := range all {
		s.Data = nil
		if n := len(kept); n > 0 && kept[n-1].State == s.State {
			kept[n-1] = s
		} else {
			kept = append(kept, s)
		}
	}
	clear(all[len(kept):])
	return kept
}

// compareTasks is the order of tasks on an agent.
func compareTasks(a, b *wire.Task) int {
	if c := strings.Compare(a.FrameworkID, b.FrameworkID); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// compareInfos is the order of executors on an agent.
func compareInfos(a, b *wire.ExecutorInfo) int {
	return cmp.Or(strings.Compare(a.FrameworkID, b.FrameworkID), strings.Compare(a.ID, b.ID))
}
