package httpapi_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// world is a cluster drawn at random, and the plain lists that it was made of.
type world struct {
	state      *master.State
	agents     []*master.Agent
	frameworks []*master.Framework
	tasks      []placed
	executors  []*master.Executor
}

// placed is a task and where its framework lists it.
type placed struct {
	*wire.Task
	list string
}

var someStates = []wire.TaskState{
	wire.TaskStaging, wire.TaskStarting, wire.TaskRunning, wire.TaskKilling, wire.TaskFinished, wire.TaskFailed, wire.TaskKilled,
	wire.TaskError, wire.TaskLost, wire.TaskDropped, wire.TaskGone, wire.TaskGoneByOperator, wire.TaskUnknown, "TASK_NEW",
}

func drawWorld(t *rapid.T) *world {
	w := &world{}
	for i := range rapid.IntRange(0, 4).Draw(t, "agents") {
		a := &master.Agent{
			Info:      registry.Agent{ID: registry.AgentID(fmt.Sprint("a", i)), Hostname: "h"},
			Connected: rapid.Bool().Draw(t, "connected"),
		}
		a.Status.Deactivated = rapid.Bool().Draw(t, "deactivated")
		for range rapid.IntRange(0, 6).Draw(t, "resources") {
			a.Resources = append(a.Resources, drawResource(t).Resource)
		}
		w.agents = append(w.agents, a)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "frameworks") {
		w.frameworks = append(w.frameworks, w.drawFramework(t, fmt.Sprint("f", i)))
	}
	w.state = master.NewState(w.agents, nil, w.frameworks, nil)
	w.state.Master, w.state.Registry = leader, registry.New()
	return w
}

func (w *world) drawFramework(t *rapid.T, id string) *master.Framework {
	lists := map[string][]*wire.Task{}
	for i := range rapid.IntRange(0, 8).Draw(t, "tasks") {
		agent := registry.AgentID(fmt.Sprint("a", rapid.IntRange(0, 5).Draw(t, "agent"))) // perhaps one that went
		list := rapid.SampledFrom([]string{"tasks", "unreachable_tasks", "completed_tasks"}).Draw(t, "list")
		task := &wire.Task{ID: fmt.Sprint("t", i), FrameworkID: id, AgentID: agent, State: rapid.SampledFrom(someStates).Draw(t, "state")}
		if list == "unreachable_tasks" {
			task.State = wire.TaskUnreachable
		}
		for range rapid.IntRange(0, 3).Draw(t, "uses") {
			task.Resources = append(task.Resources, drawResource(t))
		}
		if a := w.agent(agent); a != nil && list == "tasks" {
			a.With([]*wire.Task{task}, nil)
		}
		lists[list] = append(lists[list], task)
		w.tasks = append(w.tasks, placed{task, list})
	}
	var executors []*master.Executor
	for i := range rapid.IntRange(0, 2).Draw(t, "executors") {
		if len(w.agents) == 0 {
			break
		}
		a := rapid.SampledFrom(w.agents).Draw(t, "on")
		info := &wire.ExecutorInfo{ID: fmt.Sprint("e", i), FrameworkID: id, Resources: []wire.Resource{drawResource(t)}}
		a.With(nil, []*wire.ExecutorInfo{info})
		executors = append(executors, &master.Executor{AgentID: a.Info.ID, Info: info})
	}
	w.executors = append(w.executors, executors...)
	return master.NewFramework(wire.FrameworkInfo{ID: id, Roles: []string{"r"}}, lists["tasks"], lists["unreachable_tasks"], lists["completed_tasks"], executors)
}

func (w *world) agent(id registry.AgentID) *master.Agent {
	for _, a := range w.agents {
		if a.Info.ID == id {
			return a
		}
	}
	return nil
}

var someRoles = []string{"*", "r", "r/s", "q"}

func drawResource(t *rapid.T) wire.Resource {
	r := wire.Resource{AllocationRole: rapid.SampledFrom(someRoles).Draw(t, "role")}
	if role := rapid.SampledFrom(someRoles).Draw(t, "reserved"); role != "*" {
		r.Reservations = []registry.Reservation{{Role: role}}
	}
	if rapid.Bool().Draw(t, "is ports") {
		begin := rapid.Uint64Range(0, 40).Draw(t, "begin")
		r.Name, r.Value = "ports", registry.Ranges(registry.Range{Begin: begin, End: begin + rapid.Uint64Range(0, 5).Draw(t, "more")})
		return r
	}
	r.Name = rapid.SampledFrom([]string{"cpus", "mem", "tokens"}).Draw(t, "name")
	r.Value = registry.Scalar(float64(rapid.IntRange(0, 99999).Draw(t, "thousandths")) / 1000)
	return r
}

// heap is a naive sum: whole thousandths, and a set of numbers.
type heap struct {
	thousandths map[string]int64
	ports       map[uint64]bool
}

func newHeap() *heap { return &heap{map[string]int64{}, map[uint64]bool{}} }

func (h *heap) add(r *registry.Resource) {
	if r.Value.Kind == registry.KindScalar {
		h.thousandths[r.Name] += int64(math.Round(r.Value.Scalar * 1000))
		return
	}
	for _, span := range r.Value.Ranges {
		for p := span.Begin; p <= span.End; p++ {
			h.ports[p] = true
		}
	}
}

func (h *heap) use(list []wire.Resource) {
	for i := range list {
		h.add(&list[i].Resource)
	}
}

// check compares sums in an answer with the naive ones; quiet says that nothing
// of a resource is not shown at all.
func (h *heap) check(t *rapid.T, n *tree, path string, quiet bool) {
	it := n.at(t, path)
	for _, name := range []string{"cpus", "mem", "tokens"} {
		got, want := 0.0, float64(h.thousandths[name])/1000
		if it.member(name) != nil {
			got = it.number(t, name)
		} else if !quiet && name != "tokens" {
			t.Errorf("%s has no %s", path, name)
		}
		if got != want {
			t.Errorf("%s of %s is %v, want %v", name, path, got, want)
		}
	}
	got := ""
	if m := it.member("ports"); m != nil {
		got = m.text
	}
	if want := spans(h.ports); !quiet && got != want {
		t.Errorf("ports of %s are %s, want %s", path, got, want)
	}
}

func spans(ports map[uint64]bool) string {
	var list []string
	for _, p := range slices.Sorted(maps.Keys(ports)) {
		if ports[p-1] {
			continue
		}
		end := p
		for ports[end+1] {
			end++
		}
		list = append(list, fmt.Sprintf("%d-%d", p, end))
	}
	if list == nil {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// runs are the tasks that use something.
func (w *world) runs(keep func(placed) bool) []placed {
	ended := someStates[4:12]
	var list []placed
	for _, t := range w.tasks {
		if t.list == "tasks" && !slices.Contains(ended, t.State) && keep(t) {
			list = append(list, t)
		}
	}
	return list
}

func TestSumsAndCountsAreThoseOfWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		state := decode(t, get(t, w.state, "/state"))
		w.checkAgents(t, state)
		w.checkFrameworks(t, state)
		w.checkSummary(t, decode(t, get(t, w.state, "/state-summary")))
		w.checkRoles(t, decode(t, get(t, w.state, "/roles")))
		w.checkFull(t, decode(t, get(t, w.state, "/slaves")))
		if got := len(decode(t, get(t, w.state, "/tasks?limit=-1")).at(t, "tasks").kids); got != len(w.tasks) {
			t.Errorf("/tasks shows %d, want %d", got, len(w.tasks))
		}
	})
}

func (w *world) checkAgents(t *rapid.T, state *tree) {
	active := 0.0
	for i, a := range w.agents {
		path := fmt.Sprint("slaves/", i)
		total, free, used := newHeap(), newHeap(), newHeap()
		reserved := map[string]*heap{}
		for j := range a.Resources {
			r := &a.Resources[j]
			total.add(r)
			if len(r.Reservations) == 0 {
				free.add(r)
				continue
			}
			role := r.Reservations[0].Role
			if reserved[role] == nil {
				reserved[role] = newHeap()
			}
			reserved[role].add(r)
		}
		for _, task := range w.runs(func(p placed) bool { return p.AgentID == a.Info.ID }) {
			used.use(task.Resources)
		}
		for e := range a.Executors() {
			used.use(e.Resources)
		}
		total.check(t, state, path+"/resources", false)
		free.check(t, state, path+"/unreserved_resources", false)
		used.check(t, state, path+"/used_resources", false)
		roles := state.at(t, path+"/reserved_resources")
		if got, want := roles.names, slices.Sorted(maps.Keys(reserved)); !slices.Equal(got, want) {
			t.Errorf("%s has reservations for %q, want %q", path, got, want)
		}
		for k, role := range roles.names {
			reserved[role].check(t, roles.kids[k], "", false)
		}
		if a.Connected && !a.Status.Deactivated {
			active++
		}
	}
	if got := state.number(t, "activated_slaves"); got != active {
		t.Errorf("%v are active, want %v", got, active)
	}
	if got, want := state.number(t, "deactivated_slaves"), float64(len(w.agents))-active; got != want {
		t.Errorf("%v are not active, want %v", got, want)
	}
}

func (w *world) checkFrameworks(t *rapid.T, state *tree) {
	for i, f := range w.frameworks {
		path := fmt.Sprint("frameworks/", i)
		used := newHeap()
		for _, task := range w.runs(func(p placed) bool { return p.FrameworkID == f.Info.ID }) {
			used.use(task.Resources)
		}
		for _, e := range w.executors {
			if e.Info.FrameworkID == f.Info.ID {
				used.use(e.Info.Resources)
			}
		}
		used.check(t, state, path+"/used_resources", false)
		used.check(t, state, path+"/resources", false)
		for _, list := range []string{"tasks", "unreachable_tasks", "completed_tasks"} {
			want := 0
			for _, task := range w.tasks {
				if task.FrameworkID == f.Info.ID && task.list == list {
					want++
				}
			}
			if got := len(state.at(t, path+"/"+list).kids); got != want {
				t.Errorf("%s has %d %s, want %d", path, got, list, want)
			}
		}
	}
}

func (w *world) checkSummary(t *rapid.T, summary *tree) {
	check := func(path, others string, mine func(placed) bool, other func(placed) string) {
		counts, met := map[wire.TaskState]float64{}, map[string]bool{}
		for _, task := range w.tasks {
			if mine(task) {
				counts[task.State]++
				met[other(task)] = true
			}
		}
		it := summary.at(t, path)
		for i, name := range it.names {
			if strings.HasPrefix(name, "TASK_") {
				if got, want := it.kids[i].text, fmt.Sprint(counts[wire.TaskState(name)]); got != want {
					t.Errorf("%s: %s is %s, want %s", path, name, got, want)
				}
			}
		}
		if got, want := it.strings(t, others), slices.Sorted(maps.Keys(met)); !slices.Equal(got, want) {
			t.Errorf("%s: %s is %q, want %q", path, others, got, want)
		}
	}
	for i, a := range w.agents {
		check(fmt.Sprint("slaves/", i), "framework_ids",
			func(p placed) bool { return p.AgentID == a.Info.ID }, func(p placed) string { return p.FrameworkID })
	}
	for i, f := range w.frameworks {
		check(fmt.Sprint("frameworks/", i), "slave_ids",
			func(p placed) bool { return p.FrameworkID == f.Info.ID }, func(p placed) string { return string(p.AgentID) })
	}
}

func (w *world) checkRoles(t *rapid.T, answer *tree) {
	for i, it := range answer.at(t, "roles").kids {
		name := it.at(t, "name").text
		within := func(role string) bool { return role == name || strings.HasPrefix(role, name+"/") }
		allocated, reserved, consumed := newHeap(), newHeap(), newHeap()
		for _, a := range w.agents {
			for j := range a.Resources {
				if r := &a.Resources[j]; len(r.Reservations) > 0 && within(r.Reservations[0].Role) {
					reserved.add(r)
					consumed.add(r)
				}
			}
		}
		used := []wire.Resource{}
		for _, task := range w.runs(func(placed) bool { return true }) {
			used = append(used, task.Resources...)
		}
		for _, e := range w.executors {
			used = append(used, e.Info.Resources...)
		}
		for _, r := range used {
			if !within(r.AllocationRole) {
				continue
			}
			allocated.add(&r.Resource)
			if len(r.Reservations) == 0 {
				consumed.add(&r.Resource)
			}
		}
		path := fmt.Sprint("roles/", i)
		allocated.check(t, answer, path+"/allocated", true)
		allocated.check(t, answer, path+"/resources", true)
		reserved.check(t, answer, path+"/reserved", true)
		consumed.check(t, answer, path+"/quota/consumed", true)
	}
}

// checkFull compares what /slaves shows in full with its own sums.
func (w *world) checkFull(t *rapid.T, answer *tree) {
	for i := range w.agents {
		it := answer.at(t, fmt.Sprint("slaves/", i))
		for _, part := range []string{"used_resources", "unreserved_resources"} {
			sums := map[string]int64{}
			for _, r := range it.at(t, part+"_full").kids {
				if r.at(t, "type").text == "SCALAR" {
					sums[r.at(t, "name").text] += int64(math.Round(r.number(t, "scalar/value") * 1000))
				}
			}
			for _, name := range []string{"cpus", "mem"} {
				if got, want := float64(sums[name])/1000, it.number(t, part+"/"+name); got != want {
					t.Errorf("%s in full has %v %s, and %v in sum", part, got, name, want)
				}
			}
		}
	}
}
