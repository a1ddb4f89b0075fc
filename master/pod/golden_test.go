package pod

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestStatusesLookAsInTheGoldenFiles(t *testing.T) {
	full := defined(t, fullDefinition)
	running := Task{Container: "nginx", ID: "web_front.instance-1.nginx.1", Condition: Running, Staged: at(1), Started: at(2.5), Healthy: yes(), HealthSince: at(3),
		Resources: Resources{CPUs: 0.5, Mem: 128, Disk: 10, GPUs: 1}, HostPorts: []uint16{31000},
		Networks: []Addresses{{"dcos", []string{"9.0.0.2", "fd01::2"}}, {"", []string{"10.0.0.1"}}}}
	side := Task{Container: "side", ID: "web_front.instance-1.side.1", Condition: Finished, Staged: at(1),
		Resources: Resources{CPUs: 0.25, Mem: 32}, Networks: []Addresses{{"dcos", []string{"9.0.0.2"}}, {"", []string{"10.0.0.1"}}}}
	first := Show(full, &Instance{ID: "web_front.instance-1", Agent: Agent{"host-1.example", "m1-S1", "eu", "eu-1"}, Role: "web", Tasks: []Task{running, side}, At: at(3)}, nil)
	unreported := running
	unreported.ID, unreported.Healthy, unreported.HostPorts = "web_front.instance-2.nginx.1", nil, nil
	second := Show(full, &Instance{ID: "web_front.instance-2", Agent: Agent{Hostname: "host-2.example"}, Tasks: []Task{unreported}, At: at(4)}, nil)
	odd := Show(full, &Instance{ID: `odd "one"`, Agent: Agent{Hostname: "host-3.example"}, Tasks: []Task{running}, At: at(5), Odd: "container_status: it is a number"}, nil)
	failed := side
	failed.Condition = Failed
	ended := Show(full, &Instance{ID: "web_front.instance-0", Goal: ToStop, Tasks: []Task{failed}, At: at(2)}, nil)

	for file, s := range map[string]*Status{
		"new.json":  {Definition: defined(t, `{"id":"new","containers":[{"name":"a","resources":{}}]}`), Updated: at(0)},
		"full.json": {Definition: full, Instances: slices.Values([]*InstanceStatus{first, second, odd}), Updated: at(6.25), Ended: ended},
	} {
		var got bytes.Buffer
		if err := json.Indent(&got, s.JSON(), "", "  "); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, s.JSON())
		}
		got.WriteByte('\n')
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestTheManualShowsAnInstanceOfTheGoldenFiles(t *testing.T) {
	manual, err := os.ReadFile("../../docs/pods.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := bytes.Cut(manual, []byte("```json\n"))
	block, _, _ := bytes.Cut(after, []byte("```"))
	text, err := os.ReadFile(filepath.Join("testdata", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Instances []any }
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	var shown any
	if err := json.Unmarshal(block, &shown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden.Instances[0], shown); diff != "" {
		t.Errorf("(-golden +manual):\n%s", diff)
	}
}

// The statuses that clients are tested with have no field that ours lack, in the
// same places, but for what only old versions had.
func TestStatusesHaveTheFieldsOfRecordedOnes(t *testing.T) {
	dir := os.Getenv("REGISTRAR_FIXTURES")
	if dir == "" {
		t.Skip("REGISTRAR_FIXTURES is not set")
	}
	text, err := os.ReadFile(filepath.Join(dir, "go-marathon", "GET-v2_pods_fake-pod--status.json"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(filepath.Join("testdata", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded, golden any
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(ours, &golden); err != nil {
		t.Fatal(err)
	}
	for path := range pathsOf("", recorded) {
		if !pathsOf("", golden)[path] {
			t.Errorf("ours has no %s", path)
		}
	}
}

// pathsOf are the paths of all members, those in arrays together; what is in a
// map of names is not gone into.
func pathsOf(at string, v any) map[string]bool {
	all := map[string]bool{}
	add := func(path string, v any) {
		for p := range pathsOf(path, v) {
			all[p] = true
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			all[at+"/"+name] = true
			if name != "labels" && name != "environment" && name != "secrets" {
				add(at+"/"+name, value)
			}
		}
	case []any:
		for _, value := range v {
			add(at, value)
		}
	}
	return all
}
