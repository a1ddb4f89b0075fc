package bench

import (
	"fmt"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registry"
)

// stateFleet is the agents whose cluster is asked about, as Mesos's
// MasterStateQuery_BENCHMARK_Test has them: each has tasks of the same
// frameworks. Each framework has a role of its own.
type stateFleet struct {
	agents, frameworks int
	tasks, completed   int // of each framework on an agent
	// bare frameworks have one name and one role, and tasks without labels.
	bare bool
}

func (f stateFleet) size() int { return f.agents }

// running is how many tasks run in all.
func (f stateFleet) running() int { return f.agents * f.frameworks * f.tasks }

func (f stateFleet) subscribe(i int) *wire.Subscribe {
	call := &wire.Subscribe{
		Sequence: 1, Version: "1.12.0",
		Agent: registry.Agent{
			ID: registry.AgentID(fmt.Sprintf("agent%d", i)), Hostname: fmt.Sprintf("agent%d", i), Port: 5051,
			Resources: []registry.Resource{scalarResource("cpus", 20), scalarResource("mem", 10240)},
		},
	}
	for framework := range f.frameworks {
		call.Frameworks = append(call.Frameworks, wire.FrameworkInfo{
			ID: frameworkID(framework), Name: fmt.Sprintf("framework%d", framework), User: "root",
			Roles: []string{stateRole(framework)}, Capabilities: []string{"PARTITION_AWARE", "MULTI_ROLE"},
		})
		if f.bare {
			info := &call.Frameworks[framework]
			info.Name, info.Roles, info.Principal = "default", []string{"*"}, "test-principal"
		}
		for n := range f.tasks {
			t := stateTask(i, framework, n, wire.TaskRunning)
			if f.bare {
				t.Labels = nil
			}
			call.Tasks = append(call.Tasks, t)
		}
		for n := range f.completed {
			call.CompletedTasks = append(call.CompletedTasks, stateTask(i, framework, f.tasks+n, wire.TaskFinished))
		}
	}
	return call
}

// update says that one of the tasks that run, counted over all agents, is still
// well: a status with a time that it did not have before.
func (f stateFleet) update(task, moment int) (agent int, _ *wire.Update) {
	n, task := task%f.tasks, task/f.tasks
	framework, agent := task%f.frameworks, task/f.frameworks
	healthy := true
	t := stateTask(agent, framework, n, wire.TaskRunning)
	t.Statuses = []wire.TaskStatus{{State: wire.TaskRunning, Timestamp: float64(1_500_000_000 + moment), Healthy: &healthy}}
	return agent, &wire.Update{Sequence: 1, Tasks: []wire.Task{t}}
}

func stateTask(agent, framework, n int, state wire.TaskState) wire.Task {
	t := wire.Task{
		ID: fmt.Sprintf("%08x-%04x-4000-8000-%012d", agent, framework, n), FrameworkID: frameworkID(framework),
		Name: fmt.Sprintf("task%d", n), State: state,
	}
	for _, r := range []registry.Resource{scalarResource("cpus", 0.1), scalarResource("mem", 5)} {
		t.Resources = append(t.Resources, wire.Resource{Resource: r, AllocationRole: stateRole(framework)})
	}
	for i := range 10 {
		t.Labels = append(t.Labels, registry.Label{Key: fmt.Sprintf("key%d", i), Value: fmt.Sprintf("value%d", i)})
	}
	return t
}

func stateRole(framework int) string { return fmt.Sprintf("role%d", framework) }

// received is a call as a master gets it: decoded, packed, and with nothing in common
// with any other. Calls that share their strings would make the master's memory,
// and all that compares them, look cheap.
func received[C wire.Call](call C) (C, error) {
	var none C
	record, err := wire.AppendCall(nil, wire.JSON, call)
	if err != nil {
		return none, err
	}
	decoded, err := wire.DecodeCall(wire.JSON, record)
	if err != nil {
		return none, err
	}
	httpapi.Pack(decoded)
	return decoded.(C), nil
}
