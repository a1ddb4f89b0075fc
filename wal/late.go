package wal

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// lateCompactions holds Pebble's compactions back until it is open. An opening
// that fails (Pebble v2.1.7) takes away what a compaction reads with, while one
// may be running: that panics on its own goroutine, where nobody can recover.
//
// CompactionConcurrencyRange cannot do that: Pebble divides by the upper number
// when it picks a compaction, and reads the numbers anew only when its tables
// change. Hence the scheduler, which is asked before each.
type lateCompactions struct {
	// Pebble's own, without the ticker that looks ten times a second whether
	// more compactions than before may run at once. Here it is always one, and
	// each that ends makes the scheduler look who waits.
	pebble.CompactionScheduler
	open atomic.Bool
}

func newLateCompactions() *lateCompactions {
	return &lateCompactions{CompactionScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()}
}

// Register puts the gate between the scheduler and the database.
func (s *lateCompactions) Register(goroutines int, db pebble.DBForCompaction) {
	s.CompactionScheduler.Register(goroutines, lateDB{db, &s.open})
}

// begin lets compactions run. One may be waiting: a turn taken and given back
// makes the scheduler look.
func (s *lateCompactions) begin() {
	s.open.Store(true)
	if ok, turn := s.TrySchedule(); ok {
		turn.Done()
	}
}

// lateDB allows no compaction before the database is open.
type lateDB struct {
	pebble.DBForCompaction
	open *atomic.Bool
}

func (d lateDB) GetAllowedWithoutPermission() int {
	if !d.open.Load() {
		return 0
	}
	return d.DBForCompaction.GetAllowedWithoutPermission()
}
