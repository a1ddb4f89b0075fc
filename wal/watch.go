package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// watch is Pebble's logger and event listener. What an operator would want to
// know goes to his log; what ends Pebble ends the log. Pebble is called on
// goroutines that may be lost: see run, and appender.
type watch struct {
	dir string
	log *slog.Logger

	background chan error    // has room for one: the oldest background error not taken yet
	opened     atomic.Bool   // Pebble is open, for writing
	ended      chan struct{} // closed once Pebble must not be called again

	mu     sync.Mutex
	reason error     // why; written before ended is closed
	told   time.Time // when a background error was last logged
	untold uint64    // those since

	failing  error     // the last background error
	failed   time.Time // when that was
	failures uint64
	stalled  time.Time // since when writers wait; zero if they do not
}

func newWatch(dir string, log *slog.Logger) *watch {
	return &watch{dir: dir, log: log, background: make(chan error, 1), ended: make(chan struct{})}
}

// end notes that Pebble must not be called again.
func (w *watch) end(reason error) {
	w.mu.Lock()
	first := w.reason == nil
	if first {
		w.reason = brief(reason)
		close(w.ended)
	}
	w.mu.Unlock()
	if !first {
		return
	}
	w.log.Error("storage engine gave up; close the store and open it afresh", "dir", w.dir, "err", w.reason)
}

// over returns why Pebble must not be called again, or nil.
func (w *watch) over() error {
	select {
	case <-w.ended:
		return w.reason
	default:
		return nil
	}
}

// run calls f, which calls Pebble, on a goroutine of its own, and comes back
// early if Pebble ends meanwhile: that goroutine may then be parked for good.
func (w *watch) run(f func() error) error { return w.runUntil(f, nil) }

// runOpen is run for opening Pebble, which writes its log into tables then,
// and would try for ever on a full disk: the first failure ends it.
func (w *watch) runOpen(f func() error) error { return w.runUntil(f, w.background) }

func (w *watch) runUntil(f func() error, failed <-chan error) error {
	if err := w.over(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- w.guard(f) }()
	select {
	case err := <-done:
		return err
	case err := <-failed:
		w.end(err)
	case <-w.ended:
	}
	return w.over()
}

// guard calls f and turns a panic into an error.
func (w *watch) guard(f func() error) (err error) {
	defer w.recover(&err)
	return brief(f())
}

// flush writes Pebble's memtable into a table. Pebble would try for ever; we
// take the first error, since everything is in its log anyway.
func (w *watch) flush(db *pebble.DB) error {
	select {
	case <-w.background: // an older one
	default:
	}
	flushed, err := db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case err := <-w.background:
		return err
	}
}

// recover turns a panic in a call of Pebble's into *err. A panic leaves
// Pebble's locks held, hence it is over with it.
func (w *watch) recover(err *error) {
	p := recover()
	if p == nil {
		return
	}
	cause, ok := p.(error)
	if !ok {
		cause = fmt.Errorf("%v", p)
	}
	w.end(cause)
	*err = brief(cause)
}

// park ends Pebble and never returns. It is for places where Pebble is about
// to do what nobody could recover from.
func (w *watch) park(reason error) {
	w.end(reason)
	select {}
}

// Infof drops Pebble's account of its own work.
func (w *watch) Infof(string, ...any) {}

// Errorf logs what Pebble calls an error.
func (w *watch) Errorf(format string, args ...any) {
	w.log.Error("storage engine reports an error", "dir", w.dir, "err", oneLine(fmt.Sprintf(format, args...)))
}

// Fatalf is called where Pebble cannot go on. It must not return, for Pebble
// would go on, nor panic, for that could be a goroutine of Pebble's own.
func (w *watch) Fatalf(format string, args ...any) { w.park(fmt.Errorf(format, args...)) }

func (w *watch) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: w.backgroundError,
		// The default calls Fatalf. Reading reports damage where it finds it.
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			w.log.Error("storage engine found damage", "dir", w.dir, "path", i.Path, "err", brief(i.Details))
		},
		WALCreated: w.logCreated,
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			w.log.Warn("records wait for the storage engine before they are durable", "dir", w.dir, "reason", i.Reason)
			w.stall(time.Now())
		},
		WriteStallEnd: func() {
			w.log.Warn("records no longer wait for the storage engine", "dir", w.dir)
			w.stall(time.Time{})
		},
	}
}

func (w *watch) stall(since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = since
}

// condition fills in what is known of Pebble. What failed and is not tried
// again within failingFor has ended well, or was given up.
func (w *watch) condition(c *store.Condition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.failed) < failingFor {
		c.Failing = w.failing
	}
	c.Failures, c.Stalled = w.failures, w.stalled
}

const (
	failingFor = 10 * time.Second // tries are a second apart at most
	tellsEvery = 10 * time.Second
)

// backgroundError logs a failed flush or compaction, once in ten seconds with
// how many there were, and keeps it for runOpen and flush unless an older one
// waits for them: any will do, and flush takes away the older one before it
// begins. Pebble tries again at once; tablePause slows that down. What does not
// come to making a table waits here, shortly, for a lock is held.
func (w *watch) backgroundError(err error) {
	if errors.Is(err, pebble.ErrCancelledCompaction) {
		return
	}
	select {
	case w.background <- err:
	default:
	}
	now := time.Now()
	w.mu.Lock()
	w.failing, w.failed, w.failures, w.untold = brief(err), now, w.failures+1, w.untold+1
	quiet, count := now.Sub(w.told) < tellsEvery, w.untold
	if !quiet {
		w.told, w.untold = now, 0
	}
	w.mu.Unlock()
	if quiet {
		time.Sleep(10 * time.Millisecond)
		return
	}
	w.log.Error("storage engine could not write in the background and tries again", "dir", w.dir, "times", count, "err", brief(err))
}

// logCreated parks a goroutine that could not make Pebble's next log file: it
// would panic with a lock released that it releases again on the way out, and
// the Go runtime ends the process for that. While Pebble is being opened it
// returns the error.
func (w *watch) logCreated(i pebble.WALCreateInfo) {
	if i.Err != nil && w.opened.Load() {
		w.park(fmt.Errorf("make log file %s: %w", i.Path, i.Err))
	}
}
