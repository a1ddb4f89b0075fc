package registrar

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	l := newLoader(s, math.MaxUint64, newRequests(Options{}.withDefaults().MaxRequests))
	return l.load(ctx, s)
}

// ErrNoRevision says that a registry has not come to a revision yet, or that it
// was left out: see [RevisionsSkipped].
var ErrNoRevision = errors.New("the registry was never at it")

// LoadAt reads the registry as it was at a revision, and proves it as [Load]
// does: Recovery.Mark is the first place that was proved at or after it. Its
// errors are those of Load, [store.ErrCompacted], or [ErrNoRevision].
func LoadAt(ctx context.Context, s store.Store, revision uint64) (*registry.Registry, Recovery, error) {
	l := newLoader(s, revision, newRequests(1))
	reg, found, err := l.load(ctx, s)
	switch {
	case err != nil:
		return nil, found, err
	case reg.Revision() < revision:
		return nil, found, fmt.Errorf("revision %d: %w: its last is %d", revision, ErrNoRevision, reg.Revision())
	case reg.Revision() > revision:
		return nil, found, fmt.Errorf("revision %d: %w: it is one of those that were left out when a loss was accepted", revision, ErrNoRevision)
	}
	return reg, found, nil
}

// LoadFromOldest does what [Load] does, but from the oldest checkpoint that is
// kept, through every record since: a second opinion on what the newest
// checkpoint holds.
func LoadFromOldest(ctx context.Context, s store.Store) (*registry.Registry, Recovery, error) {
	for {
		oldest := s.Oldest()
		l := newLoader(s, math.MaxUint64, newRequests(1))
		l.from = oldest.Revision
		reg, found, err := l.load(ctx, s)
		if err == nil || s.Oldest() == oldest { // else it was damaged, and there is another
			return reg, found, err
		}
	}
}

// loader rebuilds a registry.
type loader struct {
	from, to uint64 // revisions: of the checkpoint at most, and the one wanted; or more than there is
	draft    *registry.Draft
	reader   pack.Reader
	requests *requests
	reached  *registry.Registry // at that revision, once a record went beyond it
	found    Recovery
}

func newLoader(s store.Store, to uint64, q *requests) *loader {
	return &loader{from: to, to: to, draft: registry.New().Draft(), requests: q, found: Recovery{Identity: s.Identity()}}
}

// load reads all there is; what there is more, if it has done so before.
func (l *loader) load(ctx context.Context, s store.Store) (*registry.Registry, Recovery, error) {
	start := time.Now()
	if l.found.Mark.Seq == 0 {
		if err := l.checkpoint(ctx, s); err != nil {
			return nil, l.found, err
		}
	}
	for rec, err := range s.Records(ctx, l.found.Mark.Seq) {
		if l.draft.Revision() >= l.to {
			break
		}
		if err == nil {
			err = l.record(rec)
		}
		if err != nil {
			return nil, l.found, fmt.Errorf("replay records after %d: %w", l.found.Mark.Seq, err)
		}
	}
	l.found.Took = time.Since(start)
	if l.reached != nil {
		return l.reached, l.found, nil
	}
	return l.draft.Freeze(), l.found, nil
}

func (l *loader) checkpoint(ctx context.Context, s store.Store) error {
	mark, chunks, err := s.Checkpoint(ctx, l.from)
	if err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	l.draft.Reserve(mark.Count)
	for chunk, err := range chunks {
		if err == nil {
			err = l.chunk(chunk, mark.Revision)
		}
		if err != nil {
			return fmt.Errorf("read the checkpoint at record %d: %w", mark.Seq, err)
		}
		l.found.CheckpointBytes += int64(len(chunk))
	}
	l.found.Checkpoint, l.found.Bytes = mark, l.found.CheckpointBytes
	return l.prove("checkpoint", mark)
}

func (l *loader) chunk(chunk []byte, revision uint64) error {
	if isRequests(chunk) {
		return l.requests.decode(chunk)
	}
	return l.draft.Redo(chunk, revision)
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
	return l.prove("record", rec.Mark)
}

func (l *loader) replay(rec store.Record) error {
	data, err := parseRecord(&l.reader, rec.Data)
	if err == nil {
		err = data.follows(l.found.Mark, rec, l.found.Identity)
	}
	if err != nil {
		return err
	}
	if data.named {
		l.requests.replay(rec, data)
	}
	if rec.Revision > l.to {
		l.draft.SkipTo(rec.Revision - data.changed)
		return l.redoThrough(data)
	}
	return l.draft.Redo(data.rows, rec.Revision)
}

// redoThrough redoes a record that goes beyond the revision wanted: to its end
// all the same, where it can be proved.
func (l *loader) redoThrough(data record) error {
	rows, err := registry.ReadRows(data.rows)
	if err != nil {
		return err
	}
	for o := range data.operations() {
		if o.rows == 0 {
			continue
		}
		part, err := rows.Take(o.rows)
		if err == nil {
			err = l.draft.Redo(part, l.draft.Revision()+1)
		}
		if err != nil {
			return err
		}
		if l.draft.Revision() == l.to {
			l.reached = l.draft.Freeze()
		}
	}
	return rows.End()
}

// follows says what is wrong with a record that the store has at rec, behind
// before.
func (d *record) follows(before store.Mark, rec store.Record, id store.Identity) error {
	switch history := id.HistoryAt(rec.Seq); {
	case d.history != history:
		return fmt.Errorf("it belongs to history %v, the store has %v there", d.history, history)
	case d.epoch != rec.Epoch || rec.Epoch < before.Epoch:
		return fmt.Errorf("of epoch %d in the store, it says epoch %d, after epoch %d", rec.Epoch, d.epoch, before.Epoch)
	case rec.First != before.Revision+1 || rec.Revision != before.Revision+d.changed && !d.skips(before, rec, id):
		return fmt.Errorf("it has revisions %d to %d for %d operations, after revision %d",
			rec.First, rec.Revision, d.changed, before.Revision)
	}
	return nil
}

// RevisionsSkipped is how many revisions are given to nothing where a store goes
// on after a loss of records that was accepted. Operations that are lost may have
// been told to somebody, with their revisions, and nothing says for sure how many
// there were: a compare-and-set at one of them must not meet another operation's.
// They are skipped once for each loss there, for what was given out after an
// earlier one may be lost too.
const RevisionsSkipped = 1_000_000_000

// skips reports whether rec is the record that leaves revisions out.
func (d *record) skips(before store.Mark, rec store.Record, id store.Identity) bool {
	n := id.EndedBefore(rec.Seq)
	return n > 0 && rec.Revision == before.Revision+n*RevisionsSkipped+d.changed
}

// prove holds the draft against what the store says it should be at mark.
func (l *loader) prove(place string, mark store.Mark) error {
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
