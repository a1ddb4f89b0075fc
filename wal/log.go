package wal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal/live"
)

// Log is a store in a directory. Make one with [Create], open it with [Open].
//
// Its methods may be called concurrently, but Append by one goroutine.
type Log struct {
	dir   string
	o     Options
	log   *slog.Logger
	watch *watch
	space *space
	lock  io.Closer

	stored store.HistoryID // what the file STORE names: the history, or an earlier one

	// Set before Open returns, and then left alone.
	history store.HistoryID   // of the records from the last loss on
	losses  []Loss            // that were accepted, oldest first
	lost    *LostRecordsError // what was lost before this opening, which was to accept it
	hole    hole              // as it was found by this opening
	begins  uint64            // the checkpoint that it was just created with, where no hole ends; 0 for none

	// Set by openForWriting, which the first who needs it calls, once; nil in a
	// log that cannot write, or did not yet. The witness is set under mu.
	writing        sync.Once
	openForWriting func() error
	witness        *witness
	appender       *appender
	anchors        []anchor
	watching       sync.WaitGroup // watchDir
	socket         *live.Server   // nil without one

	compacting sync.Mutex // held by Compact, and by Close

	appending sync.Mutex // held by Append, and by Close

	mu       sync.Mutex
	idle     sync.Cond             // signalled when nobody reads from a Pebble any more
	db       *pebble.DB            // for reading only at first; final once writing is done
	gate     *gate                 // db's
	readers  map[*pebble.DB]int    // iterations under way; a Pebble is not closed under them
	last     store.Mark            // the last record appended
	durable  store.Mark            // the last record known durable; what is read ends there
	epoch    uint64                // the highest epoch seen
	failed   uint64                // the first record that may not be durable, 0 for none
	format   uint32                // the store's own; the lower one while an upgrade is half done
	err      error                 // the first failure: nothing is appended after it
	pending  map[*pending]struct{} // appended, and not yet known durable
	points   []point               // checkpoints, oldest first
	floor    uint64                // records up to here were let go, or end in a hole
	wrote    bool                  // there is something to flush
	closed   bool
	closing  chan struct{} // closed when closed is set
	broken   chan struct{} // closed when err is set
	closeAll sync.Once
	closeErr error
}

var _ store.Failing = (*Log)(nil)

// Identity returns the history, those that ended when a loss of records was
// accepted, and the highest epoch of any record, checkpoint or witness.
func (l *Log) Identity() store.Identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return store.Identity{History: l.history, Epoch: l.epoch, Earlier: earlier(l.losses)}
}

// Failed is closed once a failure has ended writing: of a record, of the witness,
// of the storage engine in the background, or because the directory is not there
// any more ([ErrMoved]). Err says which. What is durable can still be read.
func (l *Log) Failed() <-chan struct{} { return l.broken }

// Err is why writing has ended, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Append queues r. What it costs: one sync, shared by all records appended
// while one is under way; on disk the data, 53 bytes of frame and about 24 of
// Pebble's; one copy of the data into Pebble's batch (Pebble makes two more,
// into its log and its memtable); a handover to another goroutine; and two to
// four small allocations. Batches of up to 1 MiB come from Pebble's pool. With
// a negative WitnessEvery durable costs a second sync, of 4 KiB; otherwise the
// witness takes one every few milliseconds, beside.
//
// The first append waits until the store is open for writing. While Pebble's
// memtables are full (it cannot flush as fast as it is written to, or the disk
// is full), it is durable that waits, and Append once 16 records are queued.
func (l *Log) Append(r store.Record) (durable func() error, err error) {
	l.awaitWriting()
	l.appending.Lock()
	defer l.appending.Unlock()
	p := &pending{log: l, mark: r.Mark, applied: make(chan struct{})}
	err = l.admit(p, r)
	if err != nil {
		return nil, fmt.Errorf("append record %d: %w", r.Seq, brief(err))
	}
	l.appender.queue(p)
	return p.wait, nil
}

// admit takes r into the sequence, or refuses it before a byte is written.
func (l *Log) admit(p *pending, r store.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	switch {
	case r.Seq != l.last.Seq+1:
		return fmt.Errorf("the last record is %d", l.last.Seq)
	case r.Epoch < l.epoch:
		return fmt.Errorf("its epoch %d is over, the last is %d", r.Epoch, l.epoch)
	case r.First != l.last.Revision+1 || r.Revision+1 < r.First:
		return fmt.Errorf("its revisions %d to %d do not follow revision %d", r.First, r.Revision, l.last.Revision)
	case len(r.Data) > MaxData:
		return fmt.Errorf("its %d bytes are more than the %d a record may hold", len(r.Data), MaxData)
	}
	var err error
	if p.batch, err = l.appender.batch(r); err != nil {
		return err
	}
	l.last, l.epoch, l.wrote = r.Mark, r.Epoch, true
	l.pending[p] = struct{}{}
	return nil
}

// usable says whether anything may still be written. l.mu is held.
func (l *Log) usable() error {
	switch {
	case l.closed:
		return store.ErrClosed
	case l.o.ReadOnly:
		return store.ErrReadOnly
	case l.err != nil:
		return fmt.Errorf("%w: the store failed before: %w", store.ErrNotWritten, l.err)
	}
	if err := l.watch.over(); err != nil {
		return fmt.Errorf("%w: the storage engine gave up: %w", store.ErrNotWritten, err)
	}
	return nil
}

// pending is a record on its way to the disk.
type pending struct {
	log   *Log
	mark  store.Mark
	batch *pebble.Batch
	// applied is closed once Pebble has the record in its log's buffer, or
	// refused it with applyErr. It never is if Pebble ended before.
	applied  chan struct{}
	applyErr error // the appender's; read only after applied is closed
	once     sync.Once
	err      error // the outcome; wait's alone
}

// wait returns the record's outcome. Close waits too, hence the once.
func (p *pending) wait() error {
	p.once.Do(func() { p.err = p.log.settle(p, p.synced()) })
	return p.err
}

func (p *pending) synced() error {
	select {
	case <-p.applied:
	case <-p.log.watch.ended:
		return p.log.watch.reason
	}
	if p.applyErr != nil {
		return p.applyErr
	}
	if err := p.batch.SyncWait(); err != nil {
		return err
	}
	b := p.batch
	p.batch = nil
	return b.Close()
}

// settle notes the outcome of a record's sync.
func (l *Log) settle(p *pending, err error) error {
	if err == nil {
		err = l.inPlace() // else it was written to files that nobody will find
	}
	err = l.note(p, brief(err))
	if err == nil {
		err = l.witness.advance(p.mark)
	}
	if err != nil {
		return fmt.Errorf("make record %d durable, which is now unknown: %w", p.mark.Seq, err)
	}
	return nil
}

func (l *Log) note(p *pending, err error) error {
	tell := func() {}
	defer func() { tell() }() // once l.mu is let go of
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, p)
	if err != nil {
		if l.failed == 0 || p.mark.Seq < l.failed {
			l.failed = p.mark.Seq
		}
		tell = l.failLocked(err)
		return err
	}
	if l.failed != 0 && l.failed < p.mark.Seq {
		return fmt.Errorf("record %d before it failed: %w", l.failed, l.err)
	}
	if p.mark.Seq > l.durable.Seq {
		l.durable = p.mark
	}
	return nil
}

// fail makes every later append fail. A failed witness does so too: without
// it records could vanish unseen, and the promise is that they cannot.
func (l *Log) fail(err error) {
	l.mu.Lock()
	tell := l.failLocked(err)
	l.mu.Unlock()
	tell()
}

// failLocked is fail for who holds l.mu, and tells of it once he does not: the log
// may be on the disk that hangs.
func (l *Log) failLocked(err error) (tell func()) {
	if l.err != nil {
		return func() {}
	}
	err = brief(err)
	l.err = err
	close(l.broken)
	return func() {
		l.log.Error("store failed; it takes no more records until it is opened afresh", "dir", l.dir, "err", err)
	}
}

// Close waits for what was appended and for iterations under way, writes the
// witness in full, flushes Pebble so that the next opening has nothing to
// replay, and releases the directory. It must not be called from within an
// iteration. Later calls return what the first returned.
func (l *Log) Close() error {
	l.closeAll.Do(func() {
		if err := l.close(); err != nil {
			l.closeErr = fmt.Errorf("close store %s: %w", l.dir, brief(err))
		}
	})
	return l.closeErr
}

func (l *Log) close() error {
	l.refuse()
	l.writing.Do(func() {}) // if nobody has needed it, nobody will
	l.appending.Lock()      // a last Append comes to its end
	defer l.appending.Unlock()
	l.endReaders()
	for _, p := range l.underWay() {
		_ = p.wait() // its caller gets the error
	}
	l.compacting.Lock() // Compact sees that the log is closed, and ends
	defer l.compacting.Unlock()
	l.awaitReaders()
	l.watching.Wait()
	l.space.close()
	var err error
	if l.witness != nil {
		l.appender.close()
		err = l.witness.close()
	}
	err = errors.Join(err, l.closePebble())
	return errors.Join(err, l.lock.Close())
}

// refuse lets nothing new begin.
func (l *Log) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.closing)
}

func (l *Log) underWay() []*pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	under := make([]*pending, 0, len(l.pending))
	for p := range l.pending {
		under = append(under, p)
	}
	return under
}

func (l *Log) closePebble() error {
	l.mu.Lock()
	flush := l.wrote && l.err == nil
	l.mu.Unlock()
	err := l.watch.run(func() error {
		var err error
		if flush {
			err = l.watch.flush(l.db)
		}
		l.gate.leaving.Store(true)
		return errors.Join(err, l.db.Close())
	})
	if l.watch.over() != nil {
		return errors.Join(err, l.gate.close())
	}
	return err
}
