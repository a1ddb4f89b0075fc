package master

import (
	"slices"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// lostTask is where a task on an unreachable agent is found.
type lostTask struct {
	framework *working
	key       taskKey
}

// complete writes down that a task has ended.
func (l *loop) complete(w *working, t *wire.Task) {
	if !w.completed.has(keyOf(t)) { // an agent says again what is not acknowledged
		l.countTask(t.State)
		l.countReason(t)
		l.count(w, t.State, 1)
	}
	w.completed.add(l.edit, t, l.o.MaxCompletedTasksPerFramework)
	l.pods.task(t, ended)
}

func (l *loop) countTask(s wire.TaskState) {
	switch s {
	case wire.TaskFinished:
		l.stats.TasksFinished++
	case wire.TaskFailed:
		l.stats.TasksFailed++
	case wire.TaskKilled:
		l.stats.TasksKilled++
	case wire.TaskError:
		l.stats.TasksError++
	case wire.TaskLost:
		l.stats.TasksLost++
	case wire.TaskDropped:
		l.stats.TasksDropped++
	case wire.TaskGone:
		l.stats.TasksGone++
	case wire.TaskGoneByOperator:
		l.stats.TasksGoneByOperator++
	}
}

// lost is the state of a task that its agent has no more: that which the
// framework understands. One that does not know of partitions, or of which
// nothing is known, has TASK_LOST only.
func (l *loop) lost(framework string, aware wire.TaskState) wire.TaskState {
	if w := l.working[framework]; w != nil && slices.Contains(w.info.Capabilities, "PARTITION_AWARE") {
		return aware
	}
	return wire.TaskLost
}

// became is the task in a state that the master decided.
func (l *loop) became(t *wire.Task, s wire.TaskState, reason string, at time.Time) *wire.Task {
	c := *t
	c.State = s
	c.Statuses = fold(append(slices.Clone(t.Statuses), wire.TaskStatus{State: s, Source: "SOURCE_MASTER", Reason: reason,
		Timestamp: float64(at.UnixNano()) / 1e9}))
	return &c
}

// vanish ends a task that its agent has no more, without a word of why.
func (l *loop) vanish(t *wire.Task) {
	l.complete(l.framework(t.FrameworkID), l.became(t, l.lost(t.FrameworkID, wire.TaskGone), "REASON_RECONCILIATION", l.now))
}

// loseTasks moves the tasks of an agent that became unreachable.
func (l *loop) loseTasks(m *member, a *Agent, at time.Time) {
	for _, t := range l.clear(m, a) {
		w := l.framework(t.FrameworkID)
		t := l.became(t, l.lost(t.FrameworkID, wire.TaskUnreachable), "REASON_SLAVE_REMOVED", at)
		l.stats.TasksUnreachable++
		l.lose(w, t)
	}
	l.settleHolds(m)
}

// endTasks ends the tasks of an agent that leaves for good.
func (l *loop) endTasks(m *member, a *Agent, aware wire.TaskState, reason string, at time.Time) {
	for _, t := range l.clear(m, a) {
		l.complete(l.framework(t.FrameworkID), l.became(t, l.lost(t.FrameworkID, aware), reason, at))
	}
	l.settleHolds(m)
}

// lose writes down a task of an unreachable agent, by its framework and its agent.
func (l *loop) lose(w *working, t *wire.Task) {
	if l.unreachable[t.AgentID] == nil {
		l.unreachable[t.AgentID] = map[lostTask]bool{}
	}
	l.unreachable[t.AgentID][lostTask{w, keyOf(t)}] = true
	l.count(w, wire.TaskUnreachable, 1)
	l.pods.task(t, away)
	dropped := w.unreachable.add(l.edit, t, l.o.MaxUnreachableTasksPerFramework)
	if dropped == nil {
		return
	}
	l.count(w, wire.TaskUnreachable, -1)
	l.pods.task(dropped, nowhere)
	of := l.unreachable[dropped.AgentID]
	if delete(of, lostTask{w, keyOf(dropped)}); len(of) == 0 {
		delete(l.unreachable, dropped.AgentID)
	}
}

// takeUnreachable takes out all tasks that an unreachable agent had, in order.
func (l *loop) takeUnreachable(id registry.AgentID) (tasks []*wire.Task) {
	for lost := range l.unreachable[id] {
		t, _ := lost.framework.unreachable.take(l.edit, lost.key)
		l.count(lost.framework, wire.TaskUnreachable, -1)
		tasks = append(tasks, t)
		l.pods.task(t, nowhere)
		l.touch(lost.framework)
	}
	delete(l.unreachable, id)
	slices.SortFunc(tasks, compareTasks)
	return tasks
}

// endUnreachable ends the tasks that an unreachable agent had.
func (l *loop) endUnreachable(id registry.AgentID, aware wire.TaskState, at time.Time) {
	for _, t := range l.takeUnreachable(id) {
		w := l.framework(t.FrameworkID)
		l.complete(w, l.became(t, l.lost(t.FrameworkID, aware), "REASON_SLAVE_REMOVED", at))
	}
}
