package registrar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// Logged is an operation as the log tells of it: what it changed, when, by
// whom and why.
type Logged struct {
	// Record is the place of the record that it stands in, At when that was
	// decided, by the wall clock of the writer.
	Record store.Mark
	At     time.Time
	// Revision is that of the registry after it.
	Revision uint64
	// RequestID, Principal and Reason are those of its [Request].
	RequestID, Principal, Reason string
	// Refusal is why it was refused, if it was. One that changed nothing is
	// told of only if it has a request ID.
	Refusal string
	// Rows is what it changed, for [registry.Draft.Redo] and
	// [registry.Changes]; nil if that is nothing. It is the caller's.
	Rows []byte
}

// Log yields the operations of a store from this revision on, in order: the one
// that took the registry to it, and all later ones; from 0 on, all that are
// kept. It reads about a megabyte at a time, and keeps nothing of the store
// busy while its caller works. An error is the end: [store.ErrCompacted] if the
// revision was let go, otherwise those of [Load].
func Log(ctx context.Context, s store.Store, from uint64) iter.Seq2[Logged, error] {
	return func(yield func(Logged, error) bool) {
		l, err := newLogReader(s, from)
		if err != nil {
			yield(Logged{}, fmt.Errorf("read the log from revision %d: %w", from, err))
			return
		}
		l.each(ctx, math.MaxUint64, func(o Logged, err error) bool {
			return err == nil && o.Revision < from || yield(o, err)
		})
	}
}

// ErrReplaced says that a store does not have a record that was read from it
// before: a copy was put back in its place, or it is another store.
var ErrReplaced = errors.New("the store was replaced by another, or by a copy of its own past")

// LogAfter does what [Log] does from the end of a record on, that of an
// operation that was yielded before; the zero value is before all. It is
// [ErrReplaced] if the store ends before that record, or has another one there:
// of another time, epoch or revision, or that led to another content of the
// registry.
func LogAfter(ctx context.Context, s store.Store, told Logged) iter.Seq2[Logged, error] {
	return func(yield func(Logged, error) bool) {
		if err := holds(ctx, s, told); err != nil {
			yield(Logged{}, fmt.Errorf("read the log after record %d (revision %d): %w", told.Record.Seq, told.Record.Revision, err))
			return
		}
		l := &logReader{s: s, at: told.Record, known: true}
		l.each(ctx, math.MaxUint64, yield)
	}
}

// holds fails unless the store has the record that was told of.
func holds(ctx context.Context, s store.Store, told Logged) error {
	place := told.Record
	if place.Seq == 0 {
		return nil
	}
	for rec, err := range s.Records(ctx, place.Seq-1) {
		switch {
		case errors.Is(err, store.ErrCompacted): // unless it is where a checkpoint is
			for _, p := range s.Places() {
				if p.Seq == place.Seq {
					return unchanged(place, p.Mark)
				}
			}
			return err
		case err != nil:
			return err
		}
		if err := unchanged(place, rec.Mark); err != nil {
			return err
		}
		data, err := parseRecord(new(pack.Reader), rec.Data)
		switch {
		case err != nil:
			return &RecordError{Seq: rec.Seq, Err: err}
		case !data.stamp.Equal(told.At): // what else led there
			return fmt.Errorf("%w: record %d was decided at %v, and is of %v", ErrReplaced, rec.Seq, told.At, data.stamp)
		}
		return nil
	}
	return fmt.Errorf("%w: there is no record %d", ErrReplaced, place.Seq)
}

// unchanged compares what a record amounted to with what it does now.
func unchanged(was, is store.Mark) error {
	if was == is {
		return nil
	}
	return fmt.Errorf("%w: it was of epoch %d, with digest %x, and is of epoch %d, at revision %d, with digest %x",
		ErrReplaced, was.Epoch, was.Digest, is.Epoch, is.Revision, is.Digest)
}

// Log yields the operations that are visible when it begins, as the function
// [Log] does.
func (r *Registrar) Log(ctx context.Context, from uint64) iter.Seq2[Logged, error] {
	return func(yield func(Logged, error) bool) {
		end := r.current.Load().mark.Seq
		for o, err := range Log(ctx, r.store, from) {
			if err == nil && o.Record.Seq > end || !yield(o, err) {
				return
			}
		}
	}
}

// logReader reads the log piece by piece, so that no iteration of the store is
// open while the caller works: that would pin what the store would let go of,
// and hold up who closes it.
type logReader struct {
	s     store.Store
	at    store.Mark // behind the last record that was read
	known bool       // at is; of a place where everything before was let go only its number may be
}

// newLogReader begins before the operation that led to a revision, at a
// checkpoint, which need not be read for that.
func newLogReader(s store.Store, revision uint64) (*logReader, error) {
	oldest := s.Oldest()
	if revision == 0 {
		return &logReader{s: s, at: oldest, known: oldest.Seq == 0 || oldest.Revision > 0}, nil
	}
	at, found := store.Mark{}, oldest.Seq == 0
	for _, p := range s.Places() {
		if p.Revision < revision && p.Seq >= oldest.Seq {
			at, found = p.Mark, true
		}
	}
	if !found {
		return nil, &store.CompactedError{What: fmt.Sprintf("the operation that led to revision %d", revision), Oldest: oldest}
	}
	return &logReader{s: s, at: at, known: true}, nil
}

// each yields every operation up to this record.
func (l *logReader) each(ctx context.Context, to uint64, yield func(Logged, error) bool) {
	for more := true; more; {
		var piece []Logged
		var err error
		piece, more, err = l.next(ctx, to)
		for _, o := range piece {
			if !yield(o, nil) {
				return
			}
		}
		if err != nil {
			yield(Logged{}, err)
			return
		}
	}
}

// ahead is about how many bytes of records are read at a time.
const ahead = 1 << 20

// next reads whole records, up to this one, and says whether there may be more.
func (l *logReader) next(ctx context.Context, to uint64) (piece []Logged, more bool, err error) {
	size := 0
	for rec, err := range l.s.Records(ctx, l.at.Seq) {
		switch {
		case err != nil:
			return piece, false, err
		case rec.Seq > to:
			return piece, false, nil
		case size > ahead:
			return piece, true, nil
		}
		if piece, err = l.record(rec, piece); err != nil {
			return piece, false, &RecordError{Seq: rec.Seq, Err: err}
		}
		size += len(rec.Data)
	}
	return piece, false, nil
}

// record adds what one record tells of.
func (l *logReader) record(rec store.Record, piece []Logged) ([]Logged, error) {
	if !l.known {
		l.at.Revision, l.known = rec.First-1, true
	}
	data, err := parseRecord(new(pack.Reader), rec.Data)
	if err == nil {
		err = data.follows(l.at, rec, l.s.Identity())
	}
	if err != nil {
		return piece, err
	}
	rows, err := registry.ReadRows(data.rows)
	if err != nil {
		return piece, err
	}
	revision := rec.Revision - data.changed
	for t := range data.operations() {
		o := Logged{
			Record: rec.Mark, At: data.stamp, Refusal: t.refusal.text,
			RequestID: t.by.requestID, Principal: t.by.principal, Reason: t.by.reason,
		}
		if t.rows > 0 {
			revision++
			part, err := rows.Take(t.rows)
			if err != nil {
				return piece, err
			}
			o.Rows = bytes.Clone(part)
		}
		o.Revision = revision
		piece = append(piece, o)
	}
	l.at = rec.Mark
	return piece, rows.End()
}
