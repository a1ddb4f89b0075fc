package wal

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// How bad a [Finding] is.
const (
	SeverityError   = "error"   // something is lost, damaged or inconsistent
	SeverityWarning = "warning" // nothing is lost, but it should not be so
	SeverityNote    = "note"    // it is known: a loss that was accepted
)

// Finding is something wrong in a store.
type Finding struct {
	Severity string `json:"severity"`
	// Place says where: "witness", "record 12", "checkpoint 9", "store".
	Place   string `json:"place"`
	Problem string `json:"problem"`
}

// Check reads everything the store in dir holds, and reports what is wrong:
// checksums, gaps, records that do not follow each other, checkpoints that
// disagree with the records, Pebble's tables, also where they hold rows that
// were let go, the witness, losses that were accepted. It goes on
// after a finding where it can. It never writes. The error is nil unless the
// check itself could not be made, as in a directory without a store or one in
// use.
//
// Then it calls further, unless that is nil, with the store as it was checked,
// open for reading: nobody has written in between. Its error is Check's. Where
// the store cannot be opened at all, that is a finding, and further not called.
func Check(ctx context.Context, dir string, o Options, report func(Finding), further func(*Log) error) error {
	o.ReadOnly, o.AcceptLoss = true, true // what is left is looked at all the same
	l, err := Open(dir, o)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		report(finding(corrupt))
		return nil
	}
	if err != nil {
		return err
	}
	err = l.Check(ctx, report)
	if err == nil && further != nil {
		err = further(l)
	}
	return errors.Join(err, l.Close())
}

func finding(e *CorruptError) Finding {
	if e.Seq == 0 {
		return Finding{SeverityError, "store", e.Err.Error()}
	}
	return Finding{SeverityError, fmt.Sprintf("%s %d", e.Place, e.Seq), e.Err.Error()}
}

// Check does what the function [Check] does, in a log that may be written to
// meanwhile: it looks at what is durable when it begins. Checkpoints wait until it
// is done, appends do not. What this opening has changed since is not looked at:
// files that tell of a loss it was opened to accept.
func (l *Log) Check(ctx context.Context, report func(Finding)) error {
	l.compacting.Lock() // so that nothing is let go of under it
	defer l.compacting.Unlock()
	v, err := l.beginReading()
	if err != nil {
		return fmt.Errorf("check store %s: %w", l.dir, err)
	}
	defer l.endReading(v)
	return l.check(ctx, v, report)
}

func (l *Log) check(ctx context.Context, v view, report func(Finding)) error {
	if l.lost != nil && l.o.ReadOnly {
		report(Finding{SeverityError, "witness", l.lost.Error()})
	}
	if err := l.checkWitness(report); err != nil {
		return err
	}
	for _, loss := range l.losses {
		report(Finding{SeverityNote, "store", loss.String()})
	}
	if l.hole.to > 0 && !l.holeInLoss() {
		report(Finding{SeverityWarning, fmt.Sprintf("record %d", l.hole.before.Seq+1), l.hole.String()})
	}
	d := &damage{report: report, tables: map[string]bool{}}
	for _, p := range l.newestFirst() {
		if err := l.checkPoint(ctx, v.db, p, d); err != nil {
			return err
		}
	}
	if err := l.checkRecords(ctx, v, d); err != nil {
		return err
	}
	return l.checkTables(ctx, v.db, d)
}

// damage is what was found of rows that are kept.
type damage struct {
	report func(Finding)
	found  bool
	tables map[string]bool // paths of tables of Pebble's that it was found in
}

func (d *damage) add(e *CorruptError) {
	d.found = true
	if table := pebble.ExtractDataCorruptionInfo(e); table != nil {
		d.tables[table.Path] = true
	}
	d.report(finding(e))
}

func (l *Log) checkWitness(report func(Finding)) error {
	t, err := l.readWitness()
	if err != nil {
		return err
	}
	if len(t.badSlots) == 1 {
		report(Finding{SeverityWarning, "witness", t.badSlots[0] + "; the other slot is good"})
	}
	return nil
}

// readWitness reads the file while this log does not write it.
func (l *Log) readWitness() (testimony, error) {
	l.mu.Lock()
	w := l.witness
	l.mu.Unlock()
	if w != nil {
		w.writing.Lock()
		defer w.writing.Unlock()
	}
	return readWitness(l.o.FS, l.dir)
}

func (l *Log) checkPoint(ctx context.Context, db *pebble.DB, p point, d *damage) error {
	err := l.prove(ctx, db, p)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		d.add(&CorruptError{Place: "checkpoint", Seq: p.mark.Seq, Err: corrupt.Err})
		return nil
	}
	return err
}

// checkRecords walks the records. After a finding the chain begins anew.
func (l *Log) checkRecords(ctx context.Context, v view, d *damage) error {
	points := map[uint64]store.Mark{}
	for _, p := range l.newestFirst() {
		if p.err == nil {
			points[p.mark.Seq] = p.mark
		}
	}
	c := chain{dir: l.dir, next: l.floor + 1}
	if m, ok := l.markAt(l.floor); ok {
		c.revision, c.known = m.Revision, true
	}
	for r, err := range l.rows(v.db, 0, v.end.Seq) {
		if err := l.mayRead(ctx, r.Seq); err != nil {
			return err
		}
		behind := r.Seq > 0 && r.Seq <= l.floor // a hole: it need not lead on
		if err == nil && !behind {
			err = c.link(r)
		}
		if m, ok := points[r.Seq]; ok && err == nil && m != r.Mark {
			err = c.corrupt(r.Seq, errors.New("the checkpoint that covers it says otherwise"))
		}
		if err == nil {
			continue
		}
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			return err
		}
		d.add(corrupt)
		if r.Seq == 0 { // Pebble cannot go on
			d.add(&CorruptError{Place: "record", Seq: c.next, Err: errUnread})
			c.next = v.end.Seq + 1
			break
		}
		if !behind {
			c = chain{dir: l.dir, next: r.Seq + 1}
		}
	}
	l.checkEnds(c, v.end.Seq, d)
	return nil
}

var errUnread = errors.New("it cannot be read, nor what is behind it in the same file")

// checkEnds looks for records missing where the checkpoints need them.
func (l *Log) checkEnds(c chain, last uint64, d *damage) {
	if c.next <= last && l.floor < last {
		d.add(&CorruptError{Place: "record", Seq: c.next, Err: errMissing})
	}
	for _, p := range l.newestFirst() {
		if p.err == nil && p.mark.Seq >= l.floor {
			return
		}
	}
	if l.floor > 0 {
		d.add(&CorruptError{Place: "record", Seq: l.floor, Err: errUncovered})
	}
}
