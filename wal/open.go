package wal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Open opens the store in dir. It fails with [ErrNotExist], [ErrForeign],
// [ErrLocked], [ErrVersion], [*CorruptError] or [*LostRecordsError], and then
// every file in dir is as it was, even under a log that needs repair: the
// store is first opened for reading and compared with its witness. So does a
// disk that is full ([Options.FullBelow], [store.ErrDiskFull]) unless it is
// opened for reading.
//
// It returns once the store can be read, by others too ([Options.NoSocket]), and
// changes no file of the store by then: the first
// append or checkpoint makes the store ready for writing, so that whoever finds
// damage in what he reads before leaves all of it as it was. A loss is accepted
// then, too. Should that fail (no space, say), the append does, and surely was
// not written; a loss is then either accepted or still there to be refused.
func Open(dir string, o Options) (*Log, error) {
	l, err := newLog(dir, o)
	if err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		return nil, errors.Join(err, l.lock.Close())
	}
	if o.ReadOnly {
		l.space.look() // for Condition
	} else {
		l.space.start()
		l.serveReaders()
	}
	return l, nil
}

// newLog finds the store, locks it, and reads its file STORE.
func newLog(dir string, o Options) (*Log, error) {
	o = o.withDefaults()
	s, err := survey(o.FS, dir)
	if err != nil {
		return nil, err
	}
	switch s {
	case stateAbsent:
		return nil, fmt.Errorf("open store %s: %w: the directory does not exist", dir, ErrNotExist)
	case stateEmpty:
		return nil, fmt.Errorf("open store %s: %w: the directory is empty", dir, ErrNotExist)
	case stateUnfinished:
		return nil, fmt.Errorf("open store %s: %w: its creation was interrupted; create it again", dir, ErrNotExist)
	}
	held, err := lock(o.FS, dir, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	stored, format, err := readStore(o.FS, dir)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return makeLog(dir, o, held, stored, format), nil
}

func (l *Log) open() error {
	t, err := readWitness(l.o.FS, l.dir)
	if err != nil {
		return err
	}
	if l.db, l.gate, err = l.openPebble(true); err != nil {
		return err
	}
	err = l.load()
	var loss *Loss
	if err == nil {
		loss, err = l.compareAll(t)
	}
	if err == nil && !l.o.ReadOnly {
		err = l.mayWrite()
	}
	if err != nil {
		return errors.Join(err, brief(l.db.Close()))
	}
	if loss != nil {
		l.history, l.losses = newHistory(), append(l.losses, *loss)
	}
	l.openForWriting = func() error { return l.makeWritable(t, loss != nil) }
	return nil
}

// mayWrite finds out without trying.
func (l *Log) mayWrite() error {
	if err := l.space.mayOpen(); err != nil {
		return fmt.Errorf("open store %s for writing: %w", l.dir, err)
	}
	if d, ok := l.o.FS.(disk); ok {
		if err := d.writable(l.dir); err != nil {
			return fmt.Errorf("open store %s: %w", l.dir, err)
		}
	}
	return nil
}

// awaitWriting goes on, once, where reading left. If that fails, l.err says so.
func (l *Log) awaitWriting() {
	if l.o.ReadOnly {
		return
	}
	l.writing.Do(func() {
		if err := l.openForWriting(); err != nil {
			l.fail(err)
		}
	})
}

// makeWritable opens Pebble for writing, which after a crash writes what is in
// its log into tables, while others may go on reading. With accept, the last of
// the losses is written down.
func (l *Log) makeWritable(t testimony, accept bool) error {
	if accept {
		if err := l.keepEvidence(); err != nil {
			return err
		}
	}
	db, g, err := l.openPebble(false)
	if err != nil {
		return errors.Join(err, g.close())
	}
	w, err := l.serve(db, g, t, accept)
	if err == nil {
		l.anchors, err = l.dropAnchors()
	}
	if err != nil {
		return errors.Join(err, l.watch.run(db.Close), g.close())
	}
	l.mu.Lock()
	l.witness = w
	l.mu.Unlock()
	l.appender = startAppender(l, db)
	l.exchange(db, g)
	l.watching.Go(l.watchDir)
	return nil
}

// serve clears away what a crash left behind and starts the witness.
func (l *Log) serve(db *pebble.DB, g *gate, t testimony, accept bool) (*witness, error) {
	for _, name := range []string{fileCreating, fileStoreNew, fileCheckpoint, fileWitnessNew} {
		if err := removeIfThere(g, g.PathJoin(l.dir, name)); err != nil {
			return nil, fmt.Errorf("open store %s: %w", l.dir, err)
		}
	}
	if accept {
		if err := l.accept(db); err != nil {
			return nil, err
		}
	}
	if l.stored != l.history {
		var err error
		if t, err = l.adopt(g); err != nil {
			return nil, err
		}
	}
	return openWitness(g, l.dir, l.history, t, l.durable, l.o.WitnessEvery, l.fail)
}

// openPebble opens the database behind a gate of its own.
func (l *Log) openPebble(readOnly bool) (*pebble.DB, *gate, error) {
	g := &gate{FS: l.o.FS, readOnly: readOnly, holding: !readOnly, watch: l.watch, space: l.space}
	o := pebbleOptions(g, l.watch)
	o.ReadOnly = readOnly
	late := newLateCompactions()
	o.Experimental.CompactionScheduler = late
	opened := make(chan *pebble.DB, 1)
	l.watch.opened.Store(false)
	err := l.watch.runOpen(func() error {
		db, err := pebble.Open(g.PathJoin(l.dir, dirPebble), o)
		l.watch.opened.Store(err == nil && !readOnly)
		if err == nil {
			late.begin()
		}
		opened <- db
		return err
	})
	if err == nil {
		return <-opened, g, nil
	}
	if _, gone := g.Stat(g.PathJoin(l.dir, dirPebble)); absent(gone) { // Pebble says it in plain text
		err = fmt.Errorf("the directory %s is missing: %w", dirPebble, gone)
	}
	if newer := newerPebble(g, l.dir); newer != nil {
		return nil, g, newer
	}
	if err = damaged(l.dir, err); !errors.As(err, new(*CorruptError)) {
		err = fmt.Errorf("open store %s: %w", l.dir, err)
	}
	return nil, g, err
}

// load learns where the log begins and ends.
func (l *Log) load() error {
	if err := l.meta(); err != nil {
		return err
	}
	points, err := l.loadPoints()
	if err != nil {
		return err
	}
	last, err := l.lastRow()
	if err != nil {
		return err
	}
	end := last.Mark
	for _, p := range points {
		if p.err == nil && p.mark.Seq > end.Seq {
			end = p.mark
		}
	}
	l.points, l.last, l.durable, l.epoch = points, end, end, end.Epoch
	for _, loss := range l.losses {
		l.epoch = max(l.epoch, loss.Witnessed.Epoch) // a lost record's epoch is not given out again
	}
	return l.findFloor()
}

// compareAll compares what was loaded with the witness. It returns a loss that
// is to be written down as accepted.
func (l *Log) compareAll(t testimony) (*Loss, error) {
	if l.acceptedBefore(t) {
		return nil, nil
	}
	lost, err := l.compare(t)
	if err != nil {
		return nil, err
	}
	l.lost = lost
	l.warnOfHole()
	if lost == nil {
		return nil, nil
	}
	if l.holeAtEnd() {
		lost.From = min(lost.From, l.hole.before.Revision+1)
		lost.Reason += "; " + l.hole.String()
	}
	if !l.o.AcceptLoss {
		return nil, lost
	}
	l.log.Error("opened with records lost, as asked for", "dir", l.dir,
		"from", lost.From, "to", lost.To, "recovered", lost.Recovered.Seq, "witnessed", lost.Witnessed.Seq, "reason", lost.Reason)
	if t.readable() && t.history == l.history {
		l.epoch = max(l.epoch, t.mark.Epoch)
	}
	if l.o.ReadOnly {
		return nil, nil
	}
	return &Loss{History: l.history, From: lost.From, Left: lost.Recovered, Witnessed: lost.Witnessed, Reason: lost.Reason}, nil
}

// compare returns what the witness knows and the store does not.
func (l *Log) compare(t testimony) (*LostRecordsError, error) {
	e := &LostRecordsError{Dir: l.dir, From: l.durable.Revision + 1, Recovered: l.durable}
	switch {
	case t.absent:
		e.Reason = "the file " + fileWitness + " is missing"
		return e, nil
	case !t.readable():
		e.Reason = fmt.Sprintf("the file %s is damaged (%s; %s)", fileWitness, t.badSlots[0], t.badSlots[1])
		return e, nil
	case t.history != l.history:
		e.Reason = fmt.Sprintf("the file %s is of history %s, the store of %s", fileWitness, t.history, l.history)
		return e, nil
	}
	e.To, e.Witnessed = t.mark.Revision, t.mark
	if t.mark.Seq > l.durable.Seq {
		e.Reason = fmt.Sprintf("record %d was on disk, and what is there ends at %d", t.mark.Seq, l.durable.Seq)
		return e, nil
	}
	return l.compareMark(t.mark, e)
}

// compareMark checks the place the witness names, unless it was let go.
func (l *Log) compareMark(want store.Mark, e *LostRecordsError) (*LostRecordsError, error) {
	got, known := l.markAt(want.Seq)
	if !known && want.Seq > l.floor {
		r, found, err := l.getRow(want.Seq)
		if err != nil {
			return nil, err
		}
		if !found {
			e.From, e.Reason = want.Revision, fmt.Sprintf("record %d was on disk and is missing", want.Seq)
			return e, nil
		}
		got, known = r.Mark, true
	}
	if !known || got == want {
		return nil, nil
	}
	e.From = want.Revision
	e.Reason = fmt.Sprintf("record %d is not the one that was on disk (revision %d, count %d, digest %x; was %d, %d, %x)",
		want.Seq, got.Revision, got.Count, got.Digest, want.Revision, want.Count, want.Digest)
	return e, nil
}
