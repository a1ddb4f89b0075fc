package httpapi

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/leaves"
)

// hasEnded reports whether a task uses nothing any more.
func hasEnded(t *wire.Task) bool {
	switch t.State {
	case wire.TaskFinished, wire.TaskFailed, wire.TaskKilled, wire.TaskError,
		wire.TaskLost, wire.TaskDropped, wire.TaskGone, wire.TaskGoneByOperator:
		return true
	default:
		return false
	}
}

// stateName is a name that clients of Mesos know: they may refuse others, which
// a newer agent may have.
func stateName(s wire.TaskState) wire.TaskState {
	switch s {
	case wire.TaskStaging, wire.TaskStarting, wire.TaskRunning, wire.TaskKilling, wire.TaskFinished,
		wire.TaskFailed, wire.TaskKilled, wire.TaskError, wire.TaskLost, wire.TaskDropped,
		wire.TaskUnreachable, wire.TaskGone, wire.TaskGoneByOperator:
		return s
	default:
		return wire.TaskUnknown
	}
}

// How tasks look in /state, and in all others that show them.
var (
	tasksInState = &kind[*wire.Task]{asInState, appendTask, noteTasks, usesTheSame}
	pastInState  = &kind[*master.Past]{asInState, appendPast, notePast, isOfTheSame}
)

func noteTasks(tasks []*wire.Task) *note {
	n := &note{}
	for _, t := range tasks {
		n.of(t.Resources)
		n.used.task(t)
	}
	n.used.compact()
	return n
}

// usesTheSame reports whether a task adds to its framework what another did.
func usesTheSame(old, now *wire.Task) bool {
	return old.AgentID == now.AgentID && hasEnded(old) == hasEnded(now) && reflect.DeepEqual(old.Resources, now.Resources)
}

func notePast(past []*master.Past) *note {
	n := &note{}
	for _, p := range past {
		n.of(p.Task.Resources)
	}
	return n
}

func isOfTheSame(old, now *master.Past) bool {
	return allocatedTo(old.Task.Resources) == allocatedTo(now.Task.Resources)
}

// of notes to whom something belongs that has these resources.
func (n *note) of(list []wire.Resource) {
	if role := allocatedTo(list); !slices.Contains(n.roles, role) {
		n.roles = append(n.roles, role)
	}
}

func appendPast(b []byte, p *master.Past) []byte { return appendTask(b, p.Task) }

// addTasks adds the tasks that are in a view.
func addTasks(p *page, all iter.Seq[*leaves.Leaf[*wire.Task]], view View) {
	addLeaves(p, all, tasksInState, view, func(t *wire.Task, looks []byte) {
		if view.sees(t.Resources) {
			p.add(part{bytes: looks})
		}
	})
}

func addPast(p *page, all iter.Seq[*leaves.Leaf[*master.Past]], view View) {
	addLeaves(p, all, pastInState, view, func(past *master.Past, looks []byte) {
		if view.sees(past.Task.Resources) {
			p.add(part{bytes: looks})
		}
	})
}

// Pack renders what an agent says of its tasks as far as it does not change any
// more, while it is in the cache of the processor that decoded it: a master with
// many tasks shows them for the first time three times as fast. [AgentStream] does
// so; who hands calls to a master himself may do it before.
func Pack(call wire.Call) {
	switch call := call.(type) {
	case *wire.Subscribe:
		packTasks(call.Tasks)
		packTasks(call.CompletedTasks)
		for i := range call.CompletedFrameworks {
			f := &call.CompletedFrameworks[i]
			for j := range f.Tasks {
				f.Tasks[j].FrameworkID = f.Info.ID
			}
			packTasks(f.Tasks)
		}
	case *wire.Update:
		packTasks(call.Tasks)
	}
}

func packTasks(tasks []wire.Task) {
	var scratch []byte
	for i := range tasks {
		var p *wire.Packed
		p, scratch = packTask(&tasks[i], scratch[:0])
		tasks[i].Packed = p
	}
}

// packTask renders a task but for its agent, which it may not know yet, its state
// and its statuses.
func packTask(t *wire.Task, b []byte) (*wire.Packed, []byte) {
	p := &wire.Packed{}
	b = append(b, '{')
	b = text(b, "id", t.ID)
	b = text(b, "name", t.Name)
	b = text(b, "framework_id", t.FrameworkID)
	b = text(b, "executor_id", t.ExecutorID)
	p.Middle = len(b)
	var all totals
	all.use(t.AgentID, t.Resources)
	b = appendTotals(key(b, "resources"), &all)
	b = limits(b, t.Limits)
	b = text(b, "role", allocatedTo(t.Resources))
	p.Behind = len(b)
	b = optText(b, "user", t.User)
	b = labels(b, t.Labels)
	b = raw(b, "discovery", t.Discovery)
	b = raw(b, "container", t.Container)
	b = raw(b, "health_check", t.HealthCheck)
	b = append(b, '}')
	p.Text = string(b)
	return p, b
}

// appendTask writes a task.
func appendTask(b []byte, t *wire.Task) []byte {
	p := t.Packed
	if p == nil {
		p, _ = packTask(t, nil)
	}
	b = append(b, p.Text[:p.Middle]...)
	b = text(b, "slave_id", t.AgentID)
	b = text(b, "state", stateName(t.State))
	b = append(b, p.Text[p.Middle:p.Behind]...)
	b = jsonout.List(key(b, "statuses"), t.Statuses, appendStatus)
	return append(b, p.Text[p.Behind:]...)
}

// allocatedTo is the role that resources were offered to: of one task or
// executor, all to the same.
func allocatedTo(list []wire.Resource) string {
	if len(list) == 0 {
		return anyRole
	}
	return cmp.Or(list[0].AllocationRole, anyRole)
}

// limits writes "Infinity" in quotes, where Mesos writes what is not JSON.
func limits(b []byte, m map[string]float64) []byte {
	if len(m) == 0 {
		return b
	}
	b = append(key(b, "limits"), '{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b = foreignKey(b, name)
		if math.IsInf(m[name], 0) {
			b = append(b, `"Infinity"`...)
		} else {
			b = jsonout.Float(b, m[name])
		}
	}
	return append(b, '}')
}

func appendStatus(b []byte, s wire.TaskStatus) []byte {
	b = append(b, '{')
	b = text(b, "state", stateName(s.State))
	b = double(b, "timestamp", s.Timestamp)
	b = labels(b, s.Labels)
	b = containerStatus(b, s.ContainerStatus)
	if s.Healthy != nil {
		b = boolean(b, "healthy", *s.Healthy)
	}
	return append(b, '}')
}
