package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// watch is Pebble's logger and event listener. What an operator would want to
// know goes to his log; what ends Pebble ends the log.
type watch struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	ended  chan struct{} // closed once Pebble must not be called again
	reason error         // why; written before ended is closed
	told   time.Time     // when a background error was last logged
}

func newWatch(dir string, log *slog.Logger) *watch {
	return &watch{dir: dir, log: log, ended: make(chan struct{})}
}

// end notes that Pebble must not be called again.
func (w *watch) end(reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reason != nil {
		return
	}
	w.reason = reason
	close(w.ended)
	w.log.Error("storage engine gave up; close the store and open it afresh", "dir", w.dir, "err", reason)
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

// guard calls f, which calls Pebble, and turns a panic into an error. Fatalf
// looks for it in the stack: do not inline.
//
//go:noinline
func (w *watch) guard(f func() error) (err error) {
	defer w.recover(&err)
	return f()
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
	*err = cause
}

// run calls f as guard does, on another goroutine, and comes back early if
// Pebble ends meanwhile: f may then never return.
func (w *watch) run(f func() error) error {
	if err := w.over(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- w.guard(f) }()
	select {
	case err := <-done:
		return err
	case <-w.ended:
		return w.reason
	}
}

// Infof drops Pebble's account of its own work.
func (w *watch) Infof(string, ...any) {}

// Errorf logs what Pebble calls an error.
func (w *watch) Errorf(format string, args ...any) {
	w.log.Error("storage engine reports an error", "dir", w.dir, "err", fmt.Sprintf(format, args...))
}

// Fatalf is called where Pebble cannot go on, and must not return: it would
// go on. In a call of ours it panics, and guard makes an error of that. A
// goroutine of Pebble's own is parked, because nobody could recover there.
func (w *watch) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	w.end(err)
	if guarded() {
		panic(err)
	}
	select {}
}

// guarded reports whether this goroutine is inside a call that recovers.
func guarded() bool {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "wal.(*watch).guard") || strings.HasSuffix(f.Function, "wal.(*Log).apply") {
			return true
		}
		if !more {
			return false
		}
	}
}

func (w *watch) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: w.backgroundError,
		// The default calls Fatalf. Reading reports damage where it finds it.
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			w.log.Error("storage engine found damage", "dir", w.dir, "path", i.Path, "err", i.Details)
		},
		LowDiskSpace: func(i pebble.LowDiskSpaceInfo) {
			w.log.Warn("disk space is running low", "dir", w.dir, "free", i.AvailBytes, "total", i.TotalBytes)
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			w.log.Warn("appends wait for the storage engine", "dir", w.dir, "reason", i.Reason)
		},
		WriteStallEnd: func() { w.log.Warn("appends go on", "dir", w.dir) },
	}
}

// backgroundError logs a failed flush or compaction, once a second. Pebble
// tries again at once, thousands of times a second on a full disk; a pause
// here is the only one it takes.
func (w *watch) backgroundError(err error) {
	if errors.Is(err, pebble.ErrCancelledCompaction) {
		return
	}
	w.mu.Lock()
	quiet := time.Since(w.told) < time.Second
	if !quiet {
		w.told = time.Now()
	}
	w.mu.Unlock()
	if quiet {
		time.Sleep(10 * time.Millisecond)
		return
	}
	w.log.Error("storage engine could not write in the background and tries again", "dir", w.dir, "err", err)
}
