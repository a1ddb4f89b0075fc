package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/pod"
)

func TestPodsMeasuresAllAndOneAtEachSize(t *testing.T) {
	phases := 0
	b := Pods{Pods: []int{3, 25}, Connections: 2, Seconds: 0.02, Changes: 1000, Rounds: 1, Dir: t.TempDir(),
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
		if row.Case != podsCases[i%2].name || row.Pods != b.Pods[i/2] || row.Answers < 2 || row.Changes == 0 || row.Bytes < 1000 ||
			row.RequestsPerSecond <= 0 || row.StaticRequestsPerSecond <= 0 || row.RatioToStatic <= 0 || row.RatioP99 <= 0 ||
			row.P50 <= 0 || row.P99 < row.P50 || row.Max < row.P99 || row.StaticP99 <= 0 {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if all, one := r.Results[2].Bytes, r.Results[3].Bytes; all < 20*one || all > 30*one {
		t.Errorf("25 pods are %d bytes, one is %d", all, one)
	}
	if left, err := os.ReadDir(b.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left behind", left, err)
	}
}

func TestPodsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := Pods{Pods: []int{1}, Connections: 1, Seconds: 0.01, Rounds: 1000, Dir: t.TempDir(), Client: testStateClient, Progress: cancel}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestPodsThatCannotBeMeasuredAreRefused(t *testing.T) {
	fine := Pods{Pods: []int{1}, Connections: 1, Seconds: 1, Rounds: 1}
	if err := fine.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(b *Pods){
		"no number of pods is given":                  func(b *Pods) { b.Pods = nil },
		"0 pods: from 1 to 100,000":                   func(b *Pods) { b.Pods = []int{1, 0} },
		"100001 pods: from 1 to 100,000":              func(b *Pods) { b.Pods = []int{100_001} },
		"0 connections: from 1 to 10,000":             func(b *Pods) { b.Connections = 0 },
		"0 seconds: more than 0":                      func(b *Pods) { b.Seconds = 0 },
		"NaN seconds: more than 0":                    func(b *Pods) { b.Seconds = math.NaN() },
		"-1 changes a second: from 0 to 1,000,000":    func(b *Pods) { b.Changes = -1 },
		"0 rounds: at least 1":                        func(b *Pods) { b.Rounds = 0 },
		"1000001 changes a second: from 0 to 1,000,0": func(b *Pods) { b.Changes = 1_000_001 },
	} {
		b := fine
		change(&b)
		if err := b.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestTasksOfPodsNameTheirPodAndInstance(t *testing.T) {
	f := newPodFleet(250)
	seen := map[string]bool{}
	for i := range f.size() {
		call := f.subscribe(i)
		for n, task := range call.Tasks {
			at, ok := pod.Locate(pod.Names{Task: task.ID, Executor: task.ExecutorID, Name: task.Name})
			if !ok || at.Container != "main" || seen[at.Pod] || call.Executors[n].ID != task.ExecutorID {
				t.Errorf("task %q of executor %q is taken for %+v, %v", task.ID, task.ExecutorID, at, ok)
			}
			seen[at.Pod] = true
		}
	}
	for i := range f.pods {
		if !seen[podID(i)] {
			t.Errorf("no task is of pod %s", podID(i))
		}
	}
}

func TestUpdatesStartAContainerAndLetItRunInTurns(t *testing.T) {
	f := newPodFleet(250)
	for i, want := range []wire.TaskState{wire.TaskStarting, wire.TaskRunning, wire.TaskStarting} {
		agent, u := f.update(207, i+1)
		if agent != 7 || len(u.Tasks) != 1 || u.Tasks[0].State != want || u.Tasks[0].ExecutorID != podExecutor(207) ||
			u.Tasks[0].Statuses[0].Timestamp != float64(1_500_000_001+i) {
			t.Errorf("agent %d says %+v", agent, u.Tasks)
		}
	}
}

func TestAnswerWithPodsThatAreNotStableIsNoneToMeasure(t *testing.T) {
	stable := `{"status":"STABLE","instances":[{"status":"STABLE"}]}`
	if err := stablePods([]byte("["+stable+","+stable+"]"), 2); err != nil {
		t.Error(err)
	}
	for want, answer := range map[string]string{
		"of 1 pods 1 are stable with one instance, 2 are due": "[" + stable + "]",
		"of 2 pods 1 are stable with one instance, 2 are due": "[" + stable + `,{"status":"DEGRADED","instances":[]}]`,
		"of 3 pods 2 are stable with one instance, 2 are due": "[" + stable + "," + stable + `,{"status":"STABLE","instances":[]}]`,
		"unexpected end of JSON input":                        "[",
	} {
		if err := stablePods([]byte(answer), 2); err == nil || err.Error() != want {
			t.Errorf("of %s: %v, want %s", answer, err, want)
		}
	}
}

func TestLoopsEndWithTheirTime(t *testing.T) {
	c := testStateCluster(t, stateFleet{agents: 1, frameworks: 1, tasks: 1})
	job := readJob{c.address, []readLine{{Path: "/static/v0", For: time.Nanosecond}, {Path: "/static/v0", For: 20 * time.Millisecond}}}
	begun := time.Now()
	lines, err := job.run(t.Context())
	if took := time.Since(begun); err != nil || took < 20*time.Millisecond {
		t.Errorf("it ended after %v with %v", took, err)
	}
	if len(lines[0]) != 1 || len(lines[1]) == 0 {
		t.Errorf("%d, %d and %d answers were read", len(lines[0]), len(lines[1]), len(lines[2]))
	}
}

func TestPodsRowHasTheseFields(t *testing.T) {
	seconds := func(list ...int) (all []time.Duration) {
		for _, n := range list {
			all = append(all, time.Duration(n)*time.Second)
		}
		return all
	}
	b := Pods{Connections: 10}
	s := podsSample{
		took: seconds(1, 3, 1, 3), static: seconds(1, 2), bytes: []float64{7, 9, 9},
		rates: []float64{100, 50, 80}, statics: []float64{100, 101, 102},
		rateRatios: []float64{1, 0.5, 0.9}, p99Ratios: []float64{1.5}, changes: 7,
	}
	got, err := json.Marshal(b.row(podsCases[0], 100, s))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"case":"status","pods":100,"answers":4,"changes":7,"bytes":9,"requests_per_second":80,"p50":1,"p99":3,"max":3,"stdev":1,` +
		`"static_p99":2,"static_requests_per_second":101,"ratio_to_static":0.9,"ratio_p99":1.5,"published_requests_per_second":161.1}`
	if string(got) != want {
		t.Errorf("row is\n%s, want\n%s", got, want)
	}
	for name, row := range map[string]PodsRow{
		"more pods": b.row(podsCases[0], 101, s), "one pod": b.row(podsCases[1], 100, s),
		"fewer connections": Pods{Connections: 9}.row(podsCases[0], 100, s), "changes": Pods{Connections: 10, Changes: 1}.row(podsCases[0], 100, s),
	} {
		if row.PublishedRequestsPerSecond != 0 {
			t.Errorf("figures of other pods stand beside those of %s", name)
		}
	}
}

// BenchmarkPods is one answer to a client in this process, which has had it
// before:
//
//	go test ./internal/bench -run - -bench Pods/case=status$ -cpuprofile cpu.out
func BenchmarkPods(b *testing.B) {
	for _, c := range podsCases {
		b.Run("case="+c.name, func(b *testing.B) {
			fleet := newPodFleet(100)
			cluster, err := startStateCluster(b.Context(), b.TempDir(), fleet, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer cluster.close()
			if err := fleet.define(b.Context(), cluster.address); err != nil {
				b.Fatal(err)
			}
			timed(b, func() (float64, error) {
				lines, err := readJob{cluster.address, []readLine{{Path: c.path, Times: 1}}}.run(b.Context())
				if err != nil {
					return 0, err
				}
				return lines[0][0].Took.Seconds(), nil
			})
		})
	}
}
