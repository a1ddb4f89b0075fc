package master

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/leaves"
	"github.com/eaba02dc/registrar/registry"
)

// Framework is what agents have told of a framework. It never changes. No
// framework connects to this master, so it is neither active nor connected.
//
// A task is named by its framework, its agent and its ID: an ID that two agents
// report is two tasks.
type Framework struct {
	// Info is what an agent said of it last; only the ID is sure, for a task may
	// name a framework of which nobody has told.
	Info wire.FrameworkInfo
	// Registered is when this master first heard of it, Unregistered when it was
	// found to have ended; zero while it has not.
	Registered, Unregistered time.Time

	tasks                  leaves.Map[*wire.Task]
	unreachable, completed leaves.Map[*Past]
	executors              leaves.Map[*Executor]
	used                   wire.Usage // by tasks and executors
}

// Past is a task that is not on an agent, in the order in which they left theirs.
type Past struct {
	Task  *wire.Task
	place uint64
}

// Executor is an executor of a framework, and where it runs.
type Executor struct {
	AgentID registry.AgentID
	Info    *wire.ExecutorInfo
}

// Tasks yields the tasks that have not ended, on agents that are admitted, in
// the order of their IDs. A task is in one of Tasks, UnreachableTasks and
// CompletedTasks.
func (f *Framework) Tasks() iter.Seq[*wire.Task] { return f.tasks.All() }

// TaskLeaves yields the same, in leaves.
func (f *Framework) TaskLeaves() iter.Seq[*leaves.Leaf[*wire.Task]] { return f.tasks.Leaves() }

// UnreachableTasks yields tasks that were on agents which became unreachable,
// the latest last.
func (f *Framework) UnreachableTasks() iter.Seq[*wire.Task] { return tasksOf(&f.unreachable) }

// UnreachableLeaves yields the same, in leaves.
func (f *Framework) UnreachableLeaves() iter.Seq[*leaves.Leaf[*Past]] { return f.unreachable.Leaves() }

// CompletedTasks yields tasks that have ended, the latest last.
func (f *Framework) CompletedTasks() iter.Seq[*wire.Task] { return tasksOf(&f.completed) }

// CompletedLeaves yields the same, in leaves.
func (f *Framework) CompletedLeaves() iter.Seq[*leaves.Leaf[*Past]] { return f.completed.Leaves() }

// Executors yields its executors, in the order of their agents and IDs.
func (f *Framework) Executors() iter.Seq[*Executor] { return f.executors.All() }

// ExecutorLeaves yields the same, in leaves.
func (f *Framework) ExecutorLeaves() iter.Seq[*leaves.Leaf[*Executor]] { return f.executors.Leaves() }

// Used is what Tasks and Executors use.
func (f *Framework) Used() wire.Usage { return f.used }

func tasksOf(m *leaves.Map[*Past]) iter.Seq[*wire.Task] {
	return func(yield func(*wire.Task) bool) {
		for p := range m.All() {
			if !yield(p.Task) {
				return
			}
		}
	}
}

// compareByID is the order of tasks within a framework.
func compareByID(a, b *wire.Task) int {
	if c := strings.Compare(a.ID, b.ID); c != 0 { // not cmp.Or, which compares both always
		return c
	}
	return cmp.Compare(a.AgentID, b.AgentID)
}

func comparePast(a, b *Past) int { return cmp.Compare(a.place, b.place) }

func compareExecutors(a, b *Executor) int {
	return cmp.Or(cmp.Compare(a.AgentID, b.AgentID), strings.Compare(a.Info.ID, b.Info.ID))
}

// working is a framework as the loop changes it; publishing copies it.
type working struct {
	info                     wire.FrameworkInfo
	registered, unregistered time.Time

	tasks                  leaves.Map[*wire.Task]
	executors              leaves.Map[*Executor]
	unreachable, completed history
	used                   wire.Usage // by tasks and executors

	agents int // that hold it, see member.holds

	changed bool       // since public was made
	public  *Framework // as it was published last

	counts tally
	shown  shownMetrics // as they were published last
}

func newWorking(id string, now time.Time) *working {
	return &working{info: wire.FrameworkInfo{ID: id}, registered: now, tasks: leaves.New(compareByID),
		executors: leaves.New(compareExecutors), unreachable: newHistory(), completed: newHistory()}
}

func (w *working) publish() *Framework {
	f := &Framework{Info: w.info, Registered: w.registered, Unregistered: w.unregistered,
		tasks: w.tasks, executors: w.executors, used: w.used, unreachable: w.unreachable.tasks, completed: w.completed.tasks}
	w.changed, w.public = false, f
	return f
}

// empty says that nothing of the framework is known to be, or to come back.
func (w *working) empty() bool {
	return w.agents == 0 && w.tasks.Len() == 0 && w.executors.Len() == 0 && w.unreachable.tasks.Len() == 0
}

// taskKey names a task within its framework.
type taskKey struct {
	task  string
	agent registry.AgentID
}

func keyOf(t *wire.Task) taskKey { return taskKey{t.ID, t.AgentID} }

// history is tasks that are not on an agent, the oldest first.
type history struct {
	tasks leaves.Map[*Past]
	found map[taskKey]*Past
	next  uint64
}

func newHistory() history {
	return history{tasks: leaves.New(comparePast), found: map[taskKey]*Past{}}
}

// add writes a task down, in place of an older word about it, and returns the
// oldest if that has to go, which may be the task itself.
func (h *history) add(e *leaves.Edit, t *wire.Task, most int) (dropped *wire.Task) {
	h.take(e, keyOf(t))
	h.next++
	p := &Past{t, h.next}
	h.found[keyOf(t)] = p
	h.tasks.Set(e, p)
	if h.tasks.Len() <= max(most, 0) {
		return nil
	}
	oldest, _ := h.tasks.First()
	dropped, _ = h.take(e, keyOf(oldest.Task))
	return dropped
}

func (h *history) has(key taskKey) bool { return h.found[key] != nil }

// take takes a task out.
func (h *history) take(e *leaves.Edit, key taskKey) (*wire.Task, bool) {
	p := h.found[key]
	if p == nil {
		return nil, false
	}
	delete(h.found, key)
	h.tasks.Delete(e, p)
	return p.Task, true
}
