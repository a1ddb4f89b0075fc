package bench

import (
	"testing"
	"time"
)

func TestMedianIsTheMiddleOrTheMeanOfTheTwoMiddles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 100, 1, 2}, 3},
	} {
		before := append([]float64(nil), c.values...)
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
		for i := range before {
			if before[i] != c.values[i] {
				t.Errorf("median reordered %v to %v", before, c.values)
			}
		}
	}
}

func TestQuantileIsTheNearestRank(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Second
	}
	for _, c := range []struct {
		durations []time.Duration
		q, want   float64
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7 * time.Second}, 0.99, 7},
		{[]time.Duration{3 * time.Second, time.Second, 2 * time.Second}, 0.5, 2},
		{hundred, 0.50, 50}, {hundred, 0.99, 99}, {hundred, 0.991, 100}, {hundred, 1, 100}, {hundred, 0, 1},
	} {
		if got := quantile(c.durations, c.q); got != c.want {
			t.Errorf("quantile of %d values at %v = %v, want %v", len(c.durations), c.q, got, c.want)
		}
	}
}

func TestRatioToNothingIsUndefined(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{{6, 2, 3}, {6, 0, 0}, {0, 2, 0}} {
		if got := ratio(c.a, c.b); got != c.want {
			t.Errorf("ratio(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestRowHasTheMedianOfTheRatiosNotTheRatioOfTheMedians(t *testing.T) {
	rounds := [][]sample{
		{{phase: "admit", ops: 100, seconds: 1, floor: 1, pebble: 0.5, cpu: 0.001, bytes: 10, batches: 1, heap: 5}},
		{{phase: "admit", ops: 100, seconds: 8, floor: 2, pebble: 4, cpu: 0.003, bytes: 30, batches: 3, heap: 7}},
		{{phase: "admit", ops: 100, seconds: 2, floor: 4, pebble: 1, cpu: 0.002, bytes: 20, batches: 2, heap: 6}},
	}
	got := rows(10_000, rounds)
	want := Row{
		Phase: "admit", Agents: 10_000, Seconds: 2, OpsPerSecond: 50, Batches: 2, Bytes: 20,
		FloorSeconds: 2, RatioToFloor: 1, PebbleSeconds: 1, RatioToPebble: 2,
		CPUMicrosPerOp: 20, HeapBytes: 6, Published: 10.04, Mesos112: 0.254,
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("rows = %+v, want %+v", got, want)
	}
}
