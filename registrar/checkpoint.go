package registrar

import (
	"context"
	"fmt"
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
	wake  chan struct{}     // has room for one
	asked chan chan<- error // by Checkpoint; each gets one answer
	done  chan struct{}     // closed when the checkpointer has ended

	size   atomic.Int64 // of the last checkpoint
	at     atomic.Int64 // when that was written, since the registrar was opened
	failed atomic.Bool  // the last try
	logged atomic.Int64 // point.logged at the last try; negative for what was replayed
	// covered is point.logged at the last checkpoint.
	covered atomic.Int64

	// Only the checkpointer, and after it Close, use it.
	last store.Mark
}

func (c *checkpoints) start(found Recovery, least int64) {
	c.least, c.last = least, found.Checkpoint
	c.wake, c.asked, c.done = make(chan struct{}, 1), make(chan chan<- error), make(chan struct{})
	c.size.Store(found.CheckpointBytes)
	c.logged.Store(found.CheckpointBytes - found.Bytes)
	c.covered.Store(found.CheckpointBytes - found.Bytes)
}

// due wakes the checkpointer if the log has outgrown the last checkpoint.
func (c *checkpoints) due(logged int64) {
	if !c.isDue(logged) {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *checkpoints) isDue(logged int64) bool {
	return logged-c.logged.Load() >= max(c.least, c.size.Load())
}

// behind is how many bytes of records came after the last checkpoint, and the
// size of that.
func (c *checkpoints) behind(logged int64) (bytes, size int64) {
	return logged - c.covered.Load(), c.size.Load()
}

// Checkpoint writes a checkpoint of what is visible now, at the leisure of
// those that the engine writes by itself, and waits for it: a later opening
// reads that and no more of the log. There is seldom a need; Close writes one
// too where it is worth it. An error harms nothing, and is the store's, or
// [ErrClosed]. If ctx ends first, the checkpoint goes on.
func (r *Registrar) Checkpoint(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case r.checkpoints.asked <- answer:
	case <-r.lifetime.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// checkpointing is the checkpointer; it ends with r.lifetime.
func (r *Registrar) checkpointing() {
	defer close(r.checkpoints.done)
	for {
		select {
		case <-r.checkpoints.wake:
			if r.checkpoints.isDue(r.current.Load().logged) {
				r.checkpoint(r.lifetime, pace)
			}
		case answer := <-r.checkpoints.asked:
			answer <- r.checkpoint(r.lifetime, pace)
		case <-r.lifetime.Done():
			return
		}
	}
}

// checkpoint writes one from the current registry, which is immutable: the
// writer is not held up. A failure is not the engine's end, since every record
// is still there; it is tried again once the log has grown as much again.
func (r *Registrar) checkpoint(ctx context.Context, pace time.Duration) error {
	c, cur, start := &r.checkpoints, r.current.Load(), time.Now()
	if cur.mark.Seq == c.last.Seq {
		return nil
	}
	size := int64(0)
	chunks := r.paced(ctx, cur, pace, &size)
	err := r.store.Compact(ctx, cur.mark, chunks, r.keepAfter(ctx, cur))
	if ctx.Err() != nil && err != nil {
		return ErrClosed // it decides anew
	}
	c.logged.Store(cur.logged)
	if err != nil {
		c.failed.Store(true)
		r.stats.checkpoint(false)
		r.options.Logger.Warn("checkpoint not written; the log grows until one is", "seq", cur.mark.Seq, "err", err)
		return fmt.Errorf("write checkpoint: %w", err)
	}
	c.size.Store(size)
	c.covered.Store(cur.logged)
	c.failed.Store(false)
	c.at.Store(int64(time.Since(r.opened)))
	c.last = cur.mark
	r.retention.checkpoints += size
	r.stats.checkpoint(true)
	r.options.Logger.Info("checkpoint written", "seq", cur.mark.Seq, "revision", cur.mark.Revision, "bytes", size, "took", time.Since(start))
	return nil
}

// paced yields the chunks with a rest after each, until ctx ends: then without,
// so that a store that goes on is soon done.
func (r *Registrar) paced(ctx context.Context, p *point, pace time.Duration, size *int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		timer := time.NewTimer(pace)
		defer timer.Stop()
		for chunk := range r.image(p).Chunks() {
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
		_ = r.checkpoint(context.Background(), 0) // logged; every record is there
	}
}
