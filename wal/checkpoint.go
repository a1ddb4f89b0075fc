package wal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// point is a checkpoint in the store.
type point struct {
	mark  store.Mark
	bytes uint64 // of its chunks
	err   error  // what is wrong with it, once that is known
}

// Checkpoint returns the newest checkpoint that covers no revision after
// atMost and is whole: every chunk of it is read and proved before Checkpoint
// returns, and read again by the sequence. A damaged one is logged, and the
// one before it offered. A sequence whose checkpoint Compact lets go of before
// its end ends with a [*store.CompactedError].
//
// When no checkpoint is whole, and the records do not begin with the first, the
// error is a [*CorruptError].
func (l *Log) Checkpoint(ctx context.Context, atMost uint64) (store.Mark, iter.Seq2[[]byte, error], error) {
	none := func(func([]byte, error) bool) {}
	v, err := l.beginReading()
	if err != nil {
		return store.Mark{}, none, fmt.Errorf("read checkpoint: %w", err)
	}
	defer l.endReading(v)
	p, err := l.newestWhole(ctx, v.db, atMost)
	switch {
	case err != nil:
		return store.Mark{}, none, fmt.Errorf("read checkpoint: %w", err)
	case p.mark.Seq == 0:
		return store.Mark{}, none, nil
	}
	return p.mark, l.chunks(ctx, p.mark.Seq), nil
}

// newestWhole finds what Checkpoint returns. The point is zero where a reader
// may begin with the first record instead.
func (l *Log) newestWhole(ctx context.Context, db *pebble.DB, atMost uint64) (point, error) {
	var damage error
	for _, p := range l.newestFirst() {
		if p.mark.Revision > atMost {
			continue
		}
		if damage != nil && l.letGoOf(p.mark.Seq) { // it is before a hole, across which nothing leads
			return point{}, damage
		}
		err := l.prove(ctx, db, p)
		switch {
		case err == nil:
			return p, nil
		case !isDamage(err):
			return point{}, fmt.Errorf("the one at record %d: %w", p.mark.Seq, err)
		case !l.holds(p.mark.Seq): // Compact was faster
			continue
		}
		damage = err
		l.condemn(p.mark.Seq, err)
		l.log.Error("checkpoint is damaged; taking the one before", "dir", l.dir, "checkpoint", p.mark.Seq, "err", err)
	}
	err := l.reachesBack(atMost)
	if errors.Is(err, store.ErrCompacted) && damage != nil {
		return point{}, damage
	}
	return point{}, err
}

// reachesBack is nil if the records begin with the first, so that a revision
// which no checkpoint covers can be read from them.
func (l *Log) reachesBack(revision uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest, whole := l.oldestLocked()
	switch {
	case l.floor == 0:
		return nil
	case !whole:
		return &CorruptError{Dir: l.dir, Place: "record", Seq: l.floor, Err: errUncovered}
	}
	return &store.CompactedError{What: fmt.Sprintf("revision %d", revision), Oldest: oldest}
}

var errUncovered = errors.New("it and those before it are gone, and no checkpoint covers them")

// Oldest is the place before the first record that is kept: that of the oldest
// checkpoint not known to be damaged. Were there none, only the number would
// be known of it.
func (l *Log) Oldest() store.Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest, _ := l.oldestLocked()
	return oldest
}

// oldestLocked also says whether one can begin to read there.
func (l *Log) oldestLocked() (oldest store.Mark, whole bool) {
	if l.floor == 0 {
		return store.Mark{}, true
	}
	for _, p := range l.points {
		if p.err == nil && p.mark.Seq >= l.floor {
			return p.mark, true
		}
	}
	return store.Mark{Seq: l.floor}, false
}

// Places lists the places of the checkpoints that are kept, oldest first, with
// their bytes. Nothing is read: one of them may be damaged.
func (l *Log) Places() []store.Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	places := make([]store.Place, 0, len(l.points))
	for _, p := range l.points {
		if p.mark.Revision > 0 || p.err == nil { // else its trailer could not be read
			places = append(places, store.Place{Mark: p.mark, Bytes: int64(p.bytes)})
		}
	}
	return places
}

func (l *Log) newestFirst() []point {
	l.mu.Lock()
	defer l.mu.Unlock()
	points := slices.Clone(l.points)
	slices.Reverse(points)
	return points
}

// letGoOf reports whether the records are not kept that led on from here.
func (l *Log) letGoOf(seq uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return seq < l.floor
}

// holds reports whether Compact has not let go of a checkpoint.
func (l *Log) holds(seq uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.points, func(p point) bool { return p.mark.Seq == seq })
}

// condemn remembers that a checkpoint is damaged: Compact does not count it.
func (l *Log) condemn(seq uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.points {
		if l.points[i].mark.Seq == seq {
			l.points[i].err = err
		}
	}
}

func isDamage(err error) bool {
	var c *CorruptError
	return errors.As(err, &c)
}

// prove reads a checkpoint from end to end.
func (l *Log) prove(ctx context.Context, db *pebble.DB, p point) error {
	if p.err != nil {
		return p.err
	}
	for _, err := range l.chunksHeld(ctx, db, p.mark.Seq) {
		if err != nil {
			return err
		}
	}
	return nil
}

// chunks yields a checkpoint's chunks, for a caller that holds nothing.
func (l *Log) chunks(ctx context.Context, seq uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		v, err := l.beginReading()
		if err != nil {
			yield(nil, fmt.Errorf("read checkpoint %d: %w", seq, err))
			return
		}
		defer l.endReading(v)
		for data, err := range l.chunksHeld(ctx, v.db, seq) {
			if isDamage(err) && !l.holds(seq) {
				err = &store.CompactedError{What: fmt.Sprintf("the checkpoint at record %d", seq), Oldest: l.Oldest()}
			}
			if !yield(data, err) {
				return
			}
		}
	}
}

// chunksHeld yields chunks in order and ends with an error unless the trailer
// vouches for exactly them.
func (l *Log) chunksHeld(ctx context.Context, db *pebble.DB, seq uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		bad := func(err error) { yield(nil, &CorruptError{Dir: l.dir, Place: "checkpoint", Seq: seq, Err: err}) }
		it, err := db.NewIter(&pebble.IterOptions{
			LowerBound: appendChunkKey(nil, seq, 0),
			UpperBound: appendChunkKey(nil, seq+1, 0),
		})
		if err != nil {
			yield(nil, damaged(l.dir, err))
			return
		}
		defer l.closeIter(it)
		var sum trailer
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.ValueAndErr()
			if err == nil {
				err = l.mayRead(ctx, 0)
			}
			if err != nil {
				yield(nil, damaged(l.dir, err))
				return
			}
			_, n, err := chunkNumber(it.Key())
			switch {
			case err != nil:
				bad(err)
				return
			case n == trailerNumber:
				if err := sum.compare(it.Key(), value); err != nil {
					bad(err)
				}
				return
			case n != sum.chunks:
				bad(fmt.Errorf("chunk %d is missing", sum.chunks))
				return
			}
			data, err := unseal(it.Key(), value, frameChunk)
			if err != nil {
				bad(fmt.Errorf("chunk %d: %w", n, err))
				return
			}
			sum.add(data)
			if !yield(data, nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(nil, damaged(l.dir, err))
			return
		}
		bad(errors.New("its end is missing"))
	}
}

// compare checks the chunks read so far against the trailer in a row.
func (t trailer) compare(key, frame []byte) error {
	want, err := getTrailer(key, frame)
	if err != nil {
		return fmt.Errorf("its trailer: %w", err)
	}
	if want.chunks != t.chunks || want.bytes != t.bytes || want.sum != t.sum {
		return fmt.Errorf("it has %d chunks of %d bytes, its trailer names %d of %d (or their checksum differs)",
			t.chunks, t.bytes, want.chunks, want.bytes)
	}
	return nil
}

// loadPoints finds the checkpoints: each trailer is one. Chunks without a
// trailer cannot come about; were they there, they are a damaged checkpoint.
func (l *Log) loadPoints() ([]point, error) {
	it, err := l.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{prefixCheckpoint},
		UpperBound: []byte{prefixCheckpoint + 1},
	})
	if err != nil {
		return nil, damaged(l.dir, err)
	}
	defer l.closeIter(it)
	var points []point
	for ok := it.Last(); ok; {
		p, err := l.pointAt(it)
		if err != nil {
			return nil, err
		}
		points = append(points, p)
		ok = it.SeekLT(appendChunkKey(nil, p.mark.Seq, 0))
	}
	slices.Reverse(points)
	return points, damaged(l.dir, it.Error())
}

func (l *Log) pointAt(it *pebble.Iterator) (point, error) {
	seq, n, err := chunkNumber(it.Key())
	if err != nil {
		return point{}, &CorruptError{Dir: l.dir, Place: "store", Err: err}
	}
	p := point{mark: store.Mark{Seq: seq}}
	bad := func(err error) { p.err = &CorruptError{Dir: l.dir, Place: "checkpoint", Seq: seq, Err: err} }
	value, err := it.ValueAndErr()
	if err != nil {
		return p, damaged(l.dir, err)
	}
	if n != trailerNumber {
		bad(errors.New("its end is missing"))
		return p, nil
	}
	t, err := getTrailer(it.Key(), value)
	if err != nil {
		bad(fmt.Errorf("its trailer: %w", err))
		return p, nil
	}
	p.mark, p.bytes = t.mark, t.bytes
	return p, nil
}
