package bench

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// meter measures one phase: time on the clock and time on the processors.
type meter struct {
	began time.Time
	cpu   time.Duration
}

// startMeter collects garbage first, so that a phase does not pay for what the
// one before it left behind.
func startMeter() meter {
	runtime.GC()
	return meter{cpu: processTime(), began: time.Now()}
}

// stop returns how long the phase took, and how much processor time the whole
// process used in it: user and system, all threads, garbage collection too.
func (m meter) stop() (took, cpu time.Duration) {
	took = time.Since(m.began)
	return took, processTime() - m.cpu
}

// processTime is the processor time that this process has used so far.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("getrusage of this process: %v", err)) // the arguments are constant and valid
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// liveHeap is the bytes of heap in use right after a garbage collection. It
// must be called when the operations of the phase are out of reach.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
