package registrar

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
)

const (
	// chunkBytes is the size of a checkpoint's chunks, pace how long the
	// checkpointer rests after each while the engine runs: batches under way
	// should not notice it.
	chunkBytes = 256 << 10
	pace       = 2 * time.Millisecond
	// closeBytes is how much log there must be for Close to write a
	// checkpoint: less is read back in a few milliseconds.
	closeBytes = 256 << 10
)

// checkpoints knows when the next is due.
type checkpoints struct {
	least int64
	wake  chan struct{} // has room for one
	done  chan struct{} // closed when the checkpointer has ended

	size   atomic.Int64 // of the last checkpoint
	logged atomic.Int64 // point.logged at the last checkpoint; negative for what was replayed

	// Only the checkpointer, and after it Close, use it.
	last store.Mark
}

func (c *checkpoints) start(found Recovery, least int64) {
	c.least, c.last = least, found.Checkpoint
	c.wake, c.done = make(chan struct{}, 1), make(chan struct{})
	c.size.Store(found.CheckpointBytes)
	c.logged.Store(found.CheckpointBytes - found.Bytes)
}

// due wakes the checkpointer if the log has outgrown the last checkpoint.
func (c *checkpoints) due(logged int64) {
	if logged-c.logged.Load() < max(c.least, c.size.Load()) {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// checkpointing is the checkpointer; it ends with r.lifetime.
func (r *Registrar) checkpointing() {
	defer close(r.checkpoints.done)
	for {
		select {
		case <-r.checkpoints.wake:
			r.checkpoint(r.lifetime, pace)
		case <-r.lifetime.Done():
			return
		}
	}
}

// checkpoint writes one from the current registry, which is immutable: the
// writer is not held up. A failure is not the engine's end, since every record
// is still there; it is tried again once the log has grown as much again.
func (r *Registrar) checkpoint(ctx context.Context, pace time.Duration) {
	c, cur, start := &r.checkpoints, r.current.Load(), time.Now()
	if cur.logged-c.logged.Load() < min(c.least, closeBytes) {
		return // woken twice for one
	}
	size := int64(0)
	err := r.store.Compact(ctx, cur.mark, cur.paced(ctx, pace, &size), c.last.Seq)
	if ctx.Err() != nil && err != nil {
		return // Close came; it decides anew
	}
	c.logged.Store(cur.logged)
	if err != nil {
		r.stats.checkpoint(false)
		r.options.Logger.Warn("checkpoint not written; the log grows until one is", "seq", cur.mark.Seq, "err", err)
		return
	}
	c.size.Store(size)
	c.last = cur.mark
	r.stats.checkpoint(true)
	r.options.Logger.Info("checkpoint written", "seq", cur.mark.Seq, "revision", cur.mark.Revision, "bytes", size, "took", time.Since(start))
}

// paced yields the chunks of the registry with a rest after each, until ctx
// ends: then without, so that a store that goes on is soon done.
func (p *point) paced(ctx context.Context, pace time.Duration, size *int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		timer := time.NewTimer(pace)
		defer timer.Stop()
		for chunk := range p.registry.Chunks(chunkBytes) {
			*size += int64(len(chunk))
			if !yield(chunk) {
				return
			}
			if pace > 0 {
				timer.Reset(pace)
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
			}
		}
	}
}

// lastCheckpoint writes one at Close if there is much log to replay without it.
func (r *Registrar) lastCheckpoint() {
	c := &r.checkpoints
	if r.current.Load().logged-c.logged.Load() > max(closeBytes, c.size.Load()/8) {
		r.checkpoint(context.Background(), 0)
	}
}
