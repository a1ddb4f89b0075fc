package wal

import "github.com/eaba02dc/registrar/registrar/store"

var _ store.Watched = (*Log)(nil)

// Room is nil, or [store.ErrDiskFull] while too little is free to add anything
// ([Options.FullBelow]). Appending is possible all the same: what removes needs
// it.
func (l *Log) Room() error { return l.space.room() }

// Condition says how the disk is, and how far the witness has come. It costs no
// input or output: of a log that was opened for reading, what is free was asked
// then.
func (l *Log) Condition() store.Condition {
	var c store.Condition
	l.space.condition(&c)
	l.watch.condition(&c)
	l.mu.Lock()
	w := l.witness
	l.mu.Unlock()
	if w != nil {
		c.UnwitnessedRecords, c.WitnessBehind = w.lag()
	}
	return c
}
