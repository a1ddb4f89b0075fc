package httpapi_test

import (
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registry"
)

// still is a source whose state does not change.
type still struct{ state *master.State }

func (s still) State() *master.State { return s.state }

var _ httpapi.Source = (*master.Master)(nil)

var options = httpapi.Options{
	Build: httpapi.Build{
		Time:   at(-86400),
		GitSHA: "c1b42f79d2d1e3f0a5b6c7d8e9f0a1b2c3d4e5f6", GitTag: "1.12.0",
	},
	Flags: map[string]string{
		"zz": "", "agent_reregister_timeout": "10mins", "quiet": "false", "log_dir": "/var/log/registrar",
		"external_log_file": "/var/log/registrar/out.log",
	},
	Cluster: "tests",
}

// at is a time some seconds after the master of the tests began.
func at(seconds float64) time.Time {
	return time.Unix(1700000000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

var leader = registry.Master{
	ID: "m1", IP: "10.0.0.1", Port: 5050, PID: "master@10.0.0.1:5050", Hostname: "master-1.example", Version: "1.12.0",
	Domain: registry.Domain{Region: "eu", Zone: "eu-1"}, Capabilities: []string{"AGENT_UPDATE", "AGENT_DRAINING"},
}

// newMaster is the state of a master that knows of no agent.
func newMaster() *master.State {
	s := master.NewState(nil, nil, nil, nil)
	s.Master, s.Started, s.Elected, s.Registry = leader, at(0), at(0.25), registry.New()
	return s
}

// fullCluster is a state with something of everything.
func fullCluster(t rapid.TB) *master.State {
	agents, recovered := fullAgents()
	frameworks, completed := fullFrameworks(agents)
	s := master.NewState(agents, recovered, frameworks, completed)
	s.Version, s.Master, s.Started, s.Elected = 7, leader, at(0), at(0.25)
	s.Registry = registryOf(t, agents, recovered)
	return s
}

func fullAgents() (agents []*master.Agent, recovered []*registry.Agent) {
	grace := 90 * time.Second
	first := &master.Agent{
		Info: registry.Agent{
			ID: "m1-S1", Hostname: "host-1.example", Port: 5061, Domain: registry.Domain{Region: "eu", Zone: "eu-2"},
			Attributes: []registry.Attribute{
				{Name: "rack", Value: registry.Text("r0")}, // is said again
				{Name: "level", Value: registry.Scalar(3)},
				{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 1, End: 9})},
				{Name: "disks", Value: registry.Set("ssd", "hdd")},
				{Name: "rack", Value: registry.Text(`r"12`)},
			},
		},
		Resources: []registry.Resource{
			{Name: "cpus", Value: registry.Scalar(4)},
			{Name: "cpus", Value: registry.Scalar(0.5)},
			{Name: "mem", Value: registry.Scalar(15026)},
			{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 31000, End: 31999}, registry.Range{Begin: 33000, End: 34000})},
			{Name: "disks", Value: registry.Set("sda", "sdb")},
			{Name: "mem", Value: registry.Scalar(1024), Reservations: []registry.Reservation{{Role: "db"}}},
			{Name: "mem", Value: registry.Scalar(512), Reservations: []registry.Reservation{
				{Role: "db"}, {Role: "db/a", Dynamic: true, Principal: "ops", Labels: []registry.Label{{Key: "why", Value: "tests"}, {Key: "bare", Bare: true}}},
			}},
			{Name: "disk", Value: registry.Scalar(2048), Reservations: []registry.Reservation{{Role: "web", Dynamic: true, Principal: "ops"}}},
			{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 32000, End: 32000}), Reservations: []registry.Reservation{{Role: "web"}}},
		},
		Status: registry.Status{
			State: registry.Admitted, Deactivated: true,
			Drain: registry.Drain{State: registry.Draining, MaxGrace: &grace},
		},
		Version: "1.12.0", Capabilities: []string{"MULTI_ROLE", "AGENT_DRAINING"}, Address: "10.0.1.1:40123", Connected: true,
		Registered: at(10.5), Reregistered: at(99), DrainStarted: at(120),
	}
	second := &master.Agent{
		Info:      registry.Agent{ID: "m1-S2", Hostname: "host-2.example"},
		Resources: []registry.Resource{{Name: "cpus", Value: registry.Scalar(2)}, {Name: "tokens", Value: registry.Scalar(7)}},
		Status:    registry.Status{State: registry.Admitted},
		Version:   "1.12.0", Address: "[fd00::2]:40124", Connected: true, Registered: at(11),
	}
	third := &master.Agent{ // its stream is down
		Info:    registry.Agent{ID: "m1-S3", Hostname: "host-3.example"},
		Status:  registry.Status{State: registry.Admitted},
		Version: "1.12.0", Address: "10.0.1.3:40125", Registered: at(12),
	}
	recovered = []*registry.Agent{{
		ID: "m0-S0", Hostname: "host-0.example", Port: 5051, Resources: first.Resources,
		Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text("r1")}}, Domain: registry.Domain{Region: "eu", Zone: "eu-1"},
	}}
	return []*master.Agent{second, first, third}, recovered
}

// fullFrameworks also puts what runs on the agents.
func fullFrameworks(agents []*master.Agent) (frameworks, completed []*master.Framework) {
	healthy := true
	web := func(id string, state wire.TaskState, on registry.AgentID, resources ...wire.Resource) *wire.Task {
		return &wire.Task{ID: id, Name: "web", FrameworkID: "f1", AgentID: on, State: state, Resources: resources}
	}
	volume := wire.Resource{
		Resource: registry.Resource{Name: "disk", Value: registry.Scalar(100), Reservations: []registry.Reservation{{Role: "web"}}}, AllocationRole: "web",
		Special: &wire.Special{Disk: `{"persistence":{"id":"v1"},"volume":{"container_path":"data","mode":"RW"}}`, Shared: `{}`},
	}
	spare := wire.Resource{
		Resource: registry.Resource{Name: "cpus", Value: registry.Scalar(0.25)}, AllocationRole: "web",
		Special: &wire.Special{ProviderID: "p1", Revocable: `{}`},
	}
	running := web("t1", wire.TaskRunning, "m1-S1", scalar("cpus", 0.1, "web"), scalar("mem", 128, "web"),
		wire.Resource{Resource: registry.Resource{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 31001, End: 31001}, registry.Range{Begin: 31000, End: 31000})}, AllocationRole: "web"},
		volume, spare)
	running.ExecutorID, running.User = "e1", "root"
	running.Limits = map[string]float64{"mem": math.Inf(1), "cpus": 1.5}
	running.Labels = []registry.Label{{Key: "tier", Value: "front"}, {Key: "bare", Bare: true}}
	running.Discovery = `{"visibility":"FRAMEWORK","name":"web","ports":{"ports":[{"number":31000,"protocol":"tcp"}]}}`
	running.Container = `{"type":"MESOS","mesos":{"image":{"type":"DOCKER","docker":{"name":"nginx"}}}}`
	running.HealthCheck = `{"type":"TCP","tcp":{"port":31000}}`
	running.Statuses = []wire.TaskStatus{
		{State: wire.TaskStarting, Timestamp: 1700000020.25, Message: "is not shown", Data: []byte("nor this")},
		{
			State: wire.TaskRunning, Timestamp: 1700000021, Healthy: &healthy, Labels: []registry.Label{{Key: "k", Value: "v"}},
			ContainerStatus: `{"executor_pid":12,"network_infos":[{"name":"dcos","labels":{"labels":[{"key":"space","value":"/web"}]},` +
				`"ip_addresses":[{"protocol":"IPv4","ip_address":"9.0.2.2"}],"port_mappings":[{"host_port":31000,"container_port":80}]},{"groups":["g"]}],` +
				`"container_id":{"value":"c1"}}`,
		},
	}
	sharing := web("t2", wire.TaskKilling, "m1-S1", scalar("cpus", 0.2, "web"), volume)
	sharing.Statuses = []wire.TaskStatus{{State: wire.TaskKilling, Timestamp: 1700000030}}
	ended := web("t3", wire.TaskFailed, "m1-S2", scalar("cpus", 1, "web")) // its framework has not acknowledged it
	ended.Statuses = []wire.TaskStatus{{State: wire.TaskFailed, Timestamp: 1700000040}}
	newer := web("t4", "TASK_FROZEN", "m1-S2", scalar("cpus", 0.125, "db/a"), scalar("tokens", 2, "db/a"))
	lost := web("t5", wire.TaskUnreachable, "m1-S9", scalar("cpus", 3, "web"))
	lost.Statuses = []wire.TaskStatus{{State: wire.TaskUnreachable, Timestamp: 1700000035}}
	done := web("t6", wire.TaskFinished, "m1-S2", scalar("cpus", 4, "web"))
	done.Statuses = []wire.TaskStatus{{State: wire.TaskRunning, Timestamp: 1700000015}, {State: wire.TaskFinished, Timestamp: 1700000050}}
	executor := &wire.ExecutorInfo{
		ID: "e1", FrameworkID: "f1", Name: "shell", Type: "CUSTOM", Labels: []registry.Label{{Key: "k", Value: "v"}},
		Resources: []wire.Resource{scalar("cpus", 0.1, "web"), scalar("mem", 32, "web")},
		Command: `{"uris":[{"value":"http://files.example/run","executable":true,"extract":false},{"value":"http://files.example/data"}],` +
			`"environment":{"variables":[{"name":"A","value":"b"}]},"shell":false,"value":"./run","arguments":["./run","-x"]}`,
	}
	plain := &wire.ExecutorInfo{ID: "e2", FrameworkID: "f1"}
	old := &wire.Task{ID: "t1", Name: "cron", FrameworkID: "f2", AgentID: "m1-S2", State: wire.TaskStaging, Resources: []wire.Resource{scalar("mem", 64, "")}}

	agents[0].With([]*wire.Task{ended, newer, old}, []*wire.ExecutorInfo{plain})
	agents[1].With([]*wire.Task{running, sharing}, []*wire.ExecutorInfo{executor})

	f1 := master.NewFramework(wire.FrameworkInfo{
		ID: "f1", Name: "marathon", User: "root", Roles: []string{"web", "ops"}, FailoverTimeout: 604800, Checkpoint: true,
		Hostname: "host-9.example", Principal: "ops", WebUIURL: "http://host-9.example:8080",
		Capabilities: []string{"MULTI_ROLE", "PARTITION_AWARE"}, Labels: []registry.Label{{Key: "team", Value: "blue"}},
	}, []*wire.Task{running, sharing, ended, newer}, []*wire.Task{lost}, []*wire.Task{done},
		[]*master.Executor{{AgentID: "m1-S2", Info: plain}, {AgentID: "m1-S1", Info: executor}})
	f1.Registered = at(13)
	f2 := master.NewFramework(wire.FrameworkInfo{ID: "f2", Name: "chronos", User: "nobody"}, []*wire.Task{old}, nil, nil, nil)
	f2.Registered = at(14)
	f0 := master.NewFramework(wire.FrameworkInfo{ID: "f0", Name: "over", User: "root", Role: "batch"}, nil, nil,
		[]*wire.Task{{ID: "t0", Name: "was", FrameworkID: "f0", AgentID: "m0-S0", State: wire.TaskLost, Statuses: []wire.TaskStatus{{State: wire.TaskLost, Timestamp: 1600000000}}}}, nil)
	f0.Registered, f0.Unregistered = at(1), at(9)
	return []*master.Framework{f2, f1}, []*master.Framework{f0}
}

func scalar(name string, v float64, role string) wire.Resource {
	return wire.Resource{Resource: registry.Resource{Name: name, Value: registry.Scalar(v)}, AllocationRole: role}
}

// registryOf also has an agent that is unreachable and two that are gone.
func registryOf(t rapid.TB, agents []*master.Agent, recovered []*registry.Agent) *registry.Registry {
	d := registry.New().Draft()
	_, err := d.Try(func(d *registry.Draft) error {
		for _, a := range recovered {
			if err := d.PutAgent(*a, registry.Status{State: registry.Admitted}); err != nil {
				return err
			}
		}
		for _, a := range agents {
			info := a.Info
			info.Resources = a.Resources
			if err := d.PutAgent(info, a.Status); err != nil {
				return err
			}
		}
		if err := d.PutStatus("m1-S9", registry.Status{State: registry.Unreachable, At: at(60)}); err != nil {
			return err
		}
		for _, id := range []registry.AgentID{"m0-S7", "m0-S8"} {
			if err := d.PutStatus(id, registry.Status{State: registry.Gone, At: at(70)}); err != nil {
				return err
			}
		}
		return d.SetMaster(leader)
	})
	if err != nil {
		t.Fatal(err)
	}
	return d.Freeze()
}
