package wal

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// DB lets tests damage rows.
func (l *Log) DB() *pebble.DB {
	l.awaitWriting()
	return l.db
}

// What tests need to make rows and slots of their own.
var (
	PutSlot        = putSlot
	RecordKey      = appendRecordKey
	ChunkKey       = appendChunkKey
	RecordKeyLen   = recordKeyLen
	RecordFrameLen = recordFrameLen
	PutRecord      = putRecord
	GetRecord      = getRecord
)

// GiveUp ends Pebble, as something in it would that nobody can recover from.
func (l *Log) GiveUp(reason error) { l.watch.end(reason) }

// AwaitAppender returns once the appender is done with all that was queued.
// Pebble must have ended: what it queues is no record.
func (l *Log) AwaitAppender() {
	p := &pending{applied: make(chan struct{})}
	l.appender.work <- p
	<-p.applied
}

// ApplyQueued queues records for an appender of their own before it begins,
// the one at bad with a batch that spoil made. It returns what the appender
// says of each; what Pebble took is on disk then.
func (l *Log) ApplyQueued(records []store.Record, bad int, spoil func() *pebble.Batch) (errs []error) {
	l.awaitWriting()
	a := &appender{watch: l.watch, db: l.db, work: make(chan *pending, len(records)), done: make(chan struct{})}
	queued := make([]*pending, len(records))
	for i, r := range records {
		p := &pending{log: l, mark: r.Mark, applied: make(chan struct{})}
		p.batch, p.err = a.batch(r)
		if i == bad {
			p.batch = spoil()
		}
		queued[i] = p
		a.work <- p
	}
	close(a.work)
	a.run()
	for _, p := range queued {
		if p.applyErr == nil {
			p.applyErr = p.batch.SyncWait()
		}
		errs = append(errs, p.applyErr)
	}
	return errs
}

// Held is how many tables are kept for readers of the Pebble opened for reading.
func (l *Log) Held() int {
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	return len(l.gate.held)
}

// HolderIn is holderIn.
var HolderIn = holderIn
