package registrar

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// queue is the operations that no batch has yet, bounded.
type queue struct {
	mu      sync.Mutex
	waiting []*Pending
	// ops and bytes count what was submitted and not yet decided: waiting,
	// and what the writer took from it but has not come to.
	ops   int
	bytes int64
	// closed is why nothing more is taken, once it is not nil.
	closed error

	maxOps   int
	maxBytes int64
	// asleep says that the writer waits for wake, which has room for the one
	// call that ends this.
	asleep bool
	wake   chan struct{}
}

func (q *queue) add(p *Pending, opened time.Time) error {
	p.at = time.Since(opened)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed != nil:
		return q.closed
	case q.ops >= q.maxOps:
		return notApplied(fmt.Errorf("%w: %d operations, the bound is %d", ErrOverloaded, q.ops, q.maxOps))
	case p.size > q.maxBytes:
		return notApplied(fmt.Errorf("%w: it holds %d bytes, and all that wait may hold %d", ErrTooLarge, p.size, q.maxBytes))
	case q.bytes+p.size > q.maxBytes:
		return notApplied(fmt.Errorf("%w: %d bytes, the bound is %d", ErrOverloaded, q.bytes, q.maxBytes))
	}
	q.ops++
	q.bytes += p.size
	q.waiting = append(q.waiting, p)
	q.rouse()
	return nil
}

// rouse wakes the writer if it sleeps. q.mu is held.
func (q *queue) rouse() {
	if q.asleep {
		q.asleep = false
		q.wake <- struct{}{}
	}
}

// looks is how often the writer looks for more before it sleeps, a few
// microseconds in all. In a storm the next operation is there by then, and
// waking somebody costs its caller more than submitting it does.
const looks = 32

// take hands over everything that waits, for an empty slice to go on with. It
// reports false when nothing waits and nothing will.
func (q *queue) take(empty []*Pending) (taken []*Pending, open bool) {
	for look := 1; ; look++ {
		q.mu.Lock()
		if len(q.waiting) > 0 || q.closed != nil {
			taken, q.waiting = q.waiting, empty
			q.mu.Unlock()
			return taken, len(taken) > 0
		}
		q.asleep = look%looks == 0
		sleep := q.asleep
		q.mu.Unlock()
		if sleep {
			<-q.wake
		} else {
			runtime.Gosched()
		}
	}
}

// decided gives room for as many operations and bytes again.
func (q *queue) decided(ops int, bytes int64) {
	q.mu.Lock()
	q.ops -= ops
	q.bytes -= bytes
	q.mu.Unlock()
}

// close makes every later add return reason; the first reason stays.
func (q *queue) close(reason error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = reason
	}
	q.rouse()
}

func (q *queue) len() (ops int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ops, q.bytes
}
