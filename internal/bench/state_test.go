package bench

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
)

// stateClientEnv makes this test binary the process of those who ask.
const stateClientEnv = "REGTOOL_BENCH_STATE_CLIENT"

func testStateClient(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), stateClientEnv+"=1")
	return cmd
}

func TestStateMeasuresEachKindAtEachSize(t *testing.T) {
	phases := 0
	b := State{Agents: []int{2, 30}, Frameworks: 5, Tasks: 2, Completed: 2, Rounds: 1, Dir: t.TempDir(),
		Client: testStateClient, Progress: func() { phases++ }}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if phases != b.Phases() {
		t.Errorf("progress was told of %d phases, not %d", phases, b.Phases())
	}
	if len(r.Results) != 4 {
		t.Fatalf("%d rows, want 4", len(r.Results))
	}
	for i, row := range r.Results {
		kind, agents := stateKinds[i%2].name, b.Agents[i/2]
		if row.Kind != kind || row.Agents != agents || row.Tasks != 10*agents || row.CompletedTasks != 10*agents ||
			row.Bytes == 0 || row.RatioFirst <= 0 || row.RatioRepeat <= 0 || row.RatioChanged <= 0 ||
			row.WriterNsPerChange <= 0 || row.WriterAloneUs <= 0 || (row.RatioToWhole > 0) != (kind == "v0_filtered") {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if left, err := os.ReadDir(b.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left behind", left, err)
	}
}

func TestStateSaysHowManyCompletedTasksAreKept(t *testing.T) {
	c := testStateCluster(t, stateFleet{agents: 3, frameworks: 2, tasks: 1, completed: 400})
	if kept := c.kept(); kept != 2000 {
		t.Errorf("of 2400 tasks that have ended %d are kept, want 1000 of each framework", kept)
	}
}

func TestStateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := State{Agents: []int{1}, Frameworks: 1, Tasks: 1, Rounds: 1000, Dir: t.TempDir(), Client: testStateClient, Progress: cancel}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func testStateCluster(t *testing.T, f clusterFleet) *stateCluster {
	t.Helper()
	c, err := startStateCluster(t.Context(), t.TempDir(), f, map[string][]byte{"/v0": []byte("static")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestPublishedChangesCanBeSeen(t *testing.T) {
	c := testStateCluster(t, stateFleet{agents: 4, frameworks: 3, tasks: 2})
	changes, err := c.changes(24) // every task
	if err != nil {
		t.Fatal(err)
	}
	if _, err := publish(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	moments := map[float64]bool{}
	for f := range c.master.State().Frameworks() {
		for task := range f.Tasks() {
			for _, s := range task.Statuses {
				moments[s.Timestamp] = true
			}
		}
	}
	var want []float64
	for i := range 24 {
		want = append(want, float64(1_500_000_001+i))
	}
	if got := slices.Sorted(maps.Keys(moments)); !slices.Equal(got, want) {
		t.Errorf("the tasks have statuses of %v, want %v", got, want)
	}
}

func TestReceivedCallsShareNothing(t *testing.T) {
	call := stateFleet{agents: 1, frameworks: 1, tasks: 1}.subscribe(0)
	got, err := received(call)
	if err != nil {
		t.Fatal(err)
	}
	call.Tasks[0].Labels[0].Value, call.Frameworks[0].Roles[0] = "other", "other"
	if v, role := got.Tasks[0].Labels[0].Value, got.Frameworks[0].Roles[0]; v != "value0" || role != "role0" {
		t.Errorf("label %q, role %q came with the call that was sent", v, role)
	}
	if _, err := received(&wire.Update{Tasks: []wire.Task{{}}}); err == nil {
		t.Error("a task without a name was received")
	}
}

func TestClientsReadEachLineToItsEnd(t *testing.T) {
	c := testStateCluster(t, stateFleet{agents: 1, frameworks: 1, tasks: 1})
	lines, err := readJob{c.address, []readLine{{Path: "/health", Times: 3}, {Path: "/static/v0"}, {Path: "/static/v0", Times: 2}}}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(lines[0]) != 3 || len(lines[2]) != 2 {
		t.Errorf("%d and %d answers were read, want 3 and 2", len(lines[0]), len(lines[2]))
	}
	for _, r := range lines[2] {
		if r.Bytes != int64(len("static")) || r.Took <= 0 {
			t.Errorf("the static answer was read as %+v", r)
		}
	}
	_, err = readJob{c.address, []readLine{{Path: "/static/none", Times: 1}}}.run(t.Context())
	if want := "http://" + c.address + "/static/none answered 404 Not Found"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestStateRowHasTheseFields(t *testing.T) {
	row := stateRow(stateKinds[0], stateFleet{agents: 1000, frameworks: 5, tasks: 2, completed: 2}, []stateSample{{
		completed: 5000, bytes: 9, first: besideStatic{8, 2}, repeat: besideStatic{4, 2}, changed: besideStatic{6, 2},
		toWhole: 0.1, writer: 300, alone: 5, heap: -1, data: 7,
	}})
	got, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"v0","agents":1000,"tasks":10000,"completed_tasks":5000,"bytes":9,"first_seconds":8,"repeat_seconds":4,"changed_seconds":6,` +
		`"static_seconds":2,"ratio_first":4,"ratio_repeat":2,"ratio_changed":3,"ratio_to_whole":0.1,"writer_ns_per_change":300,` +
		`"writer_alone_us":5,"heap_bytes":-1,"data_bytes":7,"published_seconds":0.146,"mesos112_seconds":0.154}`
	if string(got) != want {
		t.Errorf("row is\n%s, want\n%s", got, want)
	}
	row = stateRow(stateKinds[0], stateFleet{agents: 1000, frameworks: 5, tasks: 3, completed: 2}, []stateSample{{}})
	if row.Published != 0 || row.Mesos112 != 0 {
		t.Error("figures of another cluster stand beside ours")
	}
}

func TestStateFailsIfATaskIsMissing(t *testing.T) {
	c := testStateCluster(t, stateFleet{agents: 2, frameworks: 2, tasks: 3})
	r := stateRound{kind: stateKinds[0], fleet: stateFleet{agents: 2, frameworks: 2, tasks: 4}, cluster: c}
	if _, err := r.learn(t.Context()); err == nil || !strings.Contains(err.Error(), "/state has 12 tasks, 16 are due") {
		t.Errorf("the error is %v", err)
	}
}

func TestMedianIndexIsWhereTheMedianStands(t *testing.T) {
	if at := medianIndex([]float64{3, 1, 2}); at != 2 {
		t.Errorf("the median of 3, 1, 2 stands at %d, want 2", at)
	}
}

// BenchmarkState is one answer to a client in this process, which has had it
// before:
//
//	go test ./internal/bench -run - -bench State/kind=v0 -cpuprofile cpu.out
func BenchmarkState(b *testing.B) {
	for _, kind := range stateKinds {
		b.Run("kind="+kind.name, func(b *testing.B) {
			c, err := startStateCluster(b.Context(), b.TempDir(), stateFleet{agents: 1000, frameworks: 5, tasks: 2, completed: 2}, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer c.close()
			timed(b, func() (float64, error) {
				lines, err := readJob{c.address, []readLine{{Path: kind.path, Times: 1}}}.run(b.Context())
				if err != nil {
					return 0, err
				}
				return lines[0][0].Took.Seconds(), nil
			})
		})
	}
}
