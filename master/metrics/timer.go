package metrics

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Timer is how long something took: the last time, and of all times within a
// window how many there were, the longest and the shortest, and percentiles. It
// keeps up to 1000 points of a window; when there are more, every second one of
// the older half goes. Points leave the window when a newer one comes.
type Timer struct {
	window  time.Duration
	pending atomic.Pointer[point] // the latest first, not in points yet
	waiting atomic.Int64          // how many are pending, about

	mu     sync.Mutex // whoever observes does not wait for it
	points []point    // the oldest first
}

// point is one observation.
type point struct {
	at   time.Time
	took time.Duration
	next *point // older
}

const (
	maxPoints  = 1000
	maxPending = 64 // before somebody who observes puts them in their place
)

// NewTimer is a timer with a window; one of 0 keeps the last time only.
func NewTimer(window time.Duration) *Timer { return &Timer{window: window} }

// Observe adds how long it took this time.
func (t *Timer) Observe(took time.Duration) { t.observe(time.Now(), took) }

func (t *Timer) observe(at time.Time, took time.Duration) {
	p := &point{at: at, took: took}
	for {
		p.next = t.pending.Load()
		if t.pending.CompareAndSwap(p.next, p) {
			break
		}
	}
	if t.waiting.Add(1) >= maxPending && t.mu.TryLock() {
		t.settle()
		t.mu.Unlock()
	}
}

// settle puts pending points in their place. Call with mu held.
func (t *Timer) settle() {
	t.waiting.Store(0)
	from := len(t.points)
	for p := t.pending.Swap(nil); p != nil; p = p.next {
		t.points = append(t.points, point{at: p.at, took: p.took})
	}
	fresh := t.points[from:]
	slices.Reverse(fresh)
	slices.SortStableFunc(fresh, func(a, b point) int { return a.at.Compare(b.at) })
	if len(fresh) == 0 {
		return
	}
	last := t.points[len(t.points)-1].at
	old := 0
	for old < len(t.points)-1 && last.Sub(t.points[old].at) > t.window {
		old++
	}
	t.points = slices.Delete(t.points, 0, old)
	for len(t.points) > maxPoints {
		t.thin()
	}
}

// thin takes every second point out of the older half.
func (t *Timer) thin() {
	half := len(t.points) / 2
	kept := 0
	for i := 0; i < half; i += 2 {
		t.points[kept] = t.points[i]
		kept++
	}
	t.points = slices.Delete(t.points, kept, half)
}

// percentiles are those that are shown.
var percentiles = []struct {
	name string
	of   float64
}{{"/p50", 0.5}, {"/p90", 0.9}, {"/p95", 0.95}, {"/p99", 0.99}, {"/p999", 0.999}, {"/p9999", 0.9999}}

// timerNames are the names of what a timer shows.
func timerNames(name string) []string {
	names := []string{name, name + "/count", name + "/max", name + "/min"}
	for _, p := range percentiles {
		names = append(names, name+p.name)
	}
	return names
}

// read fills in what timerNames names, in milliseconds.
func (t *Timer) read(values []float64) {
	t.mu.Lock()
	t.settle()
	took := make([]time.Duration, len(t.points))
	for i, p := range t.points {
		took[i] = p.took
	}
	t.mu.Unlock()
	for i := range values {
		values[i] = math.NaN()
	}
	if len(took) == 0 {
		return
	}
	values[0] = inMillis(float64(took[len(took)-1]))
	if len(took) < 2 || t.window == 0 {
		return
	}
	slices.Sort(took)
	values[1] = float64(len(took))
	values[2] = inMillis(float64(took[len(took)-1]))
	values[3] = inMillis(float64(took[0]))
	for i, p := range percentiles {
		values[4+i] = inMillis(percentile(took, p.of))
	}
}

func inMillis(d float64) float64 { return d / float64(time.Millisecond) }

// percentile is between the two that are nearest, of what is sorted.
func percentile(sorted []time.Duration, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return float64(sorted[len(sorted)-1])
	}
	low, high := float64(sorted[i]), float64(sorted[i+1])
	return low + (at-float64(i))*(high-low)
}
