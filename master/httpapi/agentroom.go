package httpapi

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// smallRecord is the most bytes of a record that needs no room: what agents say
// from day to day, and most of what they say when they come back.
const smallRecord = 64 << 10

var errNoRoom = errors.New("the master is receiving as many large records as it takes")

// agentRoom bounds the bytes of large records that are being received and
// decoded, over all streams. Decoded, a record may be several times as long.
type agentRoom struct {
	size int64
	free *semaphore.Weighted
}

func newAgentRoom(size int) *agentRoom {
	return &agentRoom{int64(size), semaphore.NewWeighted(int64(size))}
}

// take waits until there is room for a record of n bytes, which give gives back;
// one that is longer than all the room has it for itself. It returns errNoRoom
// when patience or the context ends first.
func (r *agentRoom) take(ctx context.Context, n int, patience time.Duration) (give func(), err error) {
	if n <= smallRecord {
		return func() {}, nil
	}
	weight := min(int64(n), r.size)
	if !r.free.TryAcquire(weight) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if r.free.Acquire(ctx, weight) != nil {
			return nil, errNoRoom
		}
	}
	return func() { r.free.Release(weight) }, nil
}
