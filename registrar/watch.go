package registrar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// Position is a place that a watcher has come to. The zero value is nowhere.
type Position struct {
	History  store.HistoryID
	Revision uint64
}

// Event is one step of a watch.
type Event struct {
	// Position is where it leads to; a later watch can begin there.
	Position
	// Resync, if not nil, is the whole registry there, in place of all that
	// the watcher knows.
	Resync *registry.Registry
	// Operation led there, if Resync is nil; it changed something.
	Operation Logged
}

// Watch yields every durable change after a place, operation by operation and
// in order, and waits for more until ctx ends or the registrar does. Where it
// cannot go on from the place it is at, it goes on by itself with an event that
// holds the whole registry: the place is nowhere, of another history (another
// store, or the loss of records was accepted), not reached yet, or so far back
// that the records after it were let go (see Options.HistoryRecords). A store
// that was put back from a copy of its files cannot be told from the original:
// who followed it beyond the copy must begin from nowhere.
//
// To follow, redo Operation.Rows on a draft of what the last event led to.
//
// A watcher reads the log from the store by itself, about a megabyte at a time.
// It never holds up the writer, and a slow one takes no more memory.
//
// The error is the last: of ctx, [ErrClosed], [ErrFailed], or of a store that
// cannot be read.
func (r *Registrar) Watch(ctx context.Context, from Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := watcher{r: r, history: r.recovery.Identity.History}
		w.begin(from)
		for {
			events, err := w.next(ctx)
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("watch after revision %d: %w", w.seen, err))
				return
			}
		}
	}
}

// watcher is a watch under way.
type watcher struct {
	r       *Registrar
	history store.HistoryID
	log     *logReader // nil: a resync is next
	seen    uint64     // the revision that the events led to
}

// begin finds the place in the log, if it can.
func (w *watcher) begin(from Position) {
	cur := w.r.current.Load().mark
	switch w.seen = from.Revision; {
	case from.History != w.history || from.Revision > cur.Revision:
	case from.Revision == cur.Revision:
		w.log = &logReader{s: w.r.store, at: cur, known: true}
	default: // nil if it was let go
		w.log, _ = newLogReader(w.r.store, from.Revision+1)
	}
}

// next waits for events.
func (w *watcher) next(ctx context.Context) ([]Event, error) {
	for {
		// In this order, so that nothing is missed that comes after the look.
		rung, ended := w.r.bell.next(), w.r.ended()
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		events, err := w.look(ctx)
		if len(events) > 0 || err != nil {
			return events, err
		}
		if ended != nil {
			return nil, ended
		}
		select {
		case <-rung:
		case <-w.r.published:
		case <-ctx.Done():
		}
	}
}

// look returns the events that are there, or none.
func (w *watcher) look(ctx context.Context) ([]Event, error) {
	cur := w.r.current.Load()
	for w.log != nil && w.log.at.Seq < cur.mark.Seq {
		events, err := w.read(ctx, cur.mark.Seq)
		switch {
		case errors.Is(err, store.ErrCompacted):
			w.log = nil
		case errors.Is(err, store.ErrClosed):
			return events, cmp.Or(w.r.ended(), ErrClosed)
		case len(events) > 0 || err != nil:
			return events, err
		}
	}
	if w.log != nil {
		return nil, nil
	}
	w.seen, w.log = cur.mark.Revision, &logReader{s: w.r.store, at: cur.mark, known: true}
	return []Event{{Position: Position{w.history, w.seen}, Resync: cur.registry}}, nil
}

// read reads a piece of the log up to this record: what changed something and
// was not seen.
func (w *watcher) read(ctx context.Context, to uint64) (events []Event, err error) {
	piece, _, err := w.log.next(ctx, to)
	for _, o := range piece {
		if o.Rows != nil && o.Revision > w.seen {
			w.seen = o.Revision
			events = append(events, Event{Position: Position{w.history, w.seen}, Operation: o})
		}
	}
	return events, err
}

// ended is why there will be no more events, once that is so.
func (r *Registrar) ended() error {
	select {
	case <-r.published:
	default:
		return nil
	}
	if err := r.failure(); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return ErrClosed
}

// bell wakes all who wait for it, again and again. The zero value is ready.
type bell struct {
	mu   sync.Mutex
	wait chan struct{} // nil while nobody waits
}

// next is closed when the bell is rung next.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait == nil {
		b.wait = make(chan struct{})
	}
	return b.wait
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait != nil {
		close(b.wait)
		b.wait = nil
	}
}
