package registrar

import (
	"math/bits"
	"sync"
	"time"
)

// Stats counts what a registrar has done since it was opened. It is a copy.
type Stats struct {
	// QueuedOperations and QueuedBytes wait for a batch now.
	QueuedOperations int
	QueuedBytes      int64

	// Applied, Unchanged and Refused count the operations that were answered
	// so, and Repeated those that got the answer of an earlier request;
	// together they are all that batches took, but for those of a batch that
	// failed.
	Applied, Unchanged, Refused, Repeated uint64
	// Batches were answered; Records of them had something to tell and were
	// written, Bytes long in all.
	Batches, Records uint64
	Bytes            uint64
	// Checkpoints were written; CheckpointFailures were not.
	Checkpoints, CheckpointFailures uint64

	// NoRoom counts the operations that were refused because the disk is full,
	// SlowBatches the batches that took longer than Options.SlowAfter.
	NoRoom, SlowBatches uint64

	// Seq, Epoch and Revision are the last that became durable.
	Seq, Epoch, Revision uint64

	// Operations and BatchBytes have, for each batch, its operations and the
	// bytes of its record.
	Operations, BatchBytes Histogram
	// The stages of a batch, in nanoseconds: how long its first operation
	// waited, deciding, handing the record to the store, waiting for the
	// disk, and answering.
	Queued, Decided, Written, Synced, Answered Histogram

	// Failed is why the engine stopped; nil while it runs.
	Failed error
}

// Histogram counts values by their size in powers of two.
type Histogram struct {
	// Buckets[i] counts the values from 2^(i-1) to 2^i - 1; Buckets[0] the zeros.
	Buckets    [64]uint64
	Count, Sum uint64
}

func (h *Histogram) observe(v uint64) {
	h.Buckets[min(bits.Len64(v), len(h.Buckets)-1)]++
	h.Count++
	h.Sum += v
}

func (h *Histogram) took(d time.Duration) { h.observe(uint64(max(d, 0))) }

// stages says where a batch spent its time.
type stages struct {
	queued, decided, written, synced, answered time.Duration
}

// statistics is the Stats that are counted; once a batch, under a lock.
type statistics struct {
	mu sync.Mutex
	Stats
}

func (s *statistics) committed(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range b.pending {
		switch {
		case p.repeated:
			s.Repeated++
		case p.err != nil:
			s.Refused++
		case p.result.Changed:
			s.Applied++
		default:
			s.Unchanged++
		}
	}
	s.Batches++
	if b.wait != nil {
		s.Records++
		s.Bytes += uint64(b.bytes)
		s.BatchBytes.observe(uint64(b.bytes))
		s.Written.took(b.stage.written)
		s.Synced.took(b.stage.synced)
	}
	s.Stats.Operations.observe(uint64(len(b.pending)))
	s.Queued.took(b.stage.queued)
	s.Decided.took(b.stage.decided)
}

func (s *statistics) answered(b *batch) {
	s.mu.Lock()
	s.Answered.took(b.stage.answered)
	s.mu.Unlock()
}

func (s *statistics) noRoom() {
	s.mu.Lock()
	s.NoRoom++
	s.mu.Unlock()
}

func (s *statistics) slow() {
	s.mu.Lock()
	s.SlowBatches++
	s.mu.Unlock()
}

func (s *statistics) checkpoint(ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.Checkpoints++
	} else {
		s.CheckpointFailures++
	}
}

// Stats returns what the registrar has done so far.
func (r *Registrar) Stats() Stats {
	r.stats.mu.Lock()
	s := r.stats.Stats
	r.stats.mu.Unlock()
	s.QueuedOperations, s.QueuedBytes = r.queue.len()
	mark := r.current.Load().mark
	s.Seq, s.Epoch, s.Revision = mark.Seq, mark.Epoch, mark.Revision
	s.Failed = r.failure()
	return s
}
