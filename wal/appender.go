package wal

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// appender is the goroutine that hands records to Pebble, one at a time and in
// order. It is not the caller's own, because it may be parked for good: by
// Pebble's end, or in a wait for room that can no longer come. And it lets the
// caller go on meanwhile: Pebble copies a record twice, into memory that the
// processor has not seen yet, and starts a log file now and then.
type appender struct {
	watch *watch
	db    *pebble.DB
	work  chan *pending
	done  chan struct{} // closed once the goroutine ends
}

// queuedRecords is how many records may wait for the appender before Append
// does. The registrar keeps fewer on their way.
const queuedRecords = 16

func startAppender(l *Log, db *pebble.DB) *appender {
	a := &appender{watch: l.watch, db: db, work: make(chan *pending, queuedRecords), done: make(chan struct{})}
	go a.run()
	return a
}

func (a *appender) run() {
	defer close(a.done)
	var failed error // after it Pebble is not called again: the log must have no gap
	for p := range a.work {
		if failed == nil {
			failed = a.watch.over()
		}
		if failed == nil {
			failed = a.apply(p.batch)
		}
		p.applyErr = failed
		close(p.applied)
	}
}

// batch copies r into a batch of Pebble's.
func (a *appender) batch(r store.Record) (*pebble.Batch, error) {
	b := a.db.NewBatch()
	op := b.SetDeferred(recordKeyLen, recordFrameLen(r))
	putRecord(op.Key, op.Value, r)
	return b, op.Finish()
}

// queue puts p behind those before it. If Pebble has ended, nothing will come
// of p, and its wait knows.
func (a *appender) queue(p *pending) {
	select {
	case a.work <- p:
	case <-a.watch.ended:
	}
}

// apply returns once Pebble has b in its log's buffer. After an error the
// record may be in the log all the same.
func (a *appender) apply(b *pebble.Batch) (err error) {
	defer a.watch.recover(&err)
	// Not Commit(Sync): it can return nil after a sync that failed.
	return a.db.ApplyNoSyncWait(b, pebble.Sync)
}

// close waits for the goroutine, unless it is parked.
func (a *appender) close() {
	close(a.work)
	select {
	case <-a.done:
	case <-a.watch.ended:
	}
}
