package registrar

import (
	"sync/atomic"
	"time"
)

const (
	// slowTells is how often a slow batch is logged: a disk that is slow is so
	// for each of them.
	slowTells = 10 * time.Second
	// slowLasts is how long the engine counts as slow after the last slow batch.
	slowLasts = time.Minute
)

// slowness remembers slow batches. The publisher tells it of each batch.
type slowness struct {
	last  atomic.Int64 // when a record last took so long, since the registrar was opened; 0 for never
	took  atomic.Int64 // how long
	told  time.Time    // when one was last logged; the publisher's
	count uint64       // those since, and with it; the publisher's
}

// looksAt logs a batch that took long before it was durable, and names the stage
// that took longest.
func (r *Registrar) looksAt(b *batch) {
	atStore := time.Since(b.began)
	if b.wait == nil {
		atStore = 0
	}
	took := b.stage.queued + b.stage.decided + atStore
	if took < r.options.SlowAfter {
		return
	}
	s, now := &r.slow, time.Now()
	if atStore >= r.options.SlowAfter {
		s.took.Store(int64(atStore))
		s.last.Store(int64(now.Sub(r.opened)))
	}
	r.stats.slow()
	s.count++
	if !s.told.IsZero() && now.Sub(s.told) < slowTells {
		return
	}
	stage, longest := "queued", b.stage.queued
	synced := atStore - b.stage.written
	for _, of := range []struct {
		name string
		took time.Duration
	}{{"decided", b.stage.decided}, {"written", b.stage.written}, {"synced", synced}} {
		if of.took > longest {
			stage, longest = of.name, of.took
		}
	}
	r.options.Logger.Warn("slow batch", "stage", stage, "took", took, "queued", b.stage.queued, "decided", b.stage.decided,
		"written", b.stage.written, "synced", synced, "operations", len(b.pending), "bytes", b.bytes, "seq", b.next.mark.Seq, "slow", s.count)
	s.told, s.count = now, 0
}

// recently is how long the last slow record took, if that was not long ago.
func (s *slowness) recently(now time.Duration) (took time.Duration, is bool) {
	last := s.last.Load()
	return time.Duration(s.took.Load()), last > 0 && now-time.Duration(last) < slowLasts
}
