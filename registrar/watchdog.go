package registrar

import (
	"fmt"
	"sync/atomic"
	"time"
)

// watchdog knows the oldest batch that is not durable, and gives up on a disk
// that does not answer: a write that hangs returns no error.
type watchdog struct {
	appending atomic.Pointer[batch] // which the writer is handing to the store
	waiting   atomic.Pointer[batch] // for which the publisher waits
	abandoned chan struct{}         // closed when all that was under way is answered in the publisher's place
	done      chan struct{}         // closed when its goroutine has ended
}

func (w *watchdog) init() {
	w.abandoned, w.done = make(chan struct{}), make(chan struct{})
}

// oldest is the oldest batch that the store has and did not make durable, and
// for how long it has it.
func (w *watchdog) oldest() (b *batch, age time.Duration) {
	if b = w.waiting.Load(); b == nil {
		b = w.appending.Load()
	}
	if b == nil {
		return nil, 0
	}
	return b, time.Since(b.began)
}

// watch is the watchdog's goroutine; it ends with r.lifetime, or once it has
// given up.
func (r *Registrar) watch() {
	defer close(r.watchdog.done)
	const looks = 20 // until it gives up
	tick := time.NewTicker(max(r.options.HungAfter/looks, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.lifetime.Done():
			return
		}
		if b, age := r.watchdog.oldest(); age >= r.options.HungAfter && !b.first() && r.giveUp(b, age) {
			return
		}
	}
}

// giveUp stops the engine. It answers all batches under way in place of the
// publisher, which waits for the first of them, until the writer has ended. It
// reports false if it cannot: the batch came just now, or the writer still has it.
func (r *Registrar) giveUp(b *batch, age time.Duration) bool {
	cause := fmt.Errorf("record %d is not durable after %v: the disk does not answer", b.next.mark.Seq, age.Round(time.Millisecond))
	if b != r.watchdog.waiting.Load() {
		r.fail(cause) // once; the writer says what becomes of it
		return false
	}
	if !b.settle() {
		return false
	}
	r.fail(cause)
	b.abandon(unknown(cause), cause)
	for b := range r.inFlight {
		b.abandon(unknown(cause), cause)
	}
	close(r.watchdog.abandoned)
	return true
}

// settle decides between publisher and watchdog: whoever is first answers.
func (b *batch) settle() bool { return b.settled.CompareAndSwap(false, true) }

// first says that this is the record which begins the epoch. It may take as long
// as it needs: the store may have a log to write into tables before it.
func (b *batch) first() bool { return len(b.pending) == 0 }
