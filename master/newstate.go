package master

import (
	"slices"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/leaves"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/registry"
)

// NewState is a cluster put together by hand, for whoever tests what reads
// States. The caller fills the exported fields before anybody else has it.
// Completed frameworks are given the oldest first.
func NewState(agents []*Agent, recovered []*registry.Agent, frameworks, completed []*Framework) *State {
	s := &State{agents: inLeaves(compareAgents, agents), recovered: inLeaves(compareRecovered, recovered),
		frameworks: inLeaves(compareFrameworks, frameworks), completed: completed}
	for _, a := range agents {
		a.has(a.Resources)
		s.sums.add(a, 1)
	}
	return s
}

// WithPods adds pods to a NewState, before anybody else has it. It returns s.
func (s *State) WithPods(list ...*pod.Status) *State {
	s.pods = inLeaves(comparePods, slices.Concat(slices.Collect(s.Pods()), list))
	return s
}

// With adds what runs on an agent put together by hand, before anybody else has
// it. It returns a.
func (a *Agent) With(tasks []*wire.Task, executors []*wire.ExecutorInfo) *Agent {
	a.used = inUse(a.used, tasks, executors)
	a.tasks = inLeaves(compareTasks, slices.Concat(slices.Collect(a.Tasks()), tasks))
	a.executors = inLeaves(compareInfos, slices.Concat(slices.Collect(a.Executors()), executors))
	return a
}

// NewFramework is a framework put together by hand, for a NewState. Unreachable
// and completed tasks are given the oldest first.
func NewFramework(info wire.FrameworkInfo, tasks, unreachable, completed []*wire.Task, executors []*Executor) *Framework {
	f := &Framework{Info: info, tasks: inLeaves(compareByID, tasks), executors: inLeaves(compareExecutors, executors),
		unreachable: inLeaves(comparePast, past(unreachable)), completed: inLeaves(comparePast, past(completed))}
	var infos []*wire.ExecutorInfo
	for _, e := range executors {
		infos = append(infos, e.Info)
	}
	f.used = inUse(f.used, tasks, infos)
	return f
}

// inUse adds to what is in use what these use.
func inUse(sum wire.Usage, tasks []*wire.Task, executors []*wire.ExecutorInfo) wire.Usage {
	for _, t := range tasks {
		if u := t.Usage(); !t.State.Terminal() {
			sum.Add(&u, 1)
		}
	}
	for _, e := range executors {
		u := wire.UsageOf(e.Resources)
		sum.Add(&u, 1)
	}
	return sum
}

func past(tasks []*wire.Task) (all []*Past) {
	for i, t := range tasks {
		all = append(all, &Past{t, uint64(i)})
	}
	return all
}

func inLeaves[V comparable](compare func(a, b V) int, all []V) leaves.Map[V] {
	m, e := leaves.New(compare), new(leaves.Edit)
	for _, v := range all {
		m.Set(e, v)
	}
	return m
}
