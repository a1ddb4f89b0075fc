package wal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// point is a checkpoint in the store.
type point struct {
	mark  store.Mark
	bytes uint64 // of its chunks
	err   error  // what is wrong with it, once that is known
}

// Checkpoint returns the newest checkpoint that is whole: every chunk of it is
// read and proved before Checkpoint returns, and read again by the sequence.
// A damaged one is logged, and the older one offered.
func (l *Log) Checkpoint(ctx context.Context) (store.Mark, iter.Seq2[[]byte, error], error) {
	none := func(func([]byte, error) bool) {}
	v, err := l.beginReading()
	if err != nil {
		return store.Mark{}, none, fmt.Errorf("read checkpoint: %w", err)
	}
	defer l.endReading(v)
	for _, p := range l.newestFirst() {
		err := l.prove(ctx, v.db, p)
		if err == nil {
			return p.mark, l.chunks(ctx, p.mark.Seq), nil
		}
		if !isDamage(err) {
			return store.Mark{}, none, fmt.Errorf("read checkpoint %d: %w", p.mark.Seq, err)
		}
		l.condemn(p.mark.Seq, err)
		l.log.Error("checkpoint is damaged; taking the one before", "dir", l.dir, "checkpoint", p.mark.Seq, "err", err)
	}
	return store.Mark{}, none, nil
}

func (l *Log) newestFirst() []point {
	l.mu.Lock()
	defer l.mu.Unlock()
	points := make([]point, 0, len(l.points))
	for i := len(l.points) - 1; i >= 0; i-- {
		points = append(points, l.points[i])
	}
	return points
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
		points = append([]point{p}, points...)
		ok = it.SeekLT(appendChunkKey(nil, p.mark.Seq, 0))
	}
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
