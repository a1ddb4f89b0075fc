package wal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Compact stores a checkpoint and lets go of what is dispensable then: of the
// checkpoints before the newest one at or before record keepAfter, and of the
// records up to it. The newest two checkpoints not known to be damaged stay
// whatever keepAfter says, and the records after the older one, so that a
// damaged checkpoint never costs anything; damaged ones go.
//
// The chunks go into one table file, beside the log of appends, which is
// synced and then becomes part of the store in one step. Between two chunks
// the caller may pause as long as it likes. Two calls take turns.
func (l *Log) Compact(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte], keepAfter uint64) error {
	l.awaitWriting()
	l.compacting.Lock()
	defer l.compacting.Unlock()
	if err := l.compact(ctx, covers, chunks, keepAfter); err != nil {
		return fmt.Errorf("store checkpoint %d: %w", covers.Seq, brief(err))
	}
	return nil
}

func (l *Log) compact(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte], keepAfter uint64) error {
	there, err := l.checkCovers(covers)
	if err != nil {
		return err
	}
	if !there {
		p, err := l.writeCheckpoint(ctx, covers, chunks)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.points = append(l.points, p)
		l.mu.Unlock()
	}
	return l.prune(keepAfter)
}

// checkCovers refuses a checkpoint of what is not durable or was covered
// before. It reports whether this very checkpoint is there already.
func (l *Log) checkCovers(covers store.Mark) (there bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return false, err
	}
	if covers.Seq == 0 || covers.Seq > l.durable.Seq {
		return false, fmt.Errorf("the last durable record is %d", l.durable.Seq)
	}
	if covers.Seq == l.durable.Seq && covers != l.durable {
		return false, fmt.Errorf("it is %+v, the last record was %+v", covers, l.durable)
	}
	for _, p := range l.points {
		switch {
		case p.err == nil && p.mark == covers:
			return true, nil
		case p.mark.Seq >= covers.Seq && p.err == nil:
			return false, fmt.Errorf("checkpoint %d is there already", p.mark.Seq)
		}
	}
	return false, nil
}

func (l *Log) writeCheckpoint(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte]) (p point, err error) {
	if err := l.dropDamaged(covers.Seq); err != nil {
		return p, err
	}
	name := l.gate.PathJoin(l.dir, fileCheckpoint)
	t, err := l.writeTable(ctx, name, covers, chunks)
	if err == nil {
		// The table is linked into Pebble's directory and its old name removed.
		err = l.watch.run(func() error { return l.db.Ingest(ctx, []string{name}) })
	}
	if err != nil {
		if l.watch.over() == nil {
			err = errors.Join(err, removeIfThere(l.gate, name))
		}
		return p, err
	}
	return point{mark: covers, bytes: t.bytes}, nil
}

// writeTable makes a table file of the chunks and their trailer, and syncs it.
func (l *Log) writeTable(ctx context.Context, name string, covers store.Mark, chunks iter.Seq[[]byte]) (trailer, error) {
	file, err := l.gate.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return trailer{}, err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), l.tableOptions())
	t, err := l.fillTable(ctx, w, covers, chunks)
	return t, errors.Join(err, w.Close())
}

func (l *Log) tableOptions() sstable.WriterOptions {
	o := pebbleOptions(l.gate, l.watch)
	o.EnsureDefaults()
	return o.MakeWriterOptions(0, l.db.TableFormat())
}

func (l *Log) fillTable(ctx context.Context, w *sstable.Writer, covers store.Mark, chunks iter.Seq[[]byte]) (trailer, error) {
	t := trailer{mark: covers}
	var key, frame []byte
	for data := range chunks {
		if err := l.mayCompact(ctx); err != nil {
			return t, err
		}
		if len(data) > MaxData {
			return t, fmt.Errorf("chunk %d has %d bytes, more than the %d a chunk may hold", t.chunks, len(data), MaxData)
		}
		key = appendChunkKey(key[:0], covers.Seq, t.chunks)
		frame = append(append(frame[:0], make([]byte, frameHeader)...), data...)
		seal(key, frame, frameChunk)
		if err := w.Set(key, frame); err != nil {
			return t, err
		}
		t.add(data)
	}
	if err := l.mayCompact(ctx); err != nil {
		return t, err
	}
	key = appendChunkKey(key[:0], covers.Seq, trailerNumber)
	return t, w.Set(key, t.frame(key))
}

// mayCompact is asked between chunks: Close does not wait for a long checkpoint.
func (l *Log) mayCompact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usable()
}

// dropDamaged makes room for a checkpoint where a damaged one is or was: rows
// left over would become part of the new one.
func (l *Log) dropDamaged(from uint64) error {
	l.mu.Lock()
	kept, drop := split(l.points, func(p point) bool { return p.mark.Seq < from })
	l.mu.Unlock()
	if len(drop) == 0 {
		return nil
	}
	err := l.delete(func(b *pebble.Batch) error {
		return b.DeleteRange(appendChunkKey(nil, from, 0), []byte{prefixCheckpoint + 1}, nil)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.points = kept
	l.mu.Unlock()
	return nil
}

// prune lets go of checkpoints and records, as Compact says.
func (l *Log) prune(keepAfter uint64) error {
	drop, floor, more := l.letGo(keepAfter)
	if !more {
		return nil
	}
	err := l.delete(func(b *pebble.Batch) error {
		for _, p := range drop {
			if err := b.DeleteRange(appendChunkKey(nil, p.mark.Seq, 0), appendChunkKey(nil, p.mark.Seq+1, 0), nil); err != nil {
				return err
			}
		}
		return b.DeleteRange(appendRecordKey(nil, 0), appendRecordKey(nil, floor+1), nil) // also what a hole left
	})
	if err != nil {
		return fmt.Errorf("let go of records up to %d: %w", floor, err)
	}
	return nil
}

// letGo takes what is to be deleted out of what can be read, and returns it:
// checkpoints, and the records up to floor; or says that it is nothing. That
// comes first, for a deletion shows at once, whether or not it becomes durable,
// and a reader who comes upon it must learn that nothing is damaged.
func (l *Log) letGo(keepAfter uint64) (drop []point, floor uint64, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	base := l.baseLocked(keepAfter)
	l.points, drop = split(l.points, func(p point) bool { return p.err == nil && p.mark.Seq >= base })
	floor = max(l.floor, base)
	more = len(drop) > 0 || floor > l.floor
	l.floor = floor
	return drop, floor, more
}

// baseLocked is the checkpoint that is to be the oldest: the newest one at or
// before both keepAfter and the last but one; 0 if there is none.
func (l *Log) baseLocked(keepAfter uint64) (base uint64) {
	good, _ := split(l.points, func(p point) bool { return p.err == nil })
	if len(good) < 2 {
		return 0
	}
	limit := min(keepAfter, good[len(good)-2].mark.Seq)
	for _, p := range good {
		if p.mark.Seq <= limit {
			base = p.mark.Seq
		}
	}
	return base
}

func split(points []point, keep func(point) bool) (kept, drop []point) {
	for _, p := range points {
		if keep(p) {
			kept = append(kept, p)
		} else {
			drop = append(drop, p)
		}
	}
	return kept, drop
}

// delete applies a batch of deletions, durably. Its failure is one of the
// log that records go to, so it is the store's.
func (l *Log) delete(fill func(*pebble.Batch) error) error {
	err := l.watch.run(func() error { return commit(l.db, fill) })
	l.mu.Lock()
	l.wrote = true
	l.mu.Unlock()
	if err != nil {
		l.fail(err)
	}
	return err
}
