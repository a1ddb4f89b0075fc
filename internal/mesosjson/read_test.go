package mesosjson_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/registry"
)

// sameEntries compares what callers see of entries.
var sameEntries = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(mesosjson.Entry{})}

func read(input string) (list []mesosjson.Entry, report mesosjson.Report, err error) {
	report, err = mesosjson.Read(strings.NewReader(input), func(e mesosjson.Entry) error {
		list = append(list, e)
		return nil
	})
	return list, report, err
}

func mustRead(t *testing.T, input string) ([]mesosjson.Entry, mesosjson.Report) {
	t.Helper()
	list, report, err := read(input)
	if err != nil {
		t.Fatal(err)
	}
	return list, report
}

func TestRegistryIsReadInOrder(t *testing.T) {
	list, report := mustRead(t, `{
		"gone": {"slaves": [{"id": {"value": "g"}, "timestamp": {"nanoseconds": 1714563456559287346}}]},
		"master": {"info": {"address": {"hostname": "m", "ip": "10.0.5.101", "port": 5050}, "capabilities": [{"type": "QUOTA_V2"}],
			"hostname": "m", "id": "master-1", "ip": 1694826506, "pid": "master@10.0.5.101:5050", "port": 5050, "version": "1.11.0"}},
		"minimum_capabilities": [{"capability": "AGENT_DRAINING"}],
		"slaves": {"slaves": [{
			"deactivated": true,
			"drain_info": {"config": {"mark_gone": true, "max_grace_period": {"nanoseconds": 60000000000}}, "state": "DRAINING"},
			"info": {
				"attributes": [
					{"name": "rack", "text": {"value": "r1"}, "type": "TEXT"},
					{"name": "level", "scalar": {"value": 2.5}, "type": "SCALAR"},
					{"name": "vlans", "ranges": {"range": [{"begin": 1, "end": 18446744073709551615}]}, "type": "RANGES"},
					{"name": "nics", "set": {"item": ["a", "b"]}, "type": "SET"}],
				"checkpoint": true,
				"domain": {"fault_domain": {"region": {"name": "north"}, "zone": {"name": "north-1"}}},
				"hostname": "h", "id": {"value": "a"}, "port": 5151,
				"resources": [
					{"name": "cpus", "role": "*", "scalar": {"value": 4.0}, "type": "SCALAR"},
					{"name": "mem", "role": "web", "scalar": {"value": 1.0}, "type": "SCALAR"},
					{"name": "disk", "reservation": {"labels": {"labels": [{"key": "k", "value": ""}, {"key": "bare"}]}, "principal": "p"},
						"role": "web", "scalar": {"value": 2.0}, "type": "SCALAR"},
					{"name": "gpus", "reservations": [{"role": "x", "type": "STATIC"}, {"role": "x/y", "type": "DYNAMIC", "principal": "q"}],
						"scalar": {"value": 1.0}, "type": "SCALAR"}]}}]},
		"unreachable": {"slaves": [{"deactivated": true, "id": {"value": "u"}, "timestamp": {"nanoseconds": 7}}]}
	}`)
	grace := time.Minute
	want := []mesosjson.Entry{
		{ID: "g", Path: "gone.slaves[0]", Status: registry.Status{State: registry.Gone, At: time.Unix(0, 1714563456559287346)}},
		{ID: "a", Path: "slaves.slaves[0]", Status: registry.Status{State: registry.Admitted, Deactivated: true,
			Drain: registry.Drain{State: registry.Draining, MaxGrace: &grace, MarkGone: true}},
			Agent: &registry.Agent{
				ID: "a", Hostname: "h", Port: 5151, Checkpoint: true, Domain: registry.Domain{Region: "north", Zone: "north-1"},
				Attributes: []registry.Attribute{
					{Name: "rack", Value: registry.Text("r1")},
					{Name: "level", Value: registry.Scalar(2.5)},
					{Name: "vlans", Value: registry.Ranges(registry.Range{Begin: 1, End: 1<<64 - 1})},
					{Name: "nics", Value: registry.Set("a", "b")},
				},
				Resources: []registry.Resource{
					{Name: "cpus", Value: registry.Scalar(4)},
					{Name: "mem", Value: registry.Scalar(1), Reservations: []registry.Reservation{{Role: "web"}}},
					{Name: "disk", Value: registry.Scalar(2), Reservations: []registry.Reservation{{Role: "web", Dynamic: true, Principal: "p",
						Labels: []registry.Label{{Key: "k"}, {Key: "bare", Bare: true}}}}},
					{Name: "gpus", Value: registry.Scalar(1), Reservations: []registry.Reservation{
						{Role: "x"}, {Role: "x/y", Dynamic: true, Principal: "q"}}},
				},
			}},
		{ID: "u", Path: "unreachable.slaves[0]", Status: registry.Status{State: registry.Unreachable, At: time.Unix(0, 7), Deactivated: true}},
	}
	if diff := cmp.Diff(want, list, sameEntries); diff != "" {
		t.Errorf("entries, -want +got:\n%s", diff)
	}
	wantReport := mesosjson.Report{
		Form: mesosjson.FormRegistry, Admitted: 1, Unreachable: 1, Gone: 1,
		Master: &registry.Master{ID: "master-1", IP: "10.0.5.101", Port: 5050, PID: "master@10.0.5.101:5050",
			Hostname: "m", Version: "1.11.0", Capabilities: []string{"QUOTA_V2"}},
	}
	if diff := cmp.Diff(wantReport, report); diff != "" {
		t.Errorf("report, -want +got:\n%s", diff)
	}
}

func TestStateIsReadInItsOwnWayOfWriting(t *testing.T) {
	list, report := mustRead(t, `{"version": "1.8.0", "id": "m1", "pid": "master@[2001:db8::5]:5050", "hostname": "m", "capabilities": ["AGENT_UPDATE"],
		"slaves": [{"id": "a", "hostname": "h", "port": 5051, "pid": "slave(1)@10.0.0.4:5051", "active": true, "TASK_RUNNING": 3,
			"attributes": {"rack": "r1", "rack": "r2", "level": 2, "vlans": "[1-2, 5-5]", "nics": "{a, b}", "odd": "[1-2", "empty": ""},
			"resources": {"cpus": 6.0, "mem": 0.0, "ports": "[1-9]"},
			"reserved_resources": {"web": {"cpus": 2.0, "gpus": 0.0}},
			"unreserved_resources": {"cpus": 4.0, "mem": 0.0, "ports": "[1-9]", "disks": "{sda, sdb}"},
			"used_resources": {"cpus": 1.0}}],
		"recovered_slaves": [{"id": "r", "hostname": "h2", "port": 5052, "attributes": {}}],
		"frameworks": [{"id": "f", "tasks": [{"id": "t"}]}]}`)
	want := []mesosjson.Entry{
		{ID: "a", Path: "slaves[0]", Status: registry.Status{State: registry.Admitted}, Agent: &registry.Agent{
			ID: "a", Hostname: "h", Port: 5051,
			Attributes: []registry.Attribute{
				{Name: "rack", Value: registry.Text("r1")},
				{Name: "rack", Value: registry.Text("r2")},
				{Name: "level", Value: registry.Scalar(2)},
				{Name: "vlans", Value: registry.Ranges(registry.Range{Begin: 1, End: 2}, registry.Range{Begin: 5, End: 5})},
				{Name: "nics", Value: registry.Set("a", "b")},
				{Name: "odd", Value: registry.Text("[1-2")},
				{Name: "empty", Value: registry.Text("")},
			},
			Resources: []registry.Resource{
				{Name: "cpus", Value: registry.Scalar(4)},
				{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 1, End: 9})},
				{Name: "disks", Value: registry.Set("sda", "sdb")},
				{Name: "cpus", Value: registry.Scalar(2), Reservations: []registry.Reservation{{Role: "web"}}},
			},
		}},
		{ID: "r", Path: "recovered_slaves[0]", Recovered: true, Status: registry.Status{State: registry.Admitted},
			Agent: &registry.Agent{ID: "r", Hostname: "h2", Port: 5052}},
	}
	if diff := cmp.Diff(want, list, sameEntries); diff != "" {
		t.Errorf("entries, -want +got:\n%s", diff)
	}
	wantReport := mesosjson.Report{Form: mesosjson.FormState, Admitted: 2, Recovered: 1, Master: &registry.Master{
		ID: "m1", IP: "2001:db8::5", Port: 5050, PID: "master@[2001:db8::5]:5050", Hostname: "m", Version: "1.8.0",
		Capabilities: []string{"AGENT_UPDATE"},
	}}
	if diff := cmp.Diff(wantReport, report); diff != "" {
		t.Errorf("report, -want +got:\n%s", diff)
	}
}

func TestOldStateHasOneSumOfResourcesAndThePortInThePID(t *testing.T) {
	list, _ := mustRead(t, `{"slaves": [
		{"id": "a", "hostname": "h", "pid": "slave(1)@[2001:db8::1]:5077", "resources": {"cpus": 8}},
		{"id": "b", "hostname": "h"}]}`)
	if got := list[0].Agent; got.Port != 5077 || len(got.Resources) != 1 || got.Resources[0].Value.Scalar != 8 {
		t.Errorf("agent a is %+v, want port 5077 and 8 cpus", got)
	}
	if got := list[1].Agent.Port; got != 5051 {
		t.Errorf("port that nobody gave is %d, want 5051", got)
	}
}

func TestSlavesAnswerIsReadFromItsFullResources(t *testing.T) {
	list, report := mustRead(t, `{"slaves": [{"id": "a", "hostname": "h", "port": 1, "resources": {"cpus": 3.0},
		"unreserved_resources": {"cpus": 1.0}, "reserved_resources": {"web": {"cpus": 2.0}},
		"unreserved_resources_full": [{"name": "cpus", "type": "SCALAR", "scalar": {"value": 1.0}, "role": "*"}],
		"reserved_resources_full": {"web": [{"name": "cpus", "type": "SCALAR", "scalar": {"value": 2.0}, "role": "web",
			"reservation": {"principal": "p"}, "reservations": [{"role": "web", "type": "DYNAMIC", "principal": "p"}]}]}}],
		"recovered_slaves": []}`)
	want := []registry.Resource{
		{Name: "cpus", Value: registry.Scalar(1)},
		{Name: "cpus", Value: registry.Scalar(2), Reservations: []registry.Reservation{{Role: "web", Dynamic: true, Principal: "p"}}},
	}
	if diff := cmp.Diff(want, list[0].Agent.Resources, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("resources, -want +got:\n%s", diff)
	}
	if len(report.NotKept) != 0 {
		t.Errorf("not kept: %+v, want nothing", report.NotKept)
	}
}

func TestOperatorAnswersHoldAgents(t *testing.T) {
	agents := `{"agents": [{"agent_info": {"id": {"value": "a"}, "hostname": "h", "port": 5}, "active": true,
		"deactivated": true, "drain_info": {"state": "DRAINED", "config": {}}, "pid": "p", "registered_time": {"nanoseconds": 1}}],
		"recovered_agents": [{"id": {"value": "r"}, "hostname": "h"}]}`
	for name, input := range map[string]string{
		"GET_AGENTS": `{"type": "GET_AGENTS", "get_agents": ` + agents + `}`,
		"GET_STATE":  `{"type": "GET_STATE", "get_state": {"get_tasks": {"tasks": []}, "get_agents": ` + agents + `}}`,
		"SUBSCRIBED": `{"type": "SUBSCRIBED", "subscribed": {"get_state": {"get_agents": ` + agents + `}}} {"type": "HEARTBEAT"}`,
	} {
		list, report, err := read(input)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(list) != 2 || report.Admitted != 2 || report.Recovered != 1 || report.Form != mesosjson.FormOperator {
			t.Errorf("%s: %d entries, report %+v", name, len(list), report)
			continue
		}
		if s := list[0].Status; !s.Deactivated || s.Drain.State != registry.Drained || list[0].Agent.Port != 5 {
			t.Errorf("%s: first agent is %+v, %+v", name, s, list[0].Agent)
		}
	}
}

func TestWhatCannotBeKeptIsReportedOnceForEachPath(t *testing.T) {
	_, report := mustRead(t, `{
		"machines": {"machines": [{"info": {"mode": "DOWN"}}, {"info": {"mode": "UP"}}]},
		"minimum_capabilities": [{"capability": "AGENT_DRAINING"}, {"capability": "QUOTA_V2"}],
		"quotas": [], "weights": [{"info": {"role": "a", "weight": 2.0}}],
		"new_in_mesos_2": {"x": 1},
		"slaves": {"slaves": [
			{"info": {"id": {"value": "a"}, "hostname": "h", "resources": [
				{"name": "disk", "type": "SCALAR", "scalar": {"value": 1.0}, "role": "*", "disk": {"source": {"type": "MOUNT"}}},
				{"name": "disk", "type": "SCALAR", "scalar": {"value": 1.0}, "role": "*", "disk": {"source": {"type": "PATH"}}, "shared": {}}]}},
			{"info": {"id": {"value": "a"}, "hostname": "other"}}]}}`)
	want := []mesosjson.Lost{
		{Path: "machines.machines[]", Count: 2, Example: `{"info":{"mode":"DOWN"}}`},
		{Path: "minimum_capabilities[]", Count: 2, Example: "AGENT_DRAINING"}, // it outlived its agent
		{Path: "new_in_mesos_2", Count: 1},
		{Path: "slaves.slaves[]", Reason: "the ID stood before; the first is kept", Count: 1, Example: "a"},
		{Path: "slaves.slaves[].info.resources[].disk", Count: 2, Example: `{"source":{"type":"MOUNT"}}`},
		{Path: "slaves.slaves[].info.resources[].shared", Count: 1, Example: `{}`},
		{Path: "weights[]", Count: 1, Example: `{"info":{"role":"a","weight":2.0}}`},
	}
	if diff := cmp.Diff(want, report.NotKept); diff != "" {
		t.Errorf("not kept, -want +got:\n%s", diff)
	}
}

func TestStateReportsWhatAnAgentSaysThatIsNotKept(t *testing.T) {
	_, report := mustRead(t, `{"slaves": [{"id": "a", "hostname": "h", "port": 1, "version": "1.8.0", "capabilities": ["MULTI_ROLE"],
		"registered_time": 1.5, "unreserved_resources": {"cpus": 1.0, "cpus_revocable": 2.0}}]}`)
	want := []mesosjson.Lost{
		{Path: "slaves[].capabilities", Count: 1, Example: `["MULTI_ROLE"]`},
		{Path: "slaves[].unreserved_resources.cpus_revocable", Count: 1, Example: "2.0"},
		{Path: "slaves[].version", Count: 1, Example: `"1.8.0"`},
	}
	if diff := cmp.Diff(want, report.NotKept); diff != "" {
		t.Errorf("not kept, -want +got:\n%s", diff)
	}
}

func TestKindsOfLossAreBounded(t *testing.T) {
	var input strings.Builder
	input.WriteString(`{"slaves": [{"id": "a", "hostname": "h", "port": 1`)
	for i := range 1000 {
		input.WriteString(`, "field` + strings.Repeat("x", i) + `": 1`)
	}
	input.WriteString("}]}")
	_, report := mustRead(t, input.String())
	sum := 0
	for _, l := range report.NotKept {
		sum += l.Count
	}
	if len(report.NotKept) > 201 || sum != 1000 {
		t.Errorf("%d kinds of loss, %d in all; want at most 201, 1000", len(report.NotKept), sum)
	}
}

func TestReadHandsOnTheErrorOfItsCaller(t *testing.T) {
	full := errors.New("the disk is full")
	_, err := mesosjson.Read(strings.NewReader(`{"slaves": [{"id": "a"}]}`), func(mesosjson.Entry) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("Read returned %v, want %v", err, full)
	}
}

func TestWhatTheFormCannotSayStaysAsKnown(t *testing.T) {
	list, _ := mustRead(t, `{"slaves": [], "recovered_slaves": [{"id": "a", "hostname": "new", "port": 5052, "attributes": {}}]}`)
	known := registry.Agent{
		ID: "a", Incarnation: "boot-1", Hostname: "old", Port: 5051, Checkpoint: true,
		Resources:  []registry.Resource{{Name: "cpus", Value: registry.Scalar(1)}},
		Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text("r1")}},
		Labels:     map[string]string{"owner": "ops"}, Payload: []byte("x"),
	}
	want := known
	want.Hostname, want.Port, want.Attributes = "new", 5052, nil
	if diff := cmp.Diff(want, list[0].Over(known), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDetailOfResourcesStaysAsLongAsTheSumsAreRight(t *testing.T) {
	known := registry.Agent{ID: "a", Hostname: "h", Port: 1, Resources: []registry.Resource{
		{Name: "cpus", Value: registry.Scalar(2)},
		{Name: "cpus", Value: registry.Scalar(0.5), Reservations: []registry.Reservation{{Role: "x"}, {Role: "web", Dynamic: true, Principal: "p"}}},
		{Name: "cpus", Value: registry.Scalar(1.5), Reservations: []registry.Reservation{{Role: "web"}}},
		{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 5, End: 9}, registry.Range{Begin: 1, End: 4})},
		{Name: "disks", Value: registry.Set("b", "a")},
		{Name: "gpus", Value: registry.Scalar(0)},
	}}
	for input, kept := range map[string]bool{
		`"reserved_resources":{"web":{"cpus":2.0}},"unreserved_resources":{"gpus":0.0,"cpus":2.0,"ports":"[1-9]","disks":"{a, b}"}`: true,
		`"reserved_resources":{"web":{"cpus":1.0}},"unreserved_resources":{"cpus":3.0,"ports":"[1-9]","disks":"{a, b}"}`:            false,
		`"reserved_resources":{"web":{"cpus":2.0}},"unreserved_resources":{"cpus":2.0,"ports":"[1-8]","disks":"{a, b}"}`:            false,
		`"reserved_resources":{"web":{"cpus":2.0}},"unreserved_resources":{"cpus":2.0,"ports":"[1-9]","disks":"{a}"}`:               false,
		`"reserved_resources_full":{},"unreserved_resources_full":[]`:                                                               false,
	} {
		list, _ := mustRead(t, `{"slaves":[{"id":"a","hostname":"h","port":1,`+input+`}]}`)
		got := list[0].Over(known).Resources
		if same := cmp.Equal(known.Resources, got, cmpopts.EquateEmpty()); same != kept {
			t.Errorf("%s: kept is %v, want %v; resources are now %+v", input, same, kept, got)
		}
	}
}

func TestWhatTheFormCanSayReplacesWhatWasKnown(t *testing.T) {
	list, _ := mustRead(t, `{"slaves": {"slaves": [{"info": {"id": {"value": "a"}, "hostname": "h", "port": 1, "checkpoint": false}}]}}`)
	known := registry.Agent{ID: "a", Hostname: "h", Port: 1, Checkpoint: true,
		Resources: []registry.Resource{{Name: "cpus", Value: registry.Scalar(1)}}}
	if got := list[0].Over(known); got.Checkpoint || got.Resources != nil {
		t.Errorf("kept checkpoint %v and resources %v, which the registry says are not there", got.Checkpoint, got.Resources)
	}
}
