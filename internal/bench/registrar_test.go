package bench

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// small runs the benchmark on 50 agents, one round.
func small(t *testing.T) Report {
	t.Helper()
	dir := t.TempDir()
	phases := 0
	b := Registrar{Agents: []int{50}, Rounds: 1, Dir: dir, Victim: testVictim, Progress: func() { phases++ }}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if phases != b.Phases() {
		t.Errorf("progress was told of %d phases, not %d", phases, b.Phases())
	}
	wantEmpty(t, dir)
	return r
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRowsAreComplete(t *testing.T) {
	r := small(t)
	wantPhases := []string{"admit", "readmit", "readmit_changed", "unreachable", "reachable",
		"recover", "recover_clean", "remove", "closed_loop", "closed_loop"}
	var phases []string
	for _, row := range r.Results {
		phases = append(phases, row.Phase)
		checkRow(t, row)
	}
	if !slices.Equal(phases, wantPhases) {
		t.Errorf("phases %v, want %v", phases, wantPhases)
	}
	if got := [2]int{r.Results[8].Clients, r.Results[9].Clients}; got != [2]int{1, 64} {
		t.Errorf("the closed loops have %v clients", got)
	}
	if r.Results[5].Batches == 0 {
		t.Error("recover after the kill replayed no record")
	}
}

func checkRow(t *testing.T, r Row) {
	t.Helper()
	writes := !slices.Contains([]string{"readmit", "recover", "recover_clean"}, r.Phase)
	for name, ok := range map[string]bool{
		"agents":     r.Agents == 50,
		"seconds":    r.Seconds > 0 && near(r.OpsPerSecond*r.Seconds, 50),
		"written":    writes == (r.Batches > 0 && r.Bytes > 0 && r.PebbleSeconds > 0) || r.Phase == "recover",
		"floor":      (r.Phase != "readmit") == (r.FloorSeconds > 0),
		"floor x":    near(r.RatioToFloor*r.FloorSeconds, r.Seconds) || r.Phase == "readmit",
		"pebble x":   near(r.RatioToPebble*r.PebbleSeconds, r.Seconds) || !writes,
		"no write":   r.Phase != "readmit" || r.Bytes == 0 && r.Batches == 0 && r.RatioToFloor == 0,
		"heap":       r.HeapBytes > 0,
		"loop":       (r.Phase == "closed_loop") == (r.P50 > 0 && r.P99 >= r.P50 && r.FsyncP50 > 0),
		"no history": r.Published == 0 && r.Mesos112 == 0,
	} {
		if !ok {
			t.Errorf("%s: wrong in %+v", name, r)
		}
	}
}

func near(a, b float64) bool { return a > b*0.999 && a < b*1.001 }

func TestJSONHasTheFieldsOfTheContract(t *testing.T) {
	data, err := json.Marshal(Report{
		Benchmark: "registrar", Host: Host{2, "go1.26.8", "linux/amd64"},
		Params: Params{Agents: []int{10, 20}, Rounds: 5, AgentBytes: 600, LoopAdmits: 10_000},
		Results: []Row{
			{Phase: "readmit", Agents: 10, Seconds: 0.5, OpsPerSecond: 20},
			{"closed_loop", 10, 64, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19, 9, 10, 11, 12, 13, 14, 15},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"benchmark":"registrar","host":{"cpus":2,"go":"go1.26.8","os":"linux/amd64"},` +
		`"params":{"agents":[10,20],"rounds":5,"agent_bytes":600,"closed_loop_admits":10000},"results":[` +
		`{"phase":"readmit","agents":10,"seconds":0.5,"ops_per_second":20,"batches":0,"bytes":0,"cpu_us_per_op":0,"heap_bytes":0},` +
		`{"phase":"closed_loop","agents":10,"clients":64,"seconds":1,"ops_per_second":2,"batches":3,"bytes":4,` +
		`"floor_seconds":5,"ratio_to_floor":6,"pebble_seconds":7,"ratio_to_pebble":8,` +
		`"etcd_bulk_seconds":16,"ratio_to_etcd_bulk":17,"etcd_put_seconds":18,"faster_than_etcd_put":19,` +
		`"p50_seconds":9,"p99_seconds":10,"fsync_p50_seconds":11,"cpu_us_per_op":12,"heap_bytes":13,` +
		`"published_seconds":14,"mesos112_seconds":15}]}`
	if string(data) != want {
		t.Errorf("JSON\n%s\nwant\n%s", data, want)
	}
}

func TestTablesHaveACellForEachColumn(t *testing.T) {
	r := Report{Results: []Row{
		{Phase: "admit", Agents: 10_000, Seconds: 0.0525, OpsPerSecond: 190476, Batches: 8, Bytes: 1_150_000,
			FloorSeconds: 0.025, RatioToFloor: 2.1, CPUMicrosPerOp: 1.5, HeapBytes: 6_790_000, Published: 10.04, Mesos112: 0.254},
		{Phase: "closed_loop", Clients: 64, Agents: 50, OpsPerSecond: 30336, P50: 0.0017, P99: 0.0046, FsyncP50: 0.00017},
	}}
	phases, loops := r.Tables()
	for _, table := range []Table{phases, loops} {
		for _, row := range table.Rows {
			if len(row) != len(table.Header) {
				t.Errorf("%d cells under %d columns: %v", len(row), len(table.Header), row)
			}
		}
	}
	want := []string{"admit", "10000", "52.5", "190476", "8", "1.15", "25.0", "2.10", "-", "-", "1.50", "6.79", "10040", "254"}
	if len(phases.Rows) != 1 || !reflect.DeepEqual(phases.Rows[0], want) {
		t.Errorf("phases %q, want %q", phases.Rows, want)
	}
	want = []string{"64", "50", "30336", "1.70", "4.60", "0.170", "10.00", "0", "0.00", "0.00", "-", "-", "-"}
	if len(loops.Rows) != 1 || !reflect.DeepEqual(loops.Rows[0], want) {
		t.Errorf("loops %q, want %q", loops.Rows, want)
	}
}

func TestWrongWorkEndsTheBenchmark(t *testing.T) {
	e, err := createEngine(t.Context(), filepath.Join(t.TempDir(), "store"), 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	w, err := newWorkload(5, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	admit := stormsBefore[0]
	again := storm{"again", admit.operation, true, registry.Admitted}
	twin := storm{"twin", func(w *workload, i int) ops.Operation { return ops.Readmit{Agent: w.agent(i, 0)} }, true, registry.Admitted}
	written := storm{"written", func(w *workload, i int) ops.Operation { return ops.Readmit{Agent: w.agent(i, 1)} }, false, registry.Admitted}
	elsewhere := storm{"elsewhere", func(w *workload, i int) ops.Operation { return ops.Readmit{Agent: w.agent(i, 2)} }, true, registry.Gone}
	for _, c := range []struct {
		storm storm
		want  string
	}{
		{admit, ""},
		{again, "admitted"},
		{twin, "0 of 5 operations changed the registry, not 5"},
		{written, "5 of 5 operations changed the registry, not 0"},
		{elsewhere, "5 agents are admitted, not 0"},
	} {
		_, err := c.storm.run(t.Context(), e, w)
		if got := errorText(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v, want %q", c.storm.phase, err, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRecoveryOfAnythingElseEndsTheBenchmark(t *testing.T) {
	r := registry.New()
	good := Outcome{Digest: r.Digest().String()}
	for _, o := range []Outcome{{Revision: 1, Digest: good.Digest}, {Count: 1, Digest: good.Digest}, {Digest: "00"}} {
		if o.check(r, 0) == nil {
			t.Errorf("%+v was taken for an empty registry", o)
		}
	}
	if err := good.check(r, 0); err != nil {
		t.Error(err)
	}
}

// admitted makes a store in dir with n agents, recorded if there is a recorder.
func admitted(t *testing.T, dir string, n int, r *recorder) sample {
	t.Helper()
	e, err := createEngine(t.Context(), dir, n, r)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorkload(n, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r != nil {
		if err := r.start("admit"); err != nil {
			t.Fatal(err)
		}
	}
	m, err := stormsBefore[0].run(t.Context(), e, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTapeHoldsEveryByteOfThePhase(t *testing.T) {
	dir := t.TempDir()
	r := &recorder{dir: dir}
	m := admitted(t, filepath.Join(dir, "store"), 10_000, r)
	recorded, err := r.stop()
	if err != nil {
		t.Fatal(err)
	}
	if recorded.ops != 10_000 || uint64(len(recorded.groups)) != m.batches || uint64(recorded.bytes()) != m.bytes {
		t.Errorf("%d operations in %d records of %d bytes are on tape; the engine wrote %d records of %d bytes",
			recorded.ops, len(recorded.groups), recorded.bytes(), m.batches, m.bytes)
	}
	data, err := recorded.load()
	if err != nil || !strings.Contains(string(data), "-S9999") {
		t.Errorf("the last agent is not among the %d bytes: %v", len(data), err)
	}
	if err := os.Truncate(recorded.path, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded.load(); err == nil {
		t.Error("a tape that was cut is played")
	}
}

func TestVictimStopsJustBeforeACheckpointIsDueAndEndsWhenNobodyKillsIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	admitted(t, dir, 5, nil)
	victim := testVictim(t.Context())
	victim.Stdin = strings.NewReader(`{"dir":"` + dir + `","agents":5}`)
	out, err := victim.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "stdin was closed") {
		t.Errorf("%v: %s", err, out)
	}
	e, err := openEngine(t.Context(), dir, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if log := e.Recovery().Bytes; log < checkpointBytes*9/10 || log >= checkpointBytes {
		t.Errorf("%d bytes of log were left; a checkpoint is due at %d", log, checkpointBytes)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
}

func TestBenchmarkThatIsInterruptedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	phases := 0
	_, err := Registrar{Agents: []int{50}, Rounds: 1, Dir: dir, Victim: testVictim, Progress: func() {
		if phases++; phases == 3 {
			cancel()
		}
	}}.Run(ctx)
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("interrupted: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestParametersThatCannotBeMeasuredAreRefused(t *testing.T) {
	good := Registrar{Agents: []int{1}, Rounds: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, b := range map[string]Registrar{
		"no number of agents": {Rounds: 1},
		"0 agents":            {Agents: []int{10, 0}, Rounds: 1},
		"-1 agents":           {Agents: []int{-1}, Rounds: 1},
		"0 rounds":            {Agents: []int{1}},
		"agents of -1 bytes":  {Agents: []int{1}, Rounds: 1, AgentBytes: -1},
		"agents of 900001":    {Agents: []int{1}, Rounds: 1, AgentBytes: MaxAgentBytes + 1},
	} {
		if err := b.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", b, err, want)
		}
	}
}
