package registrar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// Recovery tells what an opening found in its store.
type Recovery struct {
	Identity store.Identity
	// Mark is the place recovered to.
	Mark store.Mark
	// Checkpoint is the place from which records were replayed; zero without one.
	Checkpoint store.Mark
	// Records is how many were replayed, Bytes what they and the checkpoint
	// took, CheckpointBytes the latter's part.
	Records                int
	Bytes, CheckpointBytes int64
	Took                   time.Duration
}

// Load reads the registry out of a store and proves it: the newest whole
// checkpoint, then every record after it, and after each of them the count and
// the digest that were written with it. It writes nothing, and leaves s open.
//
// Its errors are those of the store, [*RecordError], [*MismatchError], a
// [*registry.CorruptError] of a row of the checkpoint, [registry.ErrVersion], or
// the end of ctx.
func Load(ctx context.Context, s store.Store) (*registry.Registry, Recovery, error) {
	start := time.Now()
	l := loader{draft: registry.New().Draft(), found: Recovery{Identity: s.Identity()}}
	if err := l.checkpoint(ctx, s); err != nil {
		return nil, l.found, err
	}
	for rec, err := range s.Records(ctx, l.found.Mark.Seq) {
		if err == nil {
			err = l.record(rec)
		}
		if err != nil {
			return nil, l.found, fmt.Errorf("replay records after %d: %w", l.found.Mark.Seq, err)
		}
	}
	l.found.Took = time.Since(start)
	return l.draft.Freeze(), l.found, nil
}

type loader struct {
	draft  *registry.Draft
	reader pack.Reader
	found  Recovery
}

func (l *loader) checkpoint(ctx context.Context, s store.Store) error {
	mark, chunks, err := s.Checkpoint(ctx)
	if err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	l.draft.Reserve(mark.Count)
	for chunk, err := range chunks {
		if err == nil {
			err = l.draft.Redo(chunk, mark.Revision)
		}
		if err != nil {
			return fmt.Errorf("read the checkpoint at record %d: %w", mark.Seq, err)
		}
		l.found.CheckpointBytes += int64(len(chunk))
	}
	l.found.Checkpoint, l.found.Bytes = mark, l.found.CheckpointBytes
	return l.reached("checkpoint", mark)
}

func (l *loader) record(rec store.Record) error {
	switch err := l.replay(rec); {
	case errors.Is(err, registry.ErrVersion):
		return fmt.Errorf("record %d: %w", rec.Seq, err)
	case err != nil:
		return &RecordError{Seq: rec.Seq, Err: err}
	}
	l.found.Records++
	l.found.Bytes += int64(len(rec.Data))
	return l.reached("record", rec.Mark)
}

func (l *loader) replay(rec store.Record) error {
	data, err := parseRecord(&l.reader, rec.Data)
	if err != nil {
		return err
	}
	before := l.found.Mark
	switch {
	case data.history != l.found.Identity.History:
		return fmt.Errorf("it belongs to history %v, the store to %v", data.history, l.found.Identity.History)
	case data.epoch != rec.Epoch || rec.Epoch < before.Epoch:
		return fmt.Errorf("of epoch %d in the store, it says epoch %d, after epoch %d", rec.Epoch, data.epoch, before.Epoch)
	case rec.First != before.Revision+1 || rec.Revision != before.Revision+data.changed:
		return fmt.Errorf("it has revisions %d to %d for %d operations, after revision %d",
			rec.First, rec.Revision, data.changed, before.Revision)
	}
	return l.draft.Redo(data.rows, rec.Revision)
}

// reached holds the draft against what the store says it should be at mark.
func (l *loader) reached(place string, mark store.Mark) error {
	got := mark
	got.Revision, got.Count, got.Digest = l.draft.Revision(), l.draft.Count(), l.draft.Digest()
	if got != mark {
		return &MismatchError{Place: place, Want: mark, Got: got}
	}
	l.found.Mark = mark
	return nil
}

// RecordError says that a record cannot follow those before it, although the
// store holds it to be whole: its data is not what any version wrote, or is of
// another history, epoch or revision. Err says which; it is a
// [*registry.CorruptError] if a row is at fault. A record of a newer version is
// no RecordError but [registry.ErrVersion]. Retrying does not help: restore a
// backup, or find out from where the record came.
type RecordError struct {
	Seq uint64 // of the record
	Err error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("record %d: %v: the store is damaged, or mixed up with another; restore a backup", e.Seq, e.Err)
}

// Unwrap is what is wrong with the record.
func (e *RecordError) Unwrap() error { return e.Err }
