package wal

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// hole is where records are missing and a checkpoint stands in for them. A
// checkpoint is a table of its own, durable at once, while the records it
// covers may still be in Pebble's log alone: it outlives them when the disk
// loses the end of that log.
//
// The content of the registry is all there then, unless the witness knows of
// more; gone is only how it came about. So a hole is no reason not to open a
// store. It is logged, and Check reports it as a warning; where it was part of
// a loss, the loss says so, and once that is accepted nobody is warned of it
// again. Nothing is deleted for it, so that what is before it may be looked at;
// but the store does not count on that: its floor is the checkpoint, and
// Compact lets go of the rest in its time.
//
// Nothing is written down for it either. A hole ends at a checkpoint whose own
// record is missing, and stays recognizable by that when records follow: no
// other loss leaves such a gap, and Compact leaves none, since the oldest
// checkpoint it keeps is where the records begin.
type hole struct {
	before store.Mark // the last place known before it
	to     uint64     // the last record that is missing; 0 if there is no hole
}

func (h hole) String() string {
	missing := fmt.Sprintf("records %d to %d are missing", h.before.Seq+1, h.to)
	if h.before.Seq+1 == h.to {
		missing = fmt.Sprintf("record %d is missing", h.to)
	}
	return fmt.Sprintf("%s; what was in the registry then is in checkpoint %d, from where on the log can be read", missing, h.to)
}

// findFloor learns where the records begin that can be read through to the end,
// and whether a hole is before them.
func (l *Log) findFloor() error {
	first, err := l.firstRow()
	if err != nil {
		return err
	}
	if first > 0 {
		l.floor = first - 1
	}
	for _, p := range l.newestFirst() {
		if p.mark.Seq <= l.floor {
			break
		}
		there, err := l.hasRow(p.mark.Seq)
		if err != nil {
			return err
		}
		if !there && p.mark.Seq <= l.durable.Seq { // else it is damaged, and the records end before
			l.floor = p.mark.Seq
			break
		}
	}
	return l.findHole(first)
}

// findHole looks for what is left before the floor: Compact would have left
// nothing. Where all is gone before the records that follow, nothing tells a
// hole from what was let go.
func (l *Log) findHole(first uint64) error {
	before, err := l.lastBefore(l.floor)
	if err == nil && l.floor > l.begins && (before.Seq > 0 || first == 0) {
		l.hole = hole{before, l.floor}
	}
	return err
}

// lastBefore returns the last place before a record of which the store still
// knows, from a record or a checkpoint, or a zero mark.
func (l *Log) lastBefore(seq uint64) (last store.Mark, err error) {
	for _, p := range l.newestFirst() {
		if p.err == nil && p.mark.Seq < seq {
			last = p.mark
			break
		}
	}
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: appendRecordKey(nil, last.Seq), UpperBound: appendRecordKey(nil, seq)})
	if err != nil {
		return last, damaged(l.dir, err)
	}
	defer l.closeIter(it)
	if it.Last() {
		r, err := l.row(it)
		if err == nil {
			last = r.Mark
		}
		return last, exceptDamage(err)
	}
	return last, exceptDamage(damaged(l.dir, it.Error()))
}

// hasRow reports whether the record seq is there, damaged or not.
func (l *Log) hasRow(seq uint64) (bool, error) {
	_, found, err := l.getRow(seq)
	return found, exceptDamage(err)
}

// exceptDamage passes over damage, which is for whoever reads what is damaged.
func exceptDamage(err error) error {
	if isDamage(err) {
		return nil
	}
	return err
}

// holeAtEnd reports whether nothing follows the hole yet: then it is part of
// whatever loss is found now.
func (l *Log) holeAtEnd() bool { return l.hole.to > 0 && l.hole.to == l.durable.Seq }

// holeInLoss reports whether the hole is part of a loss, which tells of it.
func (l *Log) holeInLoss() bool {
	if l.lost != nil && l.holeAtEnd() {
		return true
	}
	for _, loss := range l.losses {
		if loss.Left.Seq == l.hole.to {
			return true
		}
	}
	return false
}

// warnOfHole logs a hole that nothing else tells of.
func (l *Log) warnOfHole() {
	if l.hole.to > 0 && !l.holeInLoss() {
		l.log.Warn("records are missing that a checkpoint stands in for; no content is lost", "dir", l.dir,
			"from", l.hole.before.Seq+1, "to", l.hole.to)
	}
}
