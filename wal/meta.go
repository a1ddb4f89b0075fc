package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// meta reads what the store says of itself in Pebble, which is what holds. The
// file STORE agrees, or names a history that ended: then a crash came between.
func (l *Log) meta() error {
	format, err := l.metaRow("format", 4)
	if err != nil {
		return err
	}
	v := binary.LittleEndian.Uint32(format)
	if v > formatVersion {
		return fmt.Errorf("store %s: %w: it has format %d, this program reads up to %d", l.dir, ErrVersion, v, formatVersion)
	}
	l.format = min(l.format, v) // an interrupted upgrade left one of them behind
	history, err := l.metaRow("history", len(l.history))
	if err != nil {
		return err
	}
	if l.losses, err = l.lossRows(); err != nil {
		return err
	}
	l.history = store.HistoryID(history)
	if l.stored != l.history && !l.ended(l.stored) {
		return l.metaCorrupt(fmt.Errorf("its records are of history %v, its file %s names %v", l.history, fileStore, l.stored))
	}
	return nil
}

// ended reports whether a history is one of those that ended with a loss.
func (l *Log) ended(h store.HistoryID) bool {
	return slices.ContainsFunc(l.losses, func(loss Loss) bool { return loss.History == h })
}

func (l *Log) metaCorrupt(err error) error {
	return &CorruptError{Dir: l.dir, Place: "store", Err: err}
}

func (l *Log) metaRow(name string, length int) ([]byte, error) {
	v, done, err := l.db.Get(metaKey(name))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, l.metaCorrupt(fmt.Errorf("row %q is missing", name))
	}
	if err != nil {
		return nil, damaged(l.dir, err)
	}
	row := slices.Clone(v)
	if err := done.Close(); err != nil {
		return nil, brief(err)
	}
	if len(row) != length {
		return nil, l.metaCorrupt(fmt.Errorf("row %q has another length than it should", name))
	}
	return row, nil
}

// lossRows reads the losses that were accepted.
func (l *Log) lossRows() (losses []Loss, err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: lossKey(0), UpperBound: metaKey("loss\xff")})
	if err != nil {
		return nil, damaged(l.dir, err)
	}
	defer l.closeIter(it)
	for ok := it.First(); ok; ok = it.Next() {
		frame, err := it.ValueAndErr()
		if err != nil {
			return nil, damaged(l.dir, err)
		}
		n := uint64(len(losses) + 1)
		loss, err := getLoss(n, it.Key(), frame)
		if err != nil {
			return nil, l.metaCorrupt(fmt.Errorf("what it says of loss %d: %w", n, err))
		}
		losses = append(losses, loss)
	}
	return losses, damaged(l.dir, it.Error())
}
