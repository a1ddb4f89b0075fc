package mesosjson_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/internal/mesosjson"
)

// recorded are answers of real masters, by file, and how many agents each has.
var recorded = map[string]struct{ admitted, recovered int }{
	"apache-mesos-docs/master-GET_AGENTS.json":        {1, 0},
	"apache-mesos-docs/master-GET_STATE.json":         {1, 0},
	"dcos-metrics/master-state.json":                  {0, 0},
	"dcos-net/operator-stream/dns-hostname.json":      {1, 0},
	"dcos-net/operator-stream/hello-overlay.json":     {2, 0},
	"dcos-net/operator-stream/hello-world.json":       {2, 0},
	"dcos-net/operator-stream/operator-api.json":      {2, 0},
	"dcos-net/operator-stream/pod-tasks.json":         {1, 0},
	"dcos-net/operator-stream/recovered-agents.json":  {1, 1},
	"dcos-net/operator-stream/tcp-and-udp.json":       {1, 0},
	"dcos-net/operator-stream/unhealthy.json":         {1, 0},
	"dcos-net/operator-stream/vip-labels.json":        {1, 0},
	"dcos-net/state/master-state-1.0.0.json":          {2, 0},
	"dcos-net/state/master-state-1.8.0.json":          {2, 0},
	"dcos-ui/marathon-1-pod-group-state-summary.json": {6, 0},
	"dcos-ui/marathon-1-task-state-summary.json":      {3, 0}, // of 4: one ID stands twice
	"dcos-ui/state-0.22.0.json":                       {6, 0},
	"mesos-dns/factories-fake.json":                   {4, 0},
}

func TestEveryRecordedStateIsReadAndNothingElse(t *testing.T) {
	dir := os.Getenv("REGISTRAR_FIXTURES")
	if dir == "" {
		t.Skip("REGISTRAR_FIXTURES does not name a folder of recorded states")
	}
	var got []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if checkRecorded(t, name, path) {
			got = append(got, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(recorded) {
		t.Errorf("read %d files, want %d: %q", len(got), len(recorded), got)
	}
}

// checkRecorded reports whether the file could be read.
func checkRecorded(t *testing.T, name, path string) bool {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, isState := recorded[filepath.ToSlash(name)]
	reg, report, err := load(f)
	var refused *mesosjson.Error
	switch {
	case isState && err != nil:
		t.Errorf("%s: %v", name, err)
	case !isState && !errors.As(err, &refused):
		t.Errorf("%s: error is %v, want it refused", name, err)
	}
	if err != nil {
		return false
	}
	got := struct{ admitted, recovered int }{report.Admitted, report.Recovered}
	if got != want {
		t.Errorf("%s: %+v agents, want %+v", name, got, want)
	}
	if err := writesBack(reg); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return true
}

func TestRecordedStateIsReadExactly(t *testing.T) {
	dir := os.Getenv("REGISTRAR_FIXTURES")
	if dir == "" {
		t.Skip("REGISTRAR_FIXTURES does not name a folder of recorded states")
	}
	data, err := os.ReadFile(filepath.Join(dir, "dcos-net/state/master-state-1.8.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := mustRead(t, string(data))
	a := list[1].Agent // the public one, all of it reserved
	got := []string{a.Hostname, a.Domain.Zone, a.Attributes[0].Name, a.Attributes[0].Value.Text}
	if diff := cmp.Diff([]string{"10.0.6.5", "aws/us-west-2b", "public_ip", "true"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(a.Resources) != 4 || a.Resources[0].Value.Scalar != 76238 || a.Resources[3].Reservations[0].Role != "slave_public" {
		t.Errorf("resources are %+v", a.Resources)
	}
}
