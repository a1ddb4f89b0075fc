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
	err = l.check(ctx, report)
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

func (l *Log) check(ctx context.Context, report func(Finding)) error {
	if l.lost != nil {
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
		if err := l.checkPoint(ctx, p, d); err != nil {
			return err
		}
	}
	if err := l.checkRecords(ctx, d); err != nil {
		return err
	}
	return l.checkTables(ctx, d)
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
	t, err := readWitness(l.o.FS, l.dir)
	if err != nil {
		return err
	}
	if len(t.badSlots) == 1 {
		report(Finding{SeverityWarning, "witness", t.badSlots[0] + "; the other slot is good"})
	}
	return nil
}

func (l *Log) checkPoint(ctx context.Context, p point, d *damage) error {
	err := l.prove(ctx, l.db, p)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		d.add(&CorruptError{Place: "checkpoint", Seq: p.mark.Seq, Err: corrupt.Err})
		return nil
	}
	return err
}

// checkRecords walks the records. After a finding the chain begins anew.
func (l *Log) checkRecords(ctx context.Context, d *damage) error {
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
	for r, err := range l.rows(l.db, 0, l.durable.Seq) {
		if err := ctx.Err(); err != nil {
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
			c.next = l.durable.Seq + 1
			break
		}
		if !behind {
			c = chain{dir: l.dir, next: r.Seq + 1}
		}
	}
	l.checkEnds(c, d)
	return nil
}

var errUnread = errors.New("it cannot be read, nor what is behind it in the same file")

// checkEnds looks for records missing where the checkpoints need them.
func (l *Log) checkEnds(c chain, d *damage) {
	if c.next <= l.durable.Seq && l.floor < l.durable.Seq {
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
