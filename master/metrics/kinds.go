package metrics

import (
	"math"
	"sync/atomic"
)

// Counter is a number that only grows. The zero value is ready.
type Counter struct{ n atomic.Int64 }

// Inc adds one.
func (c *Counter) Inc() { c.n.Add(1) }

// Add adds what is not less than nothing.
func (c *Counter) Add(n int64) { c.n.Add(n) }

// Value is what was counted so far.
func (c *Counter) Value() int64 { return c.n.Load() }

// Gauge is a number that its owner sets. The zero value is ready.
type Gauge struct{ bits atomic.Uint64 }

// Set makes v the value.
func (g *Gauge) Set(v float64) { g.bits.Store(math.Float64bits(v)) }

// Add adds to the value.
func (g *Gauge) Add(v float64) {
	for {
		old := g.bits.Load()
		if g.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Value is the value now.
func (g *Gauge) Value() float64 { return math.Float64frombits(g.bits.Load()) }
