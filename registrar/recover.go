package registrar

import (
	"context"
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
// Its errors are those of the store, [*registry.CorruptError],
// [*MismatchError], [registry.ErrVersion], or the end of ctx.
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
	data, err := parseRecord(&l.reader, rec.Data)
	if err != nil {
		return fmt.Errorf("record %d: %w", rec.Seq, err)
	}
	before := l.found.Mark
	switch {
	case data.history != l.found.Identity.History:
		return fmt.Errorf("record %d belongs to history %v, the store to %v", rec.Seq, data.history, l.found.Identity.History)
	case data.epoch != rec.Epoch || rec.Epoch < before.Epoch:
		return fmt.Errorf("record %d of epoch %d says epoch %d, after epoch %d", rec.Seq, rec.Epoch, data.epoch, before.Epoch)
	case rec.First != before.Revision+1 || rec.Revision != before.Revision+data.changed:
		return fmt.Errorf("record %d has revisions %d to %d for %d operations, after revision %d",
			rec.Seq, rec.First, rec.Revision, data.changed, before.Revision)
	}
	if err := l.draft.Redo(data.rows, rec.Revision); err != nil {
		return fmt.Errorf("record %d: %w", rec.Seq, err)
	}
	l.found.Records++
	l.found.Bytes += int64(len(rec.Data))
	return l.reached("record", rec.Mark)
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
