package httpapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// ids are those of the elements of an array in an answer.
func ids(t *testing.T, answer []byte, array string) []string {
	t.Helper()
	list := []string{}
	for _, kid := range decode(t, answer).at(t, array).kids {
		list = append(list, kid.at(t, "id").text)
	}
	return list
}

func TestTasksComeInTheOrderAndNumberAskedFor(t *testing.T) {
	s := fullCluster(t)
	for query, want := range map[string]string{
		"":                                "t3 t5 t2 t1 t6 t0 t4 t1",
		"order=desc":                      "t3 t5 t2 t1 t6 t0 t4 t1",
		"order=ASC":                       "t3 t5 t2 t1 t6 t0 t4 t1",
		"order=asc":                       "t4 t1 t0 t6 t1 t2 t5 t3", // those without a status first
		"order=asc&limit=-1":              "t4 t1 t0 t6 t1 t2 t5 t3",
		"limit=2":                         "t3 t5",
		"limit=2&offset=1":                "t5 t2",
		"limit=0":                         "",
		"limit=many&offset=some":          "t3 t5 t2 t1 t6 t0 t4 t1",
		"offset=7":                        "t1",
		"offset=8":                        "",
		"offset=9223372036854775807":      "",
		"offset=-3&limit=1":               "t3",
		"limit=99999999999999999999":      "t3 t5 t2 t1 t6 t0 t4 t1",
		"limit=9223372036854775807":       "t3 t5 t2 t1 t6 t0 t4 t1",
		"framework_id=f2":                 "t1",
		"framework_id=f0":                 "t0",
		"task_id=t1":                      "t1 t1",
		"task_id=t1&framework_id=f1":      "t1",
		"task_id=t9":                      "",
		"framework_id=":                   "",
		"_ts=1&limit=1":                   "t3",
		"framework_id=f1&limit=2&order=a": "t3 t5",
	} {
		got := strings.Join(ids(t, get(t, s, "/tasks?"+query), "tasks"), " ")
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestAHundredTasksAreShownToThoseWhoDoNotSay(t *testing.T) {
	var tasks []*wire.Task
	for i := range 150 {
		id := string(rune('a'+i/26)) + string(rune('a'+i%26))
		tasks = append(tasks, &wire.Task{ID: id, FrameworkID: "f", State: wire.TaskRunning, Statuses: []wire.TaskStatus{{State: wire.TaskRunning, Timestamp: float64(i % 5)}}})
	}
	s := newMaster()
	f := master.NewFramework(wire.FrameworkInfo{ID: "f"}, tasks, nil, nil, nil)
	whole := master.NewState(nil, nil, []*master.Framework{f}, nil)
	whole.Master, whole.Registry = s.Master, s.Registry
	for query, want := range map[string]int{"": 100, "?limit=-1": 150, "?limit=120": 120, "?limit=x": 100, "?offset=60": 90} {
		if got := len(ids(t, get(t, whole, "/tasks"+query), "tasks")); got != want {
			t.Errorf("%q: %d tasks, want %d", query, got, want)
		}
	}
	list := ids(t, get(t, whole, "/tasks?limit=3"), "tasks")
	if diff := cmp.Diff([]string{"ae", "aj", "ao"}, list); diff != "" {
		t.Errorf("tasks of one time are not in the order of their IDs: %s", diff)
	}
}

func TestOneAgentCanBeAskedFor(t *testing.T) {
	s := fullCluster(t)
	for id, want := range map[string][2]string{
		"m1-S2": {"m1-S2", ""}, "m0-S0": {"", "m0-S0"}, "m1-S9": {"", ""}, "": {"", ""},
	} {
		answer := get(t, s, "/slaves?slave_id="+id)
		got := [2]string{strings.Join(ids(t, answer, "slaves"), " "), strings.Join(ids(t, answer, "recovered_slaves"), " ")}
		if got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestOneFrameworkCanBeAskedFor(t *testing.T) {
	s := fullCluster(t)
	for id, want := range map[string][2]string{"f1": {"f1", ""}, "f0": {"", "f0"}, "f9": {"", ""}} {
		answer := get(t, s, "/frameworks?framework_id="+id)
		got := [2]string{strings.Join(ids(t, answer, "frameworks"), " "), strings.Join(ids(t, answer, "completed_frameworks"), " ")}
		if got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

// What an old Mesos reader makes of /slaves is what the agents said.
func TestAgentsCanBeReadBack(t *testing.T) {
	s := fullCluster(t)
	got := map[registry.AgentID]mesosjson.Entry{}
	_, err := mesosjson.Read(strings.NewReader(string(get(t, s, "/slaves"))), func(e mesosjson.Entry) error {
		got[e.ID] = e
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || !got["m0-S0"].Recovered {
		t.Errorf("read %v", got)
	}
	for a := range s.Agents() {
		e := got[a.Info.ID]
		if e.Agent == nil {
			t.Fatalf("%s was not read", a.Info.ID)
		}
		if e.Agent.Hostname != a.Info.Hostname || e.Agent.Domain != a.Info.Domain {
			t.Errorf("%s reads as %+v", a.Info.ID, e.Agent)
		}
		if diff := cmp.Diff(a.Status, e.Status); diff != "" {
			t.Errorf("status of %s (-want +got):\n%s", a.Info.ID, diff)
		}
	}
	want := []registry.Resource{{Name: "cpus", Value: registry.Scalar(2)}, {Name: "tokens", Value: registry.Scalar(7)}}
	if diff := cmp.Diff(want, got["m1-S2"].Agent.Resources); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

func TestAReasonableAnswerToUnreasonableAgents(t *testing.T) {
	a := &master.Agent{
		Info: registry.Agent{ID: "a", Hostname: "h"},
		Resources: []registry.Resource{
			{Name: "cpus", Value: registry.Set("not", "a number")},
			{Name: "mem", Value: registry.Scalar(1e308)}, {Name: "mem", Value: registry.Scalar(1e308)},
			{Name: "x", Value: registry.Scalar(1)}, {Name: "x", Value: registry.Value{Kind: registry.KindSet, Scalar: 5, Set: []string{"y"}}},
			{Name: "q", Value: registry.Ranges(registry.Range{Begin: 5, End: 4})},
			{Name: "s", Value: registry.Set("b", "a")}, {Name: "s", Value: registry.Set("c", "a")},
			{Name: "p", Value: registry.Ranges(registry.Range{Begin: 18446744073709551615, End: 18446744073709551615}, registry.Range{Begin: 5, End: 4}, registry.Range{Begin: 0, End: 18446744073709551614})},
			{Name: "none", Value: registry.Set()}, {Name: "zero", Value: registry.Scalar(0)}, {Name: "t", Value: registry.Text("?")}, {Name: "t", Value: registry.Scalar(1)},
		},
	}
	tasks := []*wire.Task{{ID: "t", FrameworkID: "f", State: wire.TaskRunning, Resources: []wire.Resource{scalar("mem", -1e308, ""), scalar("mem", -1e308, ""), scalar("mem", 1e308, "")},
		Statuses: []wire.TaskStatus{{State: wire.TaskRunning, ContainerStatus: `7`}, {State: wire.TaskRunning, ContainerStatus: `{"network_infos":{},"container_id":null}`}}}}
	a.With(tasks, nil)
	f := master.NewFramework(wire.FrameworkInfo{ID: "f", Capabilities: []string{"MULTI_ROLE"}}, tasks, nil, nil,
		[]*master.Executor{{AgentID: "a", Info: &wire.ExecutorInfo{ID: "e", FrameworkID: "f", Command: `[1]`}}, {AgentID: "a", Info: &wire.ExecutorInfo{ID: "e3", FrameworkID: "f", Command: `{"uris":[4,{}]}`}}})
	s := master.NewState([]*master.Agent{a}, nil, []*master.Framework{f}, nil)
	s.Master, s.Registry = leader, registry.New()
	for _, path := range []string{"/state", "/slaves", "/frameworks", "/tasks", "/roles", "/state-summary"} {
		compact(t, get(t, s, path))
	}
	state := decode(t, get(t, s, "/state"))
	const want = `{"cpus":0.0,"gpus":0.0,"mem":1.7976931348623157e308,"disk":0.0,"t":1.0,"x":1.0,"p":"[0-18446744073709551615]","q":"[]","s":"{a, b, c}"}`
	if got := string(state.at(t, "slaves/0/resources").bytes); got != want {
		t.Errorf("resources are %s, want %s", got, want)
	}
	const statuses = `[{"state":"TASK_RUNNING","timestamp":0.0,"container_status":{}},{"state":"TASK_RUNNING","timestamp":0.0,"container_status":{"container_id":null,"network_infos":[]}}]`
	if got := string(state.at(t, "frameworks/0/tasks/0/statuses").bytes); got != statuses {
		t.Errorf("statuses are %s", got)
	}
	if got := string(state.at(t, "frameworks/0/executors/1/command").bytes); got != `{"argv":[],"uris":[{"value":"","executable":false},{"value":"","executable":false}]}` {
		t.Errorf("command is %s", got)
	}
	if got := state.at(t, "slaves/0/pid").text; got != "slave(1)@h:5051" {
		t.Errorf("pid is %s", got)
	}
}

func TestWhatIsSharedCountsOnceOnEachAgent(t *testing.T) {
	volume := scalar("disk", 10, "r")
	volume.Special = &wire.Special{Disk: `{"persistence":{"id":"v"}}`, Shared: `{}`}
	var tasks []*wire.Task
	for i, agent := range []registry.AgentID{"a", "a", "b"} {
		tasks = append(tasks, &wire.Task{ID: string(rune('x' + i)), FrameworkID: "f", AgentID: agent, State: wire.TaskRunning, Resources: []wire.Resource{volume}})
	}
	f := master.NewFramework(wire.FrameworkInfo{ID: "f"}, tasks, nil, nil, nil)
	s := master.NewState(nil, nil, []*master.Framework{f}, nil)
	s.Master, s.Registry = leader, registry.New()
	if got := decode(t, get(t, s, "/state")).number(t, "frameworks/0/used_resources/disk"); got != 20 {
		t.Errorf("the framework uses %v, want 20", got)
	}
	if got := decode(t, get(t, s, "/roles")).number(t, "roles/1/allocated/disk"); got != 20 {
		t.Errorf("the role has %v, want 20", got)
	}
}
