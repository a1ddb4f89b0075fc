package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
)

func TestMetricsMeasuresEachKindAtEachSize(t *testing.T) {
	if testing.Short() {
		t.Skip("adds and removes 100,000 metrics")
	}
	phases := 0
	b := Metrics{Frameworks: []int{3, 40}, Rounds: 1, Dir: t.TempDir(), Client: testStateClient, Progress: func() { phases++ }}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if phases != b.Phases() {
		t.Errorf("progress was told of %d phases, not %d", phases, b.Phases())
	}
	if len(r.Results) != 2*len(metricsKinds) {
		t.Fatalf("%d rows, want %d", len(r.Results), 2*len(metricsKinds))
	}
	base := r.Results[0].Metrics - 61*3
	for i, row := range r.Results {
		kind, frameworks := metricsKinds[i%len(metricsKinds)].name, b.Frameworks[i/len(metricsKinds)]
		if row.Kind != kind || row.Frameworks != frameworks || row.Metrics != base+61*frameworks || row.Bytes == 0 ||
			row.RatioQuiet <= 0 || row.RatioChanged <= 0 || row.RatioAll <= 0 || row.RememberedBytes == 0 {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if c := r.Table; c.IncrementNs <= 0 || c.IncrementBy16 <= 0 || c.AddNs <= 0 || c.RemoveNs <= 0 || c.MetricBytes <= 0 {
		t.Errorf("the costs of a table are %+v", c)
	}
	if left, err := os.ReadDir(b.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left behind", left, err)
	}
}

func TestMetricsEndsWithItsContext(t *testing.T) {
	if testing.Short() {
		t.Skip("adds and removes 100,000 metrics")
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := Metrics{Frameworks: []int{1}, Rounds: 1000, Dir: t.TempDir(), Client: testStateClient, Progress: cancel}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestMetricsOfNothingAreNotMeasured(t *testing.T) {
	for _, c := range []struct {
		b    Metrics
		want string
	}{
		{Metrics{Rounds: 1}, "no number of frameworks is given"},
		{Metrics{Frameworks: []int{5, 0}, Rounds: 1}, "0 frameworks: from 1 to 100,000 can be measured"},
		{Metrics{Frameworks: []int{5}}, "0 rounds: at least 1 is needed"},
	} {
		if err := c.b.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.b.Frameworks, err, c.want)
		}
	}
}

func TestMetricsRowHasTheseFields(t *testing.T) {
	got, err := json.Marshal(metricsRow("v0", 20005, []metricsSample{{
		metrics: 100, bytes: 1000, remembered: 1050, data: 5000,
		first: besideStatic{8, 2}, quiet: besideStatic{3, 2}, changed: besideStatic{4, 2}, all: besideStatic{5, 2},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"v0","frameworks":20005,"metrics":100,"bytes":1000,"first_seconds":8,"quiet_seconds":3,"changed_seconds":4,` +
		`"all_seconds":5,"static_seconds":2,"ratio_quiet":1.5,"ratio_changed":2,"ratio_all":2.5,"remembered_bytes":1050,` +
		`"ratio_remembered":1.05,"data_bytes_per_metric":50,"published_seconds":19.93}`
	if string(got) != want {
		t.Errorf("row is\n%s, want\n%s", got, want)
	}
	if row := metricsRow("prometheus", 20005, []metricsSample{{metrics: 1}}); row.Published != 0 {
		t.Error("figures of another form stand beside ours")
	}
}

// BenchmarkMetrics is one answer to a client in this process, which has had it
// before, after so many values of each framework have changed:
//
//	go test ./internal/bench -run - -bench Metrics/kind=v0/frameworks=1005 -cpuprofile cpu.out
func BenchmarkMetrics(b *testing.B) {
	for _, kind := range metricsKinds {
		for _, frameworks := range []int{105, 1005, 20005} {
			for _, changed := range []int{0, 1, 61} {
				b.Run(fmt.Sprintf("kind=%s/frameworks=%d/changed=%d", kind.name, frameworks, changed), func(b *testing.B) {
					c, err := startStateCluster(b.Context(), b.TempDir(), stateFleet{agents: 1, frameworks: frameworks, tasks: 2, bare: true}, nil)
					if err != nil {
						b.Fatal(err)
					}
					defer c.close()
					line := kind.line
					line.Times = 1
					ask := func() (float64, error) {
						changeMetrics(c.master.Metrics(), func(int) int { return changed })
						lines, err := readJob{c.address, []readLine{line}}.run(b.Context())
						if err != nil {
							return 0, err
						}
						return lines[0][0].Took.Seconds(), nil
					}
					if _, err := ask(); err != nil { // what is remembered is made
						b.Fatal(err)
					}
					timed(b, ask)
				})
			}
		}
	}
}
