package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff draws the pauses before connections.
type backoff struct {
	first, most time.Duration
	failures    int
}

// next is at random between 0 and a bound that doubles with each failure.
func (b *backoff) next() time.Duration {
	bound := min(b.first, b.most)
	for range b.failures {
		if bound >= b.most {
			break
		}
		bound = min(2*bound, b.most)
	}
	if bound <= 0 {
		return 0
	}
	return rand.N(bound)
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
