package wal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Records yields the durable records after seq. Nothing is allocated per
// record. The error of a record that is damaged or missing is a
// [*CorruptError], that of one which was let go a [*store.CompactedError].
func (l *Log) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		v, err := l.beginReading()
		if err != nil {
			yield(store.Record{}, fmt.Errorf("read records after %d: %w", after, err))
			return
		}
		defer l.endReading(v)
		c := chain{dir: l.dir, next: after + 1}
		if m, ok := l.markAt(after); ok {
			c.revision, c.known = m.Revision, true
		}
		if after >= v.end.Seq {
			return
		}
		for r, err := range l.rows(v.db, after, v.end.Seq) {
			if err == nil {
				err = c.link(r)
			}
			if err == nil {
				err = l.mayRead(ctx, r.Seq)
			}
			if err != nil {
				err = l.orLetGo(c.next-1, err)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if c.next <= v.end.Seq {
			yield(store.Record{}, l.orLetGo(c.next-1, c.corrupt(c.next, errMissing)))
		}
	}
}

// orLetGo is the error of the record after seq: err, unless the record is not
// as it should be because it was let go. It is asked after Pebble was, since
// Compact may come in between.
func (l *Log) orLetGo(seq uint64, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq >= l.floor || !isDamage(err) {
		return err
	}
	oldest, _ := l.oldestLocked()
	return fmt.Errorf("store %s: %w", l.dir, &store.CompactedError{What: fmt.Sprintf("records after %d", seq), Oldest: oldest})
}

var errMissing = errors.New("it is missing")

// rows yields the records in Pebble from after+1 to last, each proved by its
// checksum. It goes on after a damaged one. A record under an error has at
// most a Seq.
func (l *Log) rows(db *pebble.DB, after, last uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		it, err := db.NewIter(&pebble.IterOptions{
			LowerBound: appendRecordKey(nil, after+1),
			UpperBound: appendRecordKey(nil, last+1),
		})
		if err != nil {
			yield(store.Record{}, damaged(l.dir, err))
			return
		}
		defer l.closeIter(it)
		for ok := it.First(); ok; ok = it.Next() {
			r, err := l.row(it)
			if !yield(r, err) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(store.Record{}, fmt.Errorf("read records of store %s: %w", l.dir, damaged(l.dir, err)))
		}
	}
}

func (l *Log) row(it *pebble.Iterator) (store.Record, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return store.Record{}, fmt.Errorf("read records of store %s: %w", l.dir, damaged(l.dir, err))
	}
	r, err := getRecord(it.Key(), value)
	if err != nil {
		return r, &CorruptError{Dir: l.dir, Place: "record", Seq: r.Seq, Err: err}
	}
	return r, nil
}

// chain checks that records follow each other.
type chain struct {
	dir      string
	next     uint64 // the number the next record must have
	revision uint64 // after the record before it
	epoch    uint64
	known    bool // revision is known
}

func (c *chain) link(r store.Record) error {
	switch {
	case r.Seq != c.next:
		return c.corrupt(c.next, errMissing)
	case c.known && r.First != c.revision+1:
		return c.corrupt(r.Seq, fmt.Errorf("its revisions begin at %d, those before it end at %d", r.First, c.revision))
	case r.Revision+1 < r.First:
		return c.corrupt(r.Seq, fmt.Errorf("its revisions begin at %d and end at %d", r.First, r.Revision))
	case r.Epoch < c.epoch:
		return c.corrupt(r.Seq, fmt.Errorf("its epoch %d comes after epoch %d", r.Epoch, c.epoch))
	}
	c.next, c.revision, c.epoch, c.known = r.Seq+1, r.Revision, r.Epoch, true
	return nil
}

func (c *chain) corrupt(seq uint64, err error) error {
	return &CorruptError{Dir: c.dir, Place: "record", Seq: seq, Err: err}
}

// mayRead is asked now and then whether an iteration may go on.
func (l *Log) mayRead(ctx context.Context, step uint64) error {
	if step%256 != 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	return nil
}

// markAt returns the mark at seq, if it is known without reading.
func (l *Log) markAt(seq uint64) (store.Mark, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq == 0 {
		return store.Mark{}, true
	}
	for _, p := range l.points {
		if p.mark.Seq == seq && p.err == nil {
			return p.mark, true
		}
	}
	return store.Mark{}, false
}

// lastRow returns the last record in Pebble, or a zero record.
func (l *Log) lastRow() (r store.Record, err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{prefixRecord},
		UpperBound: []byte{prefixRecord + 1},
	})
	if err != nil {
		return r, damaged(l.dir, err)
	}
	defer l.closeIter(it)
	if it.Last() {
		r, err = l.row(it)
		r.Data = nil
		return r, err
	}
	return r, damaged(l.dir, it.Error())
}

// firstRow returns the number of the first record in Pebble, or 0.
func (l *Log) firstRow() (uint64, error) {
	it, err := l.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{prefixRecord},
		UpperBound: []byte{prefixRecord + 1},
	})
	if err != nil {
		return 0, damaged(l.dir, err)
	}
	defer l.closeIter(it)
	if it.First() {
		return recordSeq(it.Key())
	}
	return 0, damaged(l.dir, it.Error())
}

// getRow returns the record seq, which may be absent.
func (l *Log) getRow(seq uint64) (r store.Record, found bool, err error) {
	for r, err := range l.rows(l.db, seq-1, seq) {
		r.Data = nil
		return r, true, err
	}
	return r, false, nil
}
