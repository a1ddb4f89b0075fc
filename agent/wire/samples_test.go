package wire_test

import (
	"fmt"
	"math"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

func ptr[T any](v T) *T { return &v }

// sample is a record, up or down.
type sample struct {
	name  string
	call  wire.Call // or
	event wire.Event
}

func (s sample) append(dst []byte, e wire.Encoding) ([]byte, error) {
	if s.call != nil {
		return wire.AppendCall(dst, e, s.call)
	}
	return wire.AppendEvent(dst, e, s.event)
}

func (s sample) decode(e wire.Encoding, record []byte) (any, error) {
	if s.call != nil {
		return wire.DecodeCall(e, record)
	}
	return wire.DecodeEvent(e, record)
}

func (s sample) value() any {
	if s.call != nil {
		return s.call
	}
	return s.event
}

var encodings = []wire.Encoding{wire.JSON, wire.Msgpack}

// samples has every type of record, and in them every field.
var samples = []sample{
	{name: "subscribe-new", call: &wire.Subscribe{
		Sequence: 1,
		Agent:    registry.Agent{Hostname: "host-1"},
		Version:  "1.12.0",
	}},
	{name: "subscribe-back", call: &wire.Subscribe{
		Sequence:     1,
		Agent:        fullAgent,
		Version:      "1.12.0",
		Capabilities: []string{"MULTI_ROLE", "AGENT_DRAINING"},
		Supersedes:   "boot-6",
		AgentID:      "a1",
		Frameworks:   []wire.FrameworkInfo{fullFramework, {ID: "f2", Name: "small", User: "nobody"}},
		Tasks:        []wire.Task{fullTask, {ID: "t2", FrameworkID: "f1", Name: "web", State: wire.TaskStaging}},
		Executors: []wire.ExecutorInfo{{ID: "e2", FrameworkID: "f2"}, {
			ID: "e1", FrameworkID: "f1", Name: "shell", Type: "CUSTOM", Source: "made by hand",
			Resources: []wire.Resource{{Resource: registry.Resource{Name: "mem", Value: registry.Scalar(32)}}},
			Labels:    []registry.Label{{Key: "k", Value: "v"}},
			Data:      []byte{0, 0xff}, ShutdownGracePeriod: ptr(5 * time.Second),
			Command:   `{"argv":["sh"],"value":"sh"}`,
			Container: `{"type":"MESOS"}`,
			Discovery: `{"visibility":"CLUSTER"}`,
		}},
		CompletedFrameworks: []wire.CompletedFramework{{
			Info:  wire.FrameworkInfo{ID: "f0", Name: "old", User: "root"},
			Tasks: []wire.Task{{ID: "t0", FrameworkID: "f0", Name: "done", State: wire.TaskFinished}},
		}},
		CompletedTasks: []wire.Task{{ID: "t1", FrameworkID: "f1", Name: "done", State: wire.TaskFailed}},
	}},
	{name: "update", call: &wire.Update{
		Sequence:         2,
		Tasks:            []wire.Task{fullTask},
		RemovedTasks:     []wire.TaskRef{{FrameworkID: "f1", ID: "t2"}},
		Frameworks:       []wire.FrameworkInfo{fullFramework},
		Executors:        []wire.ExecutorInfo{{ID: "e3", FrameworkID: "f1"}},
		RemovedExecutors: []wire.ExecutorRef{{FrameworkID: "f2", ID: "e2"}},
		Resources:        []registry.Resource{{Name: "cpus", Value: registry.Scalar(8)}},
	}},
	{name: "update-nothing-left", call: &wire.Update{Sequence: math.MaxUint64, Resources: []registry.Resource{}}},
	{name: "unregister", call: &wire.Unregister{Sequence: 3}},
	{name: "heartbeat-up", call: &wire.Heartbeat{}},
	{name: "unknown-up", call: &wire.Unknown{Type: "SING", Sequence: 4}},
	{name: "subscribed", event: &wire.Subscribed{
		AgentID: "a1", MasterID: "m1", Heartbeat: 15 * time.Second, MissesAllowed: 5,
	}},
	{name: "ack", event: &wire.Ack{Sequence: 1}},
	{name: "drain", event: &wire.Drain{MaxGrace: ptr(10 * time.Minute), MarkGone: true}},
	{name: "drain-plain", event: &wire.Drain{}},
	{name: "kill", event: &wire.Kill{
		Task:       wire.TaskRef{FrameworkID: "f1", ID: "t1"},
		KillPolicy: `{"grace_period":{"nanoseconds":5000000000}}`,
	}},
	{name: "shutdown", event: &wire.Shutdown{Reason: "agent is gone"}},
	{name: "error", event: &wire.Error{Message: "subscribe.agent_info.hostname: is missing"}},
	{name: "heartbeat-down", event: &wire.Heartbeat{}},
	{name: "unknown-down", event: &wire.Unknown{Type: "DANCE"}},
}

var fullAgent = registry.Agent{
	ID: "a1", Incarnation: "boot-7", Hostname: "host-1.example", Port: 5051,
	Resources: []registry.Resource{
		{Name: "cpus", Value: registry.Scalar(4)},
		{Name: "mem", Value: registry.Scalar(15026.5), Reservations: []registry.Reservation{
			{Role: "db"},
			{Role: "db/a", Dynamic: true, Principal: "ops", Labels: []registry.Label{{Key: "why", Value: ""}, {Key: "k", Bare: true}}},
		}},
		{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 31000, End: 32000}, registry.Range{Begin: 1, End: math.MaxUint64})},
		{Name: "disks", Value: registry.Set("sda", "sdb")},
		{Name: "none", Value: registry.Set()},
	},
	Attributes: []registry.Attribute{
		{Name: "rack", Value: registry.Text("r12")},
		{Name: "level", Value: registry.Scalar(-3)},
		{Name: "vlans", Value: registry.Ranges(registry.Range{Begin: 5, End: 5})},
		{Name: "zones", Value: registry.Set("größe", "b\"\\\n\x7f")},
	},
	Domain:     registry.Domain{Region: "eu", Zone: "eu-1"},
	Checkpoint: true,
	Labels:     map[string]string{"team": "blue", "empty": ""},
	Payload:    []byte("\x00payload\xff"),
}

var fullFramework = wire.FrameworkInfo{
	ID: "f1", Name: "marathon", User: "root", Role: "web", Roles: []string{"web", "db"},
	FailoverTimeout: 604800, Checkpoint: true, Hostname: "host-9", Principal: "ops", WebUIURL: "http://host-9:8080",
	Capabilities: []string{"MULTI_ROLE"}, Labels: []registry.Label{{Key: "k", Value: "v"}},
	OfferFilters: `{"web":{"min_allocatable_resources":{"quantities":[]}}}`,
}

var fullTask = wire.Task{
	ID: "t1", FrameworkID: "f1", ExecutorID: "e1", AgentID: "a1", Name: "web", State: wire.TaskRunning, User: "www",
	Resources: []wire.Resource{
		{Resource: registry.Resource{Name: "cpus", Value: registry.Scalar(0.1)}, AllocationRole: "web"},
		{Resource: registry.Resource{Name: "disk", Value: registry.Scalar(1024)}, AllocationRole: "web", Special: &wire.Special{
			ProviderID: "p1", Disk: `{"source":{"type":"MOUNT"}}`, Revocable: `{}`, Shared: `{}`,
		}},
	},
	Limits: map[string]float64{"cpus": 2.5, "mem": math.Inf(1)},
	Statuses: []wire.TaskStatus{{State: wire.TaskStarting, Timestamp: 1700000000.25}, {
		State: wire.TaskRunning, Timestamp: 1700000001.123457, Message: "up", Source: "SOURCE_EXECUTOR",
		Reason: "REASON_TASK_HEALTH_CHECK_STATUS_UPDATED", Healthy: ptr(false), Data: []byte{1}, UUID: []byte("0123456789abcdef"),
		Labels:          []registry.Label{{Key: "k", Bare: true}},
		ContainerStatus: `{"container_id":{"value":"c1"},"network_infos":[{"ip_addresses":[{"ip_address":"10.0.0.4"}]}]}`,
		CheckStatus:     `{"type":"HTTP"}`, Limitation: `{"reason":null}`,
	}},
	Labels:            tenLabels(),
	StatusUpdateState: wire.TaskRunning, StatusUpdateUUID: []byte("fedcba9876543210"),
	Discovery:   `{"name":"web","ports":{"ports":[{"name":"http","number":8080}]},"visibility":"EXTERNAL"}`,
	Container:   `{"docker":{"image":"nginx","privileged":false},"type":"DOCKER"}`,
	HealthCheck: `{"delay_seconds":15.5,"grace_period_seconds":-1,"tcp":{"port":8080}}`,
	KillPolicy:  `{"grace_period":{"nanoseconds":18446744073709551615}}`,
}

func tenLabels() (list []registry.Label) {
	for i := range 10 {
		list = append(list, registry.Label{Key: fmt.Sprint("key", i), Value: fmt.Sprint("value", i)})
	}
	return list
}

// comeBack is an agent that comes back with so many tasks, as in Mesos's
// benchmarks of a failover.
func comeBack(tasks int) *wire.Subscribe {
	c := &wire.Subscribe{
		Sequence: 1,
		Agent: registry.Agent{ID: "20140819-123456-1-5050-1234-S17", Hostname: "agent17", Port: 5051, Resources: []registry.Resource{
			{Name: "cpus", Value: registry.Scalar(20)}, {Name: "mem", Value: registry.Scalar(10240)},
		}},
		Version: "1.12.0", AgentID: "20140819-123456-1-5050-1234-S17",
		Capabilities: []string{"MULTI_ROLE", "RESERVATION_REFINEMENT", "AGENT_DRAINING"},
	}
	for i := range 5 {
		c.Frameworks = append(c.Frameworks, wire.FrameworkInfo{
			ID: fmt.Sprintf("framework%d", i), Name: "default", User: "root", Principal: "test-principal",
			Roles: []string{"*"}, Capabilities: []string{"MULTI_ROLE", "RESERVATION_REFINEMENT"},
		})
	}
	for i := range tasks {
		c.Tasks = append(c.Tasks, wire.Task{
			ID: fmt.Sprintf("5f1b2c3d-0000-4000-8000-%012d", i), Name: "test-task", State: wire.TaskRunning,
			FrameworkID: fmt.Sprintf("framework%d", i%5), AgentID: c.AgentID,
			Resources: []wire.Resource{
				{Resource: registry.Resource{Name: "cpus", Value: registry.Scalar(0.1)}, AllocationRole: "*"},
				{Resource: registry.Resource{Name: "mem", Value: registry.Scalar(5)}, AllocationRole: "*"},
			},
			Labels: tenLabels(),
		})
	}
	return c
}
