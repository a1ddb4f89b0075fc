package wal

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// appender is the goroutine that hands records to Pebble, one at a time. It
// is not the caller's own, because it may be parked for good: by Pebble's end,
// or in a wait for room that can no longer come. The handover takes about a
// microsecond, a hundredth of a sync.
type appender struct {
	watch *watch
	db    *pebble.DB
	work  chan store.Record
	done  chan applied // closed once the goroutine ends
}

type applied struct {
	batch *pebble.Batch
	err   error
}

func startAppender(l *Log, db *pebble.DB) *appender {
	a := &appender{watch: l.watch, db: db, work: make(chan store.Record), done: make(chan applied)}
	go a.run()
	return a
}

func (a *appender) run() {
	defer close(a.done)
	for r := range a.work {
		b, err := a.write(r)
		select {
		case a.done <- applied{b, err}:
		case <-a.watch.ended: // apply may have gone
		}
	}
}

// apply returns once Pebble has r in its log's buffer. After an error the
// record may be in the log all the same.
func (a *appender) apply(r store.Record) (*pebble.Batch, error) {
	ended := a.watch.ended
	select {
	case a.work <- r:
	case <-ended:
		return nil, a.watch.reason
	}
	select {
	case d := <-a.done:
		return d.batch, d.err
	case <-ended:
		return nil, a.watch.reason
	}
}

func (a *appender) write(r store.Record) (b *pebble.Batch, err error) {
	defer a.watch.recover(&err)
	b = a.db.NewBatch()
	op := b.SetDeferred(recordKeyLen, recordFrameLen(r))
	putRecord(op.Key, op.Value, r)
	if err := op.Finish(); err != nil {
		return b, err
	}
	// Not Commit(Sync): it can return nil after a sync that failed.
	return b, a.db.ApplyNoSyncWait(b, pebble.Sync)
}

// close waits for the goroutine, unless it is parked.
func (a *appender) close() {
	close(a.work)
	select {
	case <-a.done:
	case <-a.watch.ended:
	}
}
