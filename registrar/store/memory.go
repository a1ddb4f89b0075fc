package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Memory is a [Store] that lives and dies with the process: for tests, and
// for a registrar whose agents register again anyway. Make one with
// [NewMemory].
//
// What was closed can be opened again, as a directory could:
//
//	m := store.NewMemory()
//	… use and close it …
//	m = m.Reopen() // the same records
type Memory struct {
	held *held

	mu     sync.Mutex
	closed bool
}

// held is what outlives a Memory that is closed.
type held struct {
	mu          sync.Mutex
	history     HistoryID
	last        Mark
	oldest      Mark     // the place before the first record kept
	records     []Record // those after oldest; never changed once in here
	checkpoints []checkpoint
}

type checkpoint struct {
	mark   Mark
	chunks [][]byte
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store with a history of its own.
func NewMemory() *Memory {
	h := &held{}
	rand.Read(h.history[:])
	h.history[6] = h.history[6]&0x0f | 0x40 // a random UUID
	h.history[8] = h.history[8]&0x3f | 0x80
	return &Memory{held: h}
}

// Reopen closes m and returns a store that holds what m held.
func (m *Memory) Reopen() *Memory {
	_ = m.Close()
	return &Memory{held: m.held}
}

// Identity returns the history and the epoch of the last record.
func (m *Memory) Identity() Identity {
	m.held.mu.Lock()
	defer m.held.mu.Unlock()
	return Identity{History: m.held.history, Epoch: m.held.last.Epoch}
}

// Append keeps a copy of r, which is as durable as it will ever be.
func (m *Memory) Append(r Record) (durable func() error, err error) {
	if err := m.open(); err != nil {
		return nil, fmt.Errorf("append record %d: %w", r.Seq, err)
	}
	if err := m.held.append(r); err != nil {
		return nil, fmt.Errorf("append record %d: %w", r.Seq, err)
	}
	return func() error { return nil }, nil
}

func (h *held) append(r Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.Seq != h.last.Seq+1:
		return fmt.Errorf("the last record is %d", h.last.Seq)
	case r.Epoch < h.last.Epoch:
		return fmt.Errorf("its epoch %d is over, the last is %d", r.Epoch, h.last.Epoch)
	case r.First != h.last.Revision+1 || r.Revision+1 < r.First:
		return fmt.Errorf("its revisions %d to %d do not follow revision %d", r.First, r.Revision, h.last.Revision)
	}
	r.Data = slices.Clone(r.Data)
	h.records = append(h.records, r)
	h.last = r.Mark
	return nil
}

// Records yields the records after seq that were there when it began.
func (m *Memory) Records(ctx context.Context, after uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		records, err := m.after(after)
		for _, r := range records {
			if err = m.mayRead(ctx); err != nil {
				break
			}
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(Record{}, fmt.Errorf("read records after %d: %w", after, err))
		}
	}
}

func (m *Memory) after(seq uint64) ([]Record, error) {
	if err := m.open(); err != nil {
		return nil, err
	}
	h := m.held
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case seq >= h.last.Seq:
		return nil, nil
	case seq < h.oldest.Seq:
		return nil, &CompactedError{What: fmt.Sprintf("records after %d", seq), Oldest: h.oldest}
	}
	return h.records[seq-h.oldest.Seq:], nil
}

// Checkpoint returns the newest checkpoint that covers nothing after atMost.
func (m *Memory) Checkpoint(ctx context.Context, atMost uint64) (Mark, iter.Seq2[[]byte, error], error) {
	none := func(func([]byte, error) bool) {}
	if err := m.mayRead(ctx); err != nil {
		return Mark{}, none, fmt.Errorf("read checkpoint: %w", err)
	}
	m.held.mu.Lock()
	defer m.held.mu.Unlock()
	for _, c := range slices.Backward(m.held.checkpoints) {
		if c.mark.Revision <= atMost {
			return c.mark, m.read(ctx, c), nil
		}
	}
	if m.held.oldest.Seq > 0 {
		return Mark{}, none, &CompactedError{What: fmt.Sprintf("revision %d", atMost), Oldest: m.held.oldest}
	}
	return Mark{}, none, nil
}

func (m *Memory) read(ctx context.Context, c checkpoint) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, data := range c.chunks {
			if err := m.mayRead(ctx); err != nil {
				yield(nil, fmt.Errorf("read checkpoint %d: %w", c.mark.Seq, err))
				return
			}
			if !yield(data, nil) {
				return
			}
		}
	}
}

// Places lists the checkpoints.
func (m *Memory) Places() []Place {
	m.held.mu.Lock()
	defer m.held.mu.Unlock()
	places := make([]Place, len(m.held.checkpoints))
	for i, c := range m.held.checkpoints {
		places[i].Mark = c.mark
		for _, chunk := range c.chunks {
			places[i].Bytes += int64(len(chunk))
		}
	}
	return places
}

// Oldest is the place before the first record kept.
func (m *Memory) Oldest() Mark {
	m.held.mu.Lock()
	defer m.held.mu.Unlock()
	return m.held.oldest
}

// Compact keeps a copy of the chunks, and lets go of what [Store] says.
func (m *Memory) Compact(ctx context.Context, covers Mark, chunks iter.Seq[[]byte], keepAfter uint64) error {
	c := checkpoint{mark: covers}
	err := m.held.mayCover(covers)
	for data := range chunks {
		if err == nil {
			err = m.mayRead(ctx)
		}
		if err != nil {
			break
		}
		c.chunks = append(c.chunks, slices.Clone(data))
	}
	if err == nil {
		err = m.mayRead(ctx)
	}
	if err == nil {
		err = m.held.compact(c, keepAfter)
	}
	if err != nil {
		return fmt.Errorf("store checkpoint %d: %w", covers.Seq, err)
	}
	return nil
}

func (h *held) mayCover(m Mark) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mayCoverLocked(m)
}

func (h *held) mayCoverLocked(m Mark) error {
	if m.Seq == 0 || m.Seq > h.last.Seq {
		return fmt.Errorf("the last durable record is %d", h.last.Seq)
	}
	if n := len(h.checkpoints); n > 0 && h.checkpoints[n-1].mark.Seq >= m.Seq && h.checkpoints[n-1].mark != m {
		return fmt.Errorf("checkpoint %d is there already", h.checkpoints[n-1].mark.Seq)
	}
	return nil
}

func (h *held) compact(c checkpoint, keepAfter uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.mayCoverLocked(c.mark); err != nil {
		return err
	}
	n := len(h.checkpoints)
	if n == 0 || h.checkpoints[n-1].mark != c.mark {
		h.checkpoints = append(h.checkpoints, c)
	}
	if n = len(h.checkpoints); n < 2 {
		return nil
	}
	limit := min(keepAfter, h.checkpoints[n-2].mark.Seq)
	older := 0
	for older+1 < n && h.checkpoints[older+1].mark.Seq <= limit {
		older++
	}
	h.checkpoints = slices.Clone(h.checkpoints[older:])
	if base := h.checkpoints[0].mark; base.Seq <= limit && base.Seq > h.oldest.Seq {
		h.records = slices.Clone(h.records[base.Seq-h.oldest.Seq:])
		h.oldest = base
	}
	return nil
}

// Close ends the use of m; iterations under way end with [ErrClosed].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *Memory) open() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return nil
}

func (m *Memory) mayRead(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.open()
}
