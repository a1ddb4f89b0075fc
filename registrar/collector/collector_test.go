package collector_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

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
	// disk_full 0
	// refused 0
	// repeated 0
	// unchanged 0
}

// fixed are statistics and health that do not change.
type fixed struct {
	stats  registrar.Stats
	health registrar.Health
}

func (f fixed) Stats() registrar.Stats   { return f.stats }
func (f fixed) Health() registrar.Health { return f.health }

func TestStagesAreHistogramsInSeconds(t *testing.T) {
	var s registrar.Stats
	s.Operations.Buckets[0], s.Operations.Buckets[2], s.Operations.Buckets[63] = 1, 2, 1
	s.Operations.Count, s.Operations.Sum = 4, 1<<62
	got := make(chan prometheus.Metric, 100)
	collector.New(fixed{stats: s}).Collect(got)
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

func TestHealthIsShown(t *testing.T) {
	f := fixed{health: registrar.Health{
		State:   registrar.Degraded,
		Reasons: []registrar.Reason{{Name: registrar.ReasonDiskFull, Text: "full"}, {Name: registrar.ReasonSlow, Text: "slow"}},
		Storage: store.Condition{Free: 1 << 20, Total: 1 << 30, Failures: 7, WitnessBehind: 1500 * time.Millisecond, UnwitnessedRecords: 4},

		CheckpointAge: time.Minute, CheckpointBehind: 500, OldestUnsynced: 2500 * time.Millisecond,
	}}
	err := testutil.CollectAndCompare(collector.New(f), strings.NewReader(`
# HELP registrar_background_errors_total Failures of the store's work in the background, such as writing tables, which is tried again.
# TYPE registrar_background_errors_total counter
registrar_background_errors_total 7
# HELP registrar_checkpoint_age_seconds Age of the last checkpoint; before the first, how long the registrar is open.
# TYPE registrar_checkpoint_age_seconds gauge
registrar_checkpoint_age_seconds 60
# HELP registrar_checkpoint_behind_bytes Bytes of records that came after the last checkpoint.
# TYPE registrar_checkpoint_behind_bytes gauge
registrar_checkpoint_behind_bytes 500
# HELP registrar_disk_free_bytes Bytes that are free on the file system of the store; 0 if it does not say.
# TYPE registrar_disk_free_bytes gauge
registrar_disk_free_bytes 1.048576e+06
# HELP registrar_disk_size_bytes Bytes of that file system; 0 if it does not say.
# TYPE registrar_disk_size_bytes gauge
registrar_disk_size_bytes 1.073741824e+09
# HELP registrar_oldest_unsynced_seconds For how long the store has had the oldest record that is not durable; 0 when all are.
# TYPE registrar_oldest_unsynced_seconds gauge
registrar_oldest_unsynced_seconds 2.5
# HELP registrar_unhealthy 1 while there is this reason for not being healthy.
# TYPE registrar_unhealthy gauge
registrar_unhealthy{reason="background_errors"} 0
registrar_unhealthy{reason="checkpoint_late"} 0
registrar_unhealthy{reason="disk_full"} 1
registrar_unhealthy{reason="disk_low"} 0
registrar_unhealthy{reason="latched"} 0
registrar_unhealthy{reason="slow"} 1
registrar_unhealthy{reason="stalled"} 0
registrar_unhealthy{reason="witness_behind"} 0
# HELP registrar_witness_behind_records How many durable records the witness does not vouch for yet.
# TYPE registrar_witness_behind_records gauge
registrar_witness_behind_records 4
# HELP registrar_witness_behind_seconds For how long the witness has not caught up with what is durable.
# TYPE registrar_witness_behind_seconds gauge
registrar_witness_behind_seconds 1.5
`), "registrar_background_errors_total", "registrar_checkpoint_age_seconds", "registrar_checkpoint_behind_bytes", "registrar_disk_free_bytes",
		"registrar_disk_size_bytes", "registrar_oldest_unsynced_seconds", "registrar_unhealthy", "registrar_witness_behind_records", "registrar_witness_behind_seconds")
	if err != nil {
		t.Error(err)
	}
}
