package master

import (
	"cmp"
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

// update takes in what changed on an agent: O(what it has), never O(cluster).
func (l *loop) update(m *member, u *wire.Update) {
	before, _ := l.agents.Get(m.id)
	a := *before
	if u.Resources != nil {
		a.Resources = u.Resources
	}
	l.know(u.Frameworks)
	for _, ref := range u.RemovedTasks {
		if t := l.take(m.id, ref.FrameworkID, ref.ID); t != nil {
			l.vanish(t)
		}
	}
	for _, ref := range u.RemovedExecutors {
		l.takeExecutor(m.id, ref.FrameworkID, ref.ID)
	}
	a.Tasks = merge(a.Tasks, l.reported(m.id, u.Tasks), compareTasks, l.runs)
	a.Executors = merge(a.Executors, l.reportedExecutors(m.id, u.Executors), compareExecutors, func(e *wire.ExecutorInfo) bool {
		held, ok := l.working[e.FrameworkID].executors.Get(executorKey(m.id, e.ID))
		return ok && held.Info == e
	})
	l.hold(m, &a, u.Frameworks, unmentioned(m, before, u))
	l.put(&a)
	l.checkDrained(m)
}

// runs says whether this is the task that its framework has running.
func (l *loop) runs(t *wire.Task) bool {
	held, ok := l.working[t.FrameworkID].tasks.Get(taskKey(t))
	return ok && held == t
}

// report takes in all that an agent has, in place of what was known of it: what
// it had and does not speak of has ended. All its unreachable tasks are with it
// again, or lost (MESOS-8750).
func (l *loop) report(m *member, a *Agent, call *wire.Subscribe) {
	before := slices.Clone(a.Tasks)
	for _, t := range a.Tasks {
		l.take(m.id, t.FrameworkID, t.ID)
	}
	before = append(before, l.takeUnreachable(m.id)...)
	for _, e := range a.Executors {
		l.takeExecutor(m.id, e.FrameworkID, e.ID)
	}
	l.know(call.Frameworks)
	a.Tasks = merge(nil, l.reported(m.id, call.Tasks), compareTasks, l.runs)
	a.Executors = merge(nil, l.reportedExecutors(m.id, call.Executors), compareExecutors, func(*wire.ExecutorInfo) bool { return true })
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
		if _, here := w.tasks.Get(taskKey(t)); !here && !w.completed.has(taskKey(t)) {
			l.vanish(t)
		}
	}
	l.hold(m, a, call.Frameworks, nil)
}

// reported takes in tasks that an agent tells of, and returns them.
func (l *loop) reported(id registry.AgentID, tasks []wire.Task) []*wire.Task {
	all := make([]*wire.Task, 0, len(tasks))
	for i := range tasks {
		t := tasks[i] // one that is dropped does not keep the others
		t.AgentID, t.Statuses = id, fold(t.Statuses)
		w := l.framework(t.FrameworkID)
		if terminal(t.State) {
			l.complete(w, &t)
		} else {
			w.completed.take(taskKey(&t))
			w.tasks.Set(taskKey(&t), &t)
		}
		all = append(all, &t)
	}
	return all
}

// remember writes down a task that ended before this master heard of it.
func (l *loop) remember(id registry.AgentID, t *wire.Task) {
	c := *t
	c.AgentID, c.Statuses = id, fold(c.Statuses)
	w := l.framework(c.FrameworkID)
	if _, runs := w.tasks.Get(taskKey(&c)); !runs {
		w.completed.add(&c, l.o.MaxCompletedTasksPerFramework)
	}
}

// reportedExecutors takes in executors that an agent tells of.
func (l *loop) reportedExecutors(id registry.AgentID, executors []wire.ExecutorInfo) []*wire.ExecutorInfo {
	all := make([]*wire.ExecutorInfo, 0, len(executors))
	for i := range executors {
		e := executors[i]
		l.framework(e.FrameworkID).executors.Set(executorKey(id, e.ID), &Executor{AgentID: id, Info: &e})
		all = append(all, &e)
	}
	return all
}

func (l *loop) takeExecutor(id registry.AgentID, framework, executor string) {
	if w := l.working[framework]; w != nil {
		if _, ok := w.executors.Delete(executorKey(id, executor)); ok {
			l.touch(w)
		}
	}
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

// merge is what a list in order becomes: new ones take the place of equals, and
// those that do not stay are left out.
func merge[T any](old, fresh []*T, compare func(a, b *T) int, stays func(*T) bool) []*T {
	all := slices.Concat(old, fresh)
	slices.SortStableFunc(all, compare)
	kept := all[:0]
	for i, v := range all {
		if last := i+1 == len(all) || compare(v, all[i+1]) != 0; last && stays(v) {
			kept = append(kept, v)
		}
	}
	clear(all[len(kept):])
	return slices.Clip(kept)
}

func compareTasks(a, b *wire.Task) int {
	return cmp.Or(strings.Compare(a.FrameworkID, b.FrameworkID), strings.Compare(a.ID, b.ID))
}

func compareExecutors(a, b *wire.ExecutorInfo) int {
	return cmp.Or(strings.Compare(a.FrameworkID, b.FrameworkID), strings.Compare(a.ID, b.ID))
}
