package bench

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkRegistrar has the phases of the benchmark, one by one, each on a
// new store that the phases before it have filled outside the timed part:
//
//	go test ./internal/bench -run - -bench 'phase=unreachable/agents=100000' -cpuprofile cpu.out
//
// The value of v says what does the work: the engine, a plain Pebble, or the
// floor.
func BenchmarkRegistrar(b *testing.B) {
	for _, agents := range []int{1000, 10_000, 100_000} {
		for at, s := range stormsBefore {
			b.Run(fmt.Sprintf("phase=%s/agents=%d", s.phase, agents), func(b *testing.B) {
				benchmarkStorm(b, stormsBefore[:at], s, agents)
			})
		}
		b.Run(fmt.Sprintf("phase=remove/agents=%d", agents), func(b *testing.B) {
			benchmarkStorm(b, stormsBefore[:1], removal, agents)
		})
		b.Run(fmt.Sprintf("phase=recover/agents=%d", agents), func(b *testing.B) {
			benchmarkRecover(b, agents)
		})
	}
	for _, l := range loops {
		b.Run(fmt.Sprintf("phase=closed_loop/clients=%d", l.clients), func(b *testing.B) {
			benchmarkLoop(b, l)
		})
	}
}

func benchmarkStorm(b *testing.B, before []storm, s storm, agents int) {
	recorded := record(b, before, s, agents)
	b.Run("v=engine", func(b *testing.B) {
		seconds := timed(b, func() (float64, error) {
			m, err := runAfter(b, before, s, agents, nil)
			return m.seconds, err
		})
		b.ReportMetric(float64(agents)/seconds, "ops/s")
	})
	if recorded.bytes() == 0 {
		return // nothing is written, and the floor of nothing is undefined
	}
	b.Run("v=pebble", func(b *testing.B) {
		timed(b, func() (seconds float64, err error) {
			p, err := newPlainPebble(filepath.Join(b.TempDir(), "plain"))
			if err != nil {
				return 0, err
			}
			defer p.close()
			return p.replay(recorded, agents)
		})
	})
	b.Run("v=floor", func(b *testing.B) {
		data, err := recorded.load()
		if err != nil {
			b.Fatal(err)
		}
		parts := (agents + maxFloorGroup - 1) / maxFloorGroup
		timed(b, func() (float64, error) {
			took, err := writeFloor(filepath.Join(b.TempDir(), "floor"), data, parts)
			return total(took).Seconds(), err
		})
	})
}

// timed reports what run says it took, not what b measures: making a store and
// filling it is most of the work. It returns the mean.
func timed(b *testing.B, run func() (seconds float64, err error)) float64 {
	b.Helper()
	sum := 0.0
	for b.Loop() {
		seconds, err := run()
		if err != nil {
			b.Fatal(err)
		}
		sum += seconds
	}
	mean := sum / float64(b.N)
	b.ReportMetric(mean*float64(time.Second), "ns/op")
	return mean
}

// record runs the storm once and returns its tape.
func record(b *testing.B, before []storm, s storm, agents int) *tape {
	b.Helper()
	r := &recorder{dir: b.TempDir()}
	if _, err := runAfter(b, before, s, agents, r); err != nil {
		b.Fatal(err)
	}
	recorded, err := r.stop()
	if err != nil {
		b.Fatal(err)
	}
	return recorded
}

// runAfter runs the storms before on a new store, then s, which is recorded if
// there is a recorder.
func runAfter(b *testing.B, before []storm, s storm, agents int, r *recorder) (m sample, err error) {
	w, err := newWorkload(agents, 0, 0)
	if err != nil {
		return m, err
	}
	e, err := createEngine(b.Context(), filepath.Join(b.TempDir(), "store"), agents, r)
	if err != nil {
		return m, err
	}
	defer e.close()
	for _, earlier := range before {
		if _, err := earlier.run(b.Context(), e, w); err != nil {
			return m, err
		}
		w.shuffle()
	}
	if r != nil {
		if err := r.start(s.phase); err != nil {
			return m, err
		}
	}
	return s.run(b.Context(), e, w)
}

// benchmarkRecover opens the store of a killed process.
func benchmarkRecover(b *testing.B, agents int) {
	timed(b, func() (float64, error) {
		r, err := Registrar{Victim: testVictim}.newRound(b.TempDir(), agents, 1, &learned{})
		if err != nil {
			return 0, err
		}
		if err := r.storms(b.Context()); err != nil {
			return 0, err
		}
		left, err := r.killed(b.Context())
		if err != nil {
			return 0, err
		}
		e, err := r.recovered(b.Context(), "recover", left)
		if err != nil {
			return 0, err
		}
		return r.samples[len(r.samples)-1].seconds, e.close()
	})
}

func benchmarkLoop(b *testing.B, l loop) {
	w, err := newWorkload(1000, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	e, err := createEngine(b.Context(), filepath.Join(b.TempDir(), "store"), 1000, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.close()
	var last sample
	first := 0
	timed(b, func() (float64, error) {
		last, err = l.run(b.Context(), e, w, first)
		first += 1000
		return last.seconds / 1000, err
	})
	b.ReportMetric(last.p50*1e6, "p50-µs")
	b.ReportMetric(last.p99*1e6, "p99-µs")
}
