package registrar

import (
	"fmt"
	"sync/atomic"
	"time"
)

// firstHungAfter is how many times as long as any other the first record of an
// epoch may take: the store may have a log to write into tables before it.
const firstHungAfter = 30

// watchdog knows the oldest batch that is not durable, and gives up on a disk
// that does not answer: a write that hangs returns no error.
type watchdog struct {
	appending atomic.Pointer[batch] // which the writer is handing to the store
	waiting   atomic.Pointer[batch] // for which the publisher waits
	abandoned chan struct{}         // closed when all that was under way is answered in the publisher's place
}

// oldest is for how long the store has had the oldest batch that is not
// durable; 0 if there is none.
func (w *watchdog) oldest() time.Duration {
	b := w.waiting.Load()
	if b == nil {
		b = w.appending.Load()
	}
	if b == nil {
		return 0
	}
	return time.Since(b.began)
}

// guard calls bark once the store has had b for too long, unless it is called
// off before.
func (r *Registrar) guard(b *batch, bark func(cause error)) (callOff func() bool) {
	limit := r.options.HungAfter
	if b.first() {
		limit = max(limit, limit*firstHungAfter) // which overflows for a limit of centuries
	}
	return time.AfterFunc(limit-time.Since(b.began), func() {
		bark(fmt.Errorf("record %d is not durable after %v: the disk does not answer", b.next.mark.Seq, limit))
	}).Stop
}

// giveUp stops the engine, unless the publisher has b back just now. It answers
// all batches under way in place of the publisher, which waits for b, until the
// writer has ended.
func (r *Registrar) giveUp(b *batch, cause error) {
	b.hung = cause
	if !b.settle() {
		return
	}
	r.fail(cause)
	b.abandon(unknown(cause), cause)
	for b := range r.inFlight {
		b.abandon(unknown(cause), cause)
	}
	close(r.watchdog.abandoned)
}

// settle decides between publisher and watchdog: whoever is first answers.
func (b *batch) settle() bool { return b.settled.CompareAndSwap(false, true) }

// first says that this is the record which begins the epoch.
func (b *batch) first() bool { return len(b.pending) == 0 }
