package bench

import (
	"fmt"
	"strconv"
)

// Table is a part of a report for people.
type Table struct {
	Header []string
	Rows   [][]string
}

// Tables are the report for people: the phases, and the closed loops, whose
// figures are others. Times are in milliseconds, sizes in MB; "-" is what was
// not measured.
func (r Report) Tables() (phases, loops Table) {
	phases.Header = []string{"phase", "agents", "ms", "ops/s", "batches", "MB", "floor ms", "x floor",
		"pebble ms", "x pebble", "us cpu/op", "heap MB", "2014 ms", "mesos 1.12 ms"}
	loops.Header = []string{"clients", "agents", "ops/s", "p50 ms", "p99 ms", "fsync p50 ms", "p50 x fsync",
		"batches", "us cpu/op", "heap MB", "ms", "x floor", "x pebble"}
	for _, row := range r.Results {
		if row.Clients > 0 {
			loops.Rows = append(loops.Rows, row.loopCells())
		} else {
			phases.Rows = append(phases.Rows, row.phaseCells())
		}
	}
	return phases, loops
}

func (r Row) phaseCells() []string {
	return []string{
		r.Phase, strconv.Itoa(r.Agents), milli(r.Seconds), fmt.Sprintf("%.0f", r.OpsPerSecond),
		strconv.FormatUint(r.Batches, 10), mega(r.Bytes), milli(r.FloorSeconds), times(r.RatioToFloor),
		milli(r.PebbleSeconds), times(r.RatioToPebble), fmt.Sprintf("%.2f", r.CPUMicrosPerOp), mega(r.HeapBytes),
		milli(r.Published), milli(r.Mesos112),
	}
}

func (r Row) loopCells() []string {
	return []string{
		strconv.Itoa(r.Clients), strconv.Itoa(r.Agents), fmt.Sprintf("%.0f", r.OpsPerSecond),
		milli(r.P50), milli(r.P99), milli(r.FsyncP50), times(ratio(r.P50, r.FsyncP50)),
		strconv.FormatUint(r.Batches, 10), fmt.Sprintf("%.2f", r.CPUMicrosPerOp), mega(r.HeapBytes),
		milli(r.Seconds), times(r.RatioToFloor), times(r.RatioToPebble),
	}
}

// milli is seconds in milliseconds, to three digits.
func milli(seconds float64) string {
	ms := seconds * 1000
	switch {
	case ms == 0:
		return "-"
	case ms < 1:
		return fmt.Sprintf("%.3f", ms)
	case ms < 10:
		return fmt.Sprintf("%.2f", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

func mega(bytes uint64) string { return fmt.Sprintf("%.2f", float64(bytes)/1e6) }

func times(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio)
}
