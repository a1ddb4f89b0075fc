package master

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/registry"
)

// check returns every broken invariant of a State.
func (s *State) check() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	admitted := func(id registry.AgentID) {
		if e, known := s.Registry.Entry(id); !known || e.State() != registry.Admitted {
			bad("agent %q is in a list and not admitted", id)
		}
	}
	type name struct {
		framework string
		agent     registry.AgentID
		id        string
	}
	listed := map[name]string{}
	list := func(f *Framework, t *wire.Task, where string) {
		n := name{f.Info.ID, t.AgentID, t.ID}
		if before, twice := listed[n]; twice {
			bad("task %v is in %s and in %s", n, before, where)
		}
		listed[n] = where
		if t.FrameworkID != f.Info.ID {
			bad("task %v stands in framework %q", t, f.Info.ID)
		}
	}
	running, executors := map[*wire.Task]bool{}, map[*wire.ExecutorInfo]bool{}
	for f := range s.Frameworks() {
		if !f.Unregistered.IsZero() {
			bad("framework %q has ended and stands among the others", f.Info.ID)
		}
		for t := range f.Tasks() {
			list(f, t, "tasks")
			running[t] = true
			if t.State.Terminal() {
				bad("task %q runs and is %s", t.ID, t.State)
			}
		}
		for t := range f.UnreachableTasks() {
			list(f, t, "unreachable")
			if e, known := s.Registry.Entry(t.AgentID); !known || e.State() != registry.Unreachable {
				bad("task %q is unreachable, its agent %q is not", t.ID, t.AgentID)
			}
		}
		for t := range f.CompletedTasks() {
			list(f, t, "completed")
		}
		for e := range f.Executors() {
			executors[e.Info] = true
		}
	}
	for f := range s.CompletedFrameworks() {
		if _, twice := s.Framework(f.Info.ID); twice || f.Unregistered.IsZero() {
			bad("framework %q has not ended", f.Info.ID)
		}
		for t := range f.Tasks() {
			bad("task %q runs in a framework that has ended", t.ID)
		}
		for t := range f.UnreachableTasks() {
			bad("task %q is unreachable in a framework that has ended", t.ID)
		}
		for t := range f.CompletedTasks() {
			list(f, t, "completed")
		}
	}
	for a := range s.Agents() {
		admitted(a.Info.ID)
		if e, _ := s.Registry.Entry(a.Info.ID); a.Status.Deactivated != e.Status().Deactivated || a.Status.Drain.State != e.Status().Drain.State {
			bad("agent %q is %+v, in the registry %+v", a.Info.ID, a.Status, e.Status())
		}
		if _, twice := s.recovered.Get(&registry.Agent{ID: a.Info.ID}); twice {
			bad("agent %q is here and recovered", a.Info.ID)
		}
		for t := range a.Tasks() {
			if !running[t] || t.AgentID != a.Info.ID {
				bad("task %q of agent %q is not its framework's", t.ID, a.Info.ID)
			}
			delete(running, t)
		}
		for e := range a.Executors() {
			if !executors[e] {
				bad("executor %q of agent %q is not its framework's", e.ID, a.Info.ID)
			}
			delete(executors, e)
		}
	}
	for t := range running {
		bad("task %q runs on agent %q, which does not have it", t.ID, t.AgentID)
	}
	for e := range executors {
		bad("executor %q is on no agent", e.ID)
	}
	errs = append(errs, s.checkSums()...)
	for a := range s.Recovered() {
		admitted(a.ID)
	}
	if n := s.AgentsLen() + s.RecoveredLen(); n != s.Registry.Len(registry.Admitted) {
		bad("%d agents, but %d are admitted", n, s.Registry.Len(registry.Admitted))
	}
	s.checkPods(bad)
	return errs
}

// checkSums holds the sums that the loop keeps against those of all that there is.
func (s *State) checkSums() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	inUse := func(tasks iter.Seq[*wire.Task], executors iter.Seq[*wire.ExecutorInfo]) (sum wire.Usage) {
		for t := range tasks {
			u := wire.UsageOf(t.Resources)
			sum.Add(&u, 1)
		}
		for e := range executors {
			u := wire.UsageOf(e.Resources)
			sum.Add(&u, 1)
		}
		return sum
	}
	var all sums
	for a := range s.Agents() {
		if a.Connected {
			all.connected++
		}
		if a.Active() {
			all.active++
		}
		for _, r := range a.Resources {
			u := wire.UsageOf([]wire.Resource{{Resource: r}})
			all.total.Add(&u, 1)
		}
		used := inUse(a.Tasks(), a.Executors())
		all.used.Add(&used, 1)
		if a.Used() != used {
			bad("%+v is used on agent %q, and said to be %+v", used, a.Info.ID, a.Used())
		}
	}
	if s.sums != all {
		bad("agents sum up to %+v, and are said to to %+v", all, s.sums)
	}
	for f := range s.Frameworks() {
		executors := func(yield func(*wire.ExecutorInfo) bool) {
			for e := range f.Executors() {
				if !yield(e.Info) {
					return
				}
			}
		}
		if used := inUse(f.Tasks(), executors); f.Used() != used {
			bad("%+v is used by framework %q, and said to be %+v", used, f.Info.ID, f.Used())
		}
	}
	return errs
}

// checkPods looks for the instances of pods among all tasks.
func (s *State) checkPods(bad func(format string, args ...any)) {
	live := map[string]map[instanceKey]int{} // by pod: tasks that have not ended
	add := func(t *wire.Task) {
		if at, ok := locate(t); ok {
			if live[at.Pod] == nil {
				live[at.Pod] = map[instanceKey]int{}
			}
			live[at.Pod][instanceKey{at.Instance, t.FrameworkID, t.AgentID}]++
		}
	}
	for f := range s.Frameworks() {
		for t := range f.Tasks() {
			add(t)
		}
		for t := range f.UnreachableTasks() {
			add(t)
		}
	}
	for p := range s.Pods() {
		id := p.Definition.ID
		for i := range p.Instances {
			key := instanceKey{i.Instance.ID, i.Instance.Framework, registry.AgentID(i.Instance.Agent.ID)}
			if n := live[id][key]; n == 0 && p.Ended != i || n > len(i.Instance.Tasks) {
				bad("pod %s shows %d tasks of %v, and it has %d", id, len(i.Instance.Tasks), key, n)
			}
			if anew := pod.Show(p.Definition, i.Instance, nil); anew.State != i.State {
				bad("pod %s shows %v as %s, it is %s", id, key, i.State, anew.State)
			}
			delete(live[id], key)
		}
		for key := range live[id] {
			bad("pod %s does not show %v", id, key)
		}
		if p.Version > s.PodsVersion {
			bad("pod %s is of version %d, all of them are of %d", id, p.Version, s.PodsVersion)
		}
		if d, ok := s.Registry.Pod(id); !ok || !bytes.Equal(d.Definition, p.Definition.JSON()) {
			bad("pod %s is not in the registry as it is shown", id)
		}
	}
}
