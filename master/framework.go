package master

import (
	"iter"
	"time"

	"github.com/tidwall/btree"

	"github.com/eaba02dc/registrar/agent/wire"
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

	tasks       btree.Map[string, *wire.Task] // by taskKey
	unreachable btree.Map[uint64, *wire.Task] // the oldest first
	completed   btree.Map[uint64, *wire.Task] // the oldest first
	executors   btree.Map[string, *Executor]  // by agent and ID
}

// Executor is an executor of a framework, and where it runs.
type Executor struct {
	AgentID registry.AgentID
	Info    *wire.ExecutorInfo
}

// Tasks yields the tasks that have not ended, on agents that are admitted, in
// the order of their IDs. A task is in one of Tasks, UnreachableTasks and
// CompletedTasks.
func (f *Framework) Tasks() iter.Seq[*wire.Task] { return values(&f.tasks) }

// UnreachableTasks yields tasks that were on agents which became unreachable,
// the latest last.
func (f *Framework) UnreachableTasks() iter.Seq[*wire.Task] { return values(&f.unreachable) }

// CompletedTasks yields tasks that have ended, the latest last.
func (f *Framework) CompletedTasks() iter.Seq[*wire.Task] { return values(&f.completed) }

// Executors yields its executors, in the order of their agents and IDs.
func (f *Framework) Executors() iter.Seq[*Executor] { return values(&f.executors) }

// working is a framework as the loop changes it. Its maps are the loop's own;
// publishing copies them.
type working struct {
	info                     wire.FrameworkInfo
	registered, unregistered time.Time

	tasks                  btree.Map[string, *wire.Task]
	executors              btree.Map[string, *Executor]
	unreachable, completed history

	agents int // that hold it, see member.holds

	changed bool       // since public was made
	public  *Framework // as it was published last
}

func (w *working) publish() *Framework {
	f := &Framework{Info: w.info, Registered: w.registered, Unregistered: w.unregistered,
		tasks: *w.tasks.Copy(), executors: *w.executors.Copy(),
		unreachable: *w.unreachable.tasks.Copy(), completed: *w.completed.tasks.Copy()}
	w.changed, w.public = false, f
	return f
}

// empty says that nothing of the framework is known to be, or to come back.
func (w *working) empty() bool {
	return w.agents == 0 && w.tasks.Len() == 0 && w.executors.Len() == 0 && w.unreachable.tasks.Len() == 0
}

// taskKey names a task within its framework. An agent's ID has no NUL in it.
func taskKey(t *wire.Task) string { return t.ID + "\x00" + string(t.AgentID) }

func executorKey(id registry.AgentID, executor string) string { return string(id) + "\x00" + executor }

// history is tasks that are not on an agent, the oldest first.
type history struct {
	tasks  btree.Map[uint64, *wire.Task]
	places map[string]uint64 // by taskKey
	next   uint64
}

// add writes a task down, in place of an older word about it, and returns the
// oldest if that has to go, which may be the task itself.
func (h *history) add(t *wire.Task, most int) (dropped *wire.Task) {
	if h.places == nil {
		h.places = map[string]uint64{}
	}
	h.take(taskKey(t))
	h.next++
	h.places[taskKey(t)] = h.next
	h.tasks.Set(h.next, t)
	if h.tasks.Len() <= max(most, 0) {
		return nil
	}
	_, dropped, _ = h.tasks.PopMin()
	delete(h.places, taskKey(dropped))
	return dropped
}

func (h *history) has(key string) bool { _, ok := h.places[key]; return ok }

// take takes a task out.
func (h *history) take(key string) (*wire.Task, bool) {
	place, ok := h.places[key]
	if !ok {
		return nil, false
	}
	delete(h.places, key)
	return h.tasks.Delete(place)
}
