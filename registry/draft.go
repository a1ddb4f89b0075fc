package registry

import (
	"fmt"
	"sync/atomic"
)

// Draft is a registry in the making: a copy of one that can be changed. Making
// it costs O(1), and each change the copy of a few nodes at most once a draft.
// It is for one goroutine; the registry it started from does not notice.
//
// Changes are made inside [Draft.Try] and recorded as rows, which [Draft.Rows]
// returns.
type Draft struct {
	next Registry
	edit uint64
	// Rows recorded since Reset, behind the version that starts a group.
	log     *buffer
	scratch *buffer
	redo    parser
	body    parser
	// What takes back the changes of the operation under way, latest last.
	undo []undo
	// changes counts the rows in log.
	changes int
	// ownRows says that next.rows is the draft's own copy.
	ownRows bool
	// touched keeps the compiler from leaving out what Expect reads.
	touched uint64
}

// undo takes back one change.
type undo struct {
	place    uint32
	old, new *entry // of agents; a nil old was added, a nil new removed
	laidOut  *agents
	table    *table
	key      string
	oldRow   *row
}

// edits numbers the drafts of the process.
var edits atomic.Uint64

// Draft starts a draft of what follows r. Any number may be started, from any
// goroutine.
func (r *Registry) Draft() *Draft {
	d := &Draft{log: newBuffer(), scratch: newBuffer()}
	d.Reset(r)
	return d
}

// Reset starts d over on r, keeping only its buffers. What [Draft.Rows]
// returned before is no longer valid.
func (d *Draft) Reset(r *Registry) {
	d.next, d.edit, d.ownRows = *r, edits.Add(1), false
	d.undo, d.changes = d.undo[:0], 0
	d.log.Reset()
	d.log.Uint(rowsVersion)
}

// Freeze returns the registry that the draft has become. The draft goes on
// from there and no longer touches it.
func (d *Draft) Freeze() *Registry {
	next := d.next
	d.edit, d.ownRows = edits.Add(1), false
	return &next
}

// Revision, Digest and Count are those that Freeze would give now.
func (d *Draft) Revision() uint64 { return d.next.revision }

// Digest is that of the content as it stands.
func (d *Draft) Digest() Digest { return d.next.Digest() }

// Count is the number of entries as it stands.
func (d *Draft) Count() uint64 { return d.next.Count() }

// Entry returns the agent with this ID as the draft has it.
func (d *Draft) Entry(id AgentID) (Entry, bool) { return d.next.Entry(id) }

// Rows is the group of rows recorded so far, for [Draft.Redo]. It is valid
// until Reset.
func (d *Draft) Rows() []byte { return d.log.Bytes }

// Changes is the number of rows recorded so far.
func (d *Draft) Changes() int { return d.changes }

// Try runs f as one operation. If f returns an error or panics, everything f
// did is taken back, and the error (or the panic, as an error) returned. If f
// changed something, the revision grows by one and changed is true.
func (d *Draft) Try(f func(*Draft) error) (changed bool, err error) {
	d.undo = d.undo[:0]
	before, logged, changes := d.next, len(d.log.Bytes), d.changes
	d.next.revision++
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("operation panicked: %v", p)
		}
		if err != nil {
			d.takeBack()
			d.log.Bytes, d.changes = d.log.Bytes[:logged], changes
			changed = false
		}
		if !changed {
			d.next.revision, d.next.sum, d.next.agents.next = before.revision, before.sum, before.agents.next
		}
	}()
	err = f(d)
	return d.changes > changes, err
}

func (d *Draft) takeBack() {
	t := &d.next.agents
	for i := len(d.undo) - 1; i >= 0; i-- {
		switch u := d.undo[i]; {
		case u.laidOut != nil:
			*t = *u.laidOut // also takes back the arrival that caused it
		case u.table != nil:
			d.setRow(u.table, u.key, u.oldRow)
		case u.old == nil:
			t.remove(u.place, u.new, d.edit)
		case u.new == nil:
			t.slots.set(u.place, u.old, d.edit)
			t.count(u.old, 1)
		default:
			t.replace(u.place, u.new, u.old, d.edit)
		}
	}
}
