package wal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// view is a Pebble to read from, and where reading ends: never behind it,
// where a batch that failed would show.
type view struct {
	db  *pebble.DB
	end store.Mark
}

// beginReading keeps its Pebble open until endReading.
func (l *Log) beginReading() (view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return view{}, store.ErrClosed
	}
	if err := l.watch.over(); err != nil {
		return view{}, fmt.Errorf("the storage engine gave up: %w", err)
	}
	l.readers[l.db]++
	return view{l.db, l.durable}, nil
}

func (l *Log) endReading(v view) {
	l.mu.Lock()
	l.readers[v.db]--
	last := l.readers[v.db] == 0
	retire := last && v.db != l.db
	if last && !retire {
		l.idle.Broadcast()
	}
	l.mu.Unlock()
	if retire {
		l.retire(v.db)
	}
}

// exchange puts the Pebble opened for writing in the place of the one opened
// for reading, which is closed when its last reader is done.
func (l *Log) exchange(db *pebble.DB, g *gate) {
	l.mu.Lock()
	old := l.db
	l.db, l.gate = db, g
	idle := l.readers[old] == 0
	l.mu.Unlock()
	if idle {
		l.retire(old)
	}
}

// retire closes the Pebble that was opened for reading, and lets the other
// one remove the tables that it might have read.
func (l *Log) retire(old *pebble.DB) {
	var err error
	if l.watch.over() == nil {
		err = l.watch.guard(old.Close)
	}
	if err = errors.Join(err, l.gate.release()); err != nil {
		l.log.Warn("files of the storage engine stay until the store is opened again", "dir", l.dir, "err", brief(err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.readers, old)
	l.idle.Broadcast()
}

// awaitReaders returns once nobody reads.
func (l *Log) awaitReaders() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.readingLocked() {
		l.idle.Wait()
	}
}

// readingLocked reports whether somebody reads, or the Pebble opened for
// reading is still being retired after its last reader.
func (l *Log) readingLocked() bool {
	for db, n := range l.readers {
		if db != l.db || n > 0 {
			return true
		}
	}
	return false
}

// closeIter closes it, unless Pebble is not to be called again.
func (l *Log) closeIter(it *pebble.Iterator) {
	if l.watch.over() == nil {
		_ = it.Close() // it.Error was looked at
	}
}
