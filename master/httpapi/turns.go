package httpapi

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// maxHold is how long an answer keeps its turn. It is some times what the largest
// takes; whoever reads more slowly waits for his network, and takes nothing from
// the others meanwhile.
const maxHold = 250 * time.Millisecond

// turns lets few big answers be made and sent at once, and the others wait: on
// busy cores they are all done as soon, and who asks little need not wait for
// them.
type turns struct{ free *semaphore.Weighted }

func newTurns() turns {
	return turns{semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))}
}

// take waits for a turn, which ends when done is called, or after maxHold.
func (t turns) take(ctx context.Context) (done func(), err error) {
	if err := t.free.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	release := sync.OnceFunc(func() { t.free.Release(1) })
	timer := time.AfterFunc(maxHold, release)
	return func() { timer.Stop(); release() }, nil
}
