package master

import (
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// NewState is a cluster put together by hand, for whoever tests what reads
// States. The caller fills the exported fields before anybody else has it.
// Completed frameworks are given the oldest first.
func NewState(agents []*Agent, recovered []*registry.Agent, frameworks, completed []*Framework) *State {
	s := &State{completed: completed}
	for _, a := range agents {
		s.agents.Set(a.Info.ID, a)
	}
	for _, a := range recovered {
		s.recovered.Set(a.ID, a)
	}
	for _, f := range frameworks {
		s.frameworks.Set(f.Info.ID, f)
	}
	return s
}

// NewFramework is a framework put together by hand, for a NewState. Unreachable
// and completed tasks are given the oldest first.
func NewFramework(info wire.FrameworkInfo, tasks, unreachable, completed []*wire.Task, executors []*Executor) *Framework {
	f := &Framework{Info: info}
	for i, t := range unreachable {
		f.unreachable.Set(uint64(i), t)
	}
	for i, t := range completed {
		f.completed.Set(uint64(i), t)
	}
	for _, t := range tasks {
		f.tasks.Set(taskKey(t), t)
	}
	for _, e := range executors {
		f.executors.Set(string(e.AgentID)+"/"+e.Info.ID, e) // no ID has a slash
	}
	return f
}
