package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// fleet is the agents of a failover: each runs tasks of the same frameworks.
type fleet struct {
	Agents, Frameworks, Tasks, Completed int
}

// agent is what an agent says of itself; every call makes values of its own.
func (f fleet) agent(i int) registry.Agent {
	return registry.Agent{
		Hostname:  fmt.Sprintf("agent-%d", i),
		Port:      5051,
		Resources: []registry.Resource{scalarResource("cpus", 20), scalarResource("mem", 10240)},
	}
}

func (f fleet) frameworks() []wire.FrameworkInfo {
	all := make([]wire.FrameworkInfo, f.Frameworks)
	for i := range all {
		all[i] = wire.FrameworkInfo{
			ID: frameworkID(i), Name: fmt.Sprintf("framework-%d", i), User: "root",
			Roles: []string{"*"}, Capabilities: []string{"PARTITION_AWARE", "MULTI_ROLE"},
		}
	}
	return all
}

// tasks are those that run on agent i, or those that have ended there.
func (f fleet) tasks(i int, state wire.TaskState, each int) []wire.Task {
	all := make([]wire.Task, 0, f.Frameworks*each)
	for framework := range f.Frameworks {
		for n := range each {
			all = append(all, wire.Task{
				ID: fmt.Sprintf("task-%d-%d-%d-%s", i, framework, n, state), FrameworkID: frameworkID(framework),
				Name: fmt.Sprintf("task-%d", n), State: state,
				Resources: []wire.Resource{{Resource: scalarResource("cpus", 0.1)}, {Resource: scalarResource("mem", 5)}},
				Statuses:  []wire.TaskStatus{{State: state, Timestamp: 1_500_000_000}},
			})
		}
	}
	return all
}

// subscribe is what agent i says first when it comes back under its ID, as
// package agent says it.
func (f fleet) subscribe(i int, id registry.AgentID) *wire.Subscribe {
	s := &wire.Subscribe{
		Sequence: 1, Agent: f.agent(i), Version: "1.0.0", AgentID: id, Frameworks: f.frameworks(),
		Tasks: append(f.tasks(i, wire.TaskRunning, f.Tasks), f.tasks(i, wire.TaskFinished, f.Completed)...),
	}
	s.Agent.ID, s.Agent.Incarnation = id, "00000000-0000-4000-8000-000000000000"
	slices.SortFunc(s.Tasks, func(a, b wire.Task) int {
		return cmp.Or(strings.Compare(a.FrameworkID, b.FrameworkID), strings.Compare(a.ID, b.ID))
	})
	return s
}

func frameworkID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

func scalarResource(name string, n float64) registry.Resource {
	return registry.Resource{Name: name, Value: registry.Value{Kind: registry.KindScalar, Scalar: n}}
}

// body is what agent i says first, as a chunk of the stream.
func (f fleet) body(i int, id string, e wire.Encoding) ([]byte, error) {
	var b bytes.Buffer
	err := wire.NewWriter(&b).Call(e, f.subscribe(i, registry.AgentID(id)))
	return b.Bytes(), err
}
