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
	"github.com/eaba02dc/registrar/registry"
)

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
	tasksInState = &kind[*wire.Task]{asInState, appendTask, sizeOfTask, noteTasks, usesTheSame}
	pastInState  = &kind[*master.Past]{asInState, appendPast, sizeOfPast, notePast, isOfTheSame}
)

func noteTasks(tasks []*wire.Task) *note {
	n := &note{}
	for _, t := range tasks {
		n.of(roleOf(t))
		n.used.task(t)
	}
	n.used.compact()
	return n
}

// usesTheSame reports whether a task adds to its framework what another did.
func usesTheSame(old, now *wire.Task) bool {
	return old.AgentID == now.AgentID && old.State.Terminal() == now.State.Terminal() && reflect.DeepEqual(old.Resources, now.Resources)
}

func notePast(past []*master.Past) *note {
	n := &note{}
	for _, p := range past {
		n.of(roleOf(p.Task))
	}
	return n
}

func isOfTheSame(old, now *master.Past) bool {
	return roleOf(old.Task) == roleOf(now.Task)
}

func sizeOfPast(p *master.Past) int { return sizeOfTask(p.Task) }

func appendPast(b []byte, p *master.Past) []byte { return appendTask(b, p.Task) }

// addTasks adds the tasks that are in a view.
func addTasks(p *page, all iter.Seq[*leaves.Leaf[*wire.Task]], view View) {
	addLeaves(p, all, tasksInState, view, func(t *wire.Task, looks []byte) {
		if view.Sees(roleOf(t)) {
			p.add(part{bytes: looks})
		}
	})
}

func addPast(p *page, all iter.Seq[*leaves.Leaf[*master.Past]], view View) {
	addLeaves(p, all, pastInState, view, func(past *master.Past, looks []byte) {
		if view.Sees(roleOf(past.Task)) {
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
		agent := cmp.Or(call.AgentID, call.Agent.ID) // "" if it is to get one
		packTasks(call.Tasks, agent)
		packTasks(call.CompletedTasks, agent)
		for i := range call.CompletedFrameworks {
			f := &call.CompletedFrameworks[i]
			for j := range f.Tasks {
				f.Tasks[j].FrameworkID = f.Info.ID
			}
			packTasks(f.Tasks, agent)
		}
	case *wire.Update:
		packTasks(call.Tasks, "")
	}
}

func packTasks(tasks []wire.Task, agent registry.AgentID) {
	var scratch []byte
	for i := range tasks {
		tasks[i].Packed, scratch = packTask(&tasks[i], agent, scratch[:0])
		tasks[i].Uses = wire.UsesOf(tasks[i].Resources)
	}
}

// packed is what does not change of a task while it runs.
type packed struct {
	// text is how it looks, but for its state and its statuses, which are put between
	// the pieces, and for its agent, unless that is known.
	text           string
	middle, behind int // where the second piece begins, and the third
	onKnown        bool

	role string
}

func packTask(t *wire.Task, on registry.AgentID, b []byte) (*packed, []byte) {
	p := &packed{role: allocatedTo(t.Resources), onKnown: on != ""}
	b = append(b, '{')
	b = text(b, "id", t.ID)
	b = text(b, "name", t.Name)
	b = text(b, "framework_id", t.FrameworkID)
	b = text(b, "executor_id", t.ExecutorID)
	if p.onKnown {
		b = text(b, "slave_id", on)
	}
	p.middle = len(b)
	var all totals
	all.use(on, t.Resources)
	b = appendTotals(key(b, "resources"), &all)
	b = limits(b, t.Limits)
	b = text(b, "role", p.role)
	p.behind = len(b)
	b = optText(b, "user", t.User)
	b = labels(b, t.Labels)
	b = raw(b, "discovery", t.Discovery)
	b = raw(b, "container", t.Container)
	b = raw(b, "health_check", t.HealthCheck)
	b = append(b, '}')
	p.text = string(b)
	return p, b
}

// packedOf is what was packed of a task, or is now.
func packedOf(t *wire.Task) *packed {
	if p, ok := t.Packed.(*packed); ok {
		return p
	}
	p, _ := packTask(t, t.AgentID, nil)
	return p
}

// roleOf is the role to whom a task belongs.
func roleOf(t *wire.Task) string {
	if p, ok := t.Packed.(*packed); ok {
		return p.role
	}
	return allocatedTo(t.Resources)
}

// appendTask writes a task.
func appendTask(b []byte, t *wire.Task) []byte {
	p := packedOf(t)
	b = append(b, p.text[:p.middle]...)
	if !p.onKnown {
		b = text(b, "slave_id", t.AgentID)
	}
	b = text(b, "state", stateName(t.State))
	b = append(b, p.text[p.middle:p.behind]...)
	b = jsonout.List(key(b, "statuses"), t.Statuses, appendStatus)
	return append(b, p.text[p.behind:]...)
}

func sizeOfTask(t *wire.Task) int {
	const state, status = 32, 64
	n := state + status*len(t.Statuses)
	if p, ok := t.Packed.(*packed); ok {
		n += len(p.text)
	}
	return n
}

// allocatedTo is the role that resources were offered to: of one task or executor all
// to the same, or package wire had refused it.
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
