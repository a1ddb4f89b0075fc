package httpapi

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxHold is how long an answer keeps its turn while it is sent: some times what
	// the largest takes.
	maxHold = 250 * time.Millisecond
	// maxStall is how long a piece of it may take. Whoever reads more slowly waits for
	// his network, and takes nothing from the others meanwhile.
	maxStall = 5 * time.Millisecond
)

// turns lets few big answers be made and sent at once, and the others wait: on
// busy cores they are all done as soon, and who asks little need not wait for
// them.
type turns struct{ free *semaphore.Weighted }

func newTurns() turns {
	return turns{semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))}
}

// turn is one of them. The zero value is of an answer that needs none.
type turn struct {
	release func()
	sending time.Time
	stall   *time.Timer
}

// take waits for a turn, which ends with its end.
func (t turns) take(ctx context.Context) (*turn, error) {
	if err := t.free.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return &turn{release: sync.OnceFunc(func() { t.free.Release(1) })}, nil
}

// end gives the turn back, if that was not done before.
func (t *turn) end() {
	if t.release != nil {
		t.release()
	}
}

// piece sends a piece of the answer, and gives the turn back if the client is slow.
func (t *turn) piece(send func()) {
	if t.release == nil {
		send()
		return
	}
	if t.stall == nil {
		t.sending, t.stall = time.Now(), time.AfterFunc(maxStall, t.release)
	} else {
		t.stall.Reset(maxStall)
	}
	send()
	t.stall.Stop()
	if time.Since(t.sending) > maxHold {
		t.release()
	}
}
