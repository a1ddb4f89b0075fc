// Package collector shows the statistics and the health of a registrar to
// Prometheus.
//
//	prometheus.MustRegister(collector.New(r)) // r is an open registrar
package collector

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eaba02dc/registrar/registrar"
)

// Source is what has statistics and health; a [*registrar.Registrar] has.
type Source interface {
	Stats() registrar.Stats
	Health() registrar.Health
}

// Collector implements [prometheus.Collector].
type Collector struct{ source Source }

var _ prometheus.Collector = (*Collector)(nil)

// New is a collector of what source has done since it was opened, and of how it is.
func New(source Source) *Collector { return &Collector{source} }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("registrar_"+name, help, labels, nil)
}

var (
	queued      = desc("queued_operations", "Operations that wait for a batch.")
	queuedBytes = desc("queued_bytes", "Bytes of the operations that wait for a batch.")
	operations  = desc("operations_total", "Operations that were answered, by the answer.", "result")
	batches     = desc("batches_total", "Batches that were answered.")
	records     = desc("records_total", "Records that were written.")
	bytes       = desc("record_bytes_total", "Bytes of the records that were written.")
	checkpoints = desc("checkpoints_total", "Checkpoints, by whether they were written.", "result")
	sequence    = desc("sequence", "Number of the last durable record.")
	epoch       = desc("epoch", "How often the store was opened.")
	revision    = desc("revision", "Revision of the registry that is durable.")
	failed      = desc("failed", "1 once the registrar has failed: nothing is durable any more.")
	batchSize   = desc("batch_operations", "Operations of a batch.")
	recordSize  = desc("record_size_bytes", "Size of a record.")
	stage       = desc("stage_duration_seconds", "How long a batch was in a stage.", "stage")
	slow        = desc("slow_batches_total", "Batches that took longer than a second until they were durable, or what Options.SlowAfter says.")
	unhealthy   = desc("unhealthy", "1 while there is this reason for not being healthy.", "reason")
	unsynced    = desc("oldest_unsynced_seconds", "For how long the store has had the oldest record that is not durable; 0 when all are.")
	age         = desc("checkpoint_age_seconds", "Age of the last checkpoint; before the first, how long the registrar is open.")
	behind      = desc("checkpoint_behind_bytes", "Bytes of records that came after the last checkpoint.")
	diskFree    = desc("disk_free_bytes", "Bytes that are free on the file system of the store; 0 if it does not say.")
	diskSize    = desc("disk_size_bytes", "Bytes of that file system; 0 if it does not say.")
	background  = desc("background_errors_total", "Failures of the store's work in the background, such as writing tables, which is tried again.")
	witnessTime = desc("witness_behind_seconds", "For how long the witness has not caught up with what is durable.")
	witnessLag  = desc("witness_behind_records", "How many durable records the witness does not vouch for yet.")

	all = []*prometheus.Desc{queued, queuedBytes, operations, batches, records, bytes, checkpoints, sequence, epoch,
		revision, failed, batchSize, recordSize, stage, slow, unhealthy, unsynced, age, behind, diskFree, diskSize,
		background, witnessTime, witnessLag}
)

// Describe implements [prometheus.Collector].
func (*Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range all {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.source.Stats()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(queued, float64(s.QueuedOperations))
	gauge(queuedBytes, float64(s.QueuedBytes))
	counter(operations, s.Applied, "applied")
	counter(operations, s.Unchanged, "unchanged")
	counter(operations, s.Refused, "refused")
	counter(operations, s.Repeated, "repeated")
	counter(operations, s.NoRoom, "disk_full")
	counter(batches, s.Batches)
	counter(records, s.Records)
	counter(bytes, s.Bytes)
	counter(checkpoints, s.Checkpoints, "written")
	counter(checkpoints, s.CheckpointFailures, "failed")
	gauge(sequence, float64(s.Seq))
	gauge(epoch, float64(s.Epoch))
	gauge(revision, float64(s.Revision))
	hasFailed := 0.0
	if s.Failed != nil {
		hasFailed = 1
	}
	gauge(failed, hasFailed)
	counter(slow, s.SlowBatches)
	c.health(gauge, counter)
	ch <- histogram(batchSize, &s.Operations, 0, 17, 1)
	ch <- histogram(recordSize, &s.BatchBytes, 6, 25, 1)
	const micro, minute = 10, 36 // in powers of two of nanoseconds
	for _, of := range []struct {
		name string
		took *registrar.Histogram
	}{{"queued", &s.Queued}, {"decided", &s.Decided}, {"written", &s.Written}, {"synced", &s.Synced}, {"answered", &s.Answered}} {
		ch <- histogram(stage, of.took, micro, minute, 1e9, of.name)
	}
}

func (c *Collector) health(gauge func(*prometheus.Desc, float64, ...string), counter func(*prometheus.Desc, uint64, ...string)) {
	h := c.source.Health()
	for _, name := range registrar.Reasons() {
		is := 0.0
		if slices.ContainsFunc(h.Reasons, func(r registrar.Reason) bool { return r.Name == name }) {
			is = 1
		}
		gauge(unhealthy, is, name)
	}
	gauge(unsynced, h.OldestUnsynced.Seconds())
	gauge(age, h.CheckpointAge.Seconds())
	gauge(behind, float64(h.CheckpointBehind))
	gauge(diskFree, float64(h.Storage.Free))
	gauge(diskSize, float64(h.Storage.Total))
	counter(background, h.Storage.Failures)
	gauge(witnessTime, h.Storage.WitnessBehind.Seconds())
	gauge(witnessLag, float64(h.Storage.UnwitnessedRecords))
}

// histogram has a bucket for the values below each power of two from first to
// last, in a unit that has so many of theirs.
func histogram(d *prometheus.Desc, h *registrar.Histogram, first, last int, unit float64, labels ...string) prometheus.Metric {
	buckets, sum := map[float64]uint64{}, uint64(0)
	for i, n := range h.Buckets[:last+1] {
		if sum += n; i >= first {
			buckets[float64(uint64(1)<<i-1)/unit] = sum
		}
	}
	return prometheus.MustNewConstHistogram(d, h.Count, float64(h.Sum)/unit, buckets, labels...)
}
