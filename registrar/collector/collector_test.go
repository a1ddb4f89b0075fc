package collector_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/collector"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

func Example() {
	ctx := context.Background()
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collector.New(r))

	r.Apply(ctx, ops.Admit{Agent: registry.Agent{ID: "a1", Hostname: "host-1"}})

	all, err := metrics.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range all {
		if f.GetName() == "registrar_operations_total" {
			for _, m := range f.Metric {
				fmt.Println(m.Label[0].GetValue(), m.Counter.GetValue())
			}
		}
	}
	// Output:
	// applied 1
	// refused 0
	// repeated 0
	// unchanged 0
}

// fixed are statistics that do not change.
type fixed struct{ stats registrar.Stats }

func (f fixed) Stats() registrar.Stats { return f.stats }

func TestStagesAreHistogramsInSeconds(t *testing.T) {
	var s registrar.Stats
	s.Operations.Buckets[0], s.Operations.Buckets[2], s.Operations.Buckets[63] = 1, 2, 1
	s.Operations.Count, s.Operations.Sum = 4, 1<<62
	got := make(chan prometheus.Metric, 100)
	collector.New(fixed{s}).Collect(got)
	close(got)
	for m := range got {
		var out dto.Metric
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		if h := out.Histogram; h != nil && h.GetSampleCount() == 4 {
			var buckets []string
			for _, b := range h.Bucket[:4] {
				buckets = append(buckets, fmt.Sprint(b.GetUpperBound(), ":", b.GetCumulativeCount()))
			}
			if got, want := fmt.Sprint(buckets), "[0:1 1:1 3:3 7:3]"; got != want {
				t.Errorf("buckets are %s, want %s", got, want)
			}
			return
		}
	}
	t.Error("there is no histogram of the operations of a batch")
}

func TestMetricsAreAsPrometheusWantsThem(t *testing.T) {
	problems, err := testutil.CollectAndLint(collector.New(fixed{}))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
