package registry

import (
	"fmt"
	"strings"
	"sync"
)

// Encoded is an agent, validated and encoded: what an operation can prepare
// before a draft needs it. It does not change.
type Encoded struct {
	id   AgentID
	info string // in one piece of memory with id
}

// encoders has buffers for Encode.
var encoders = sync.Pool{New: func() any { return newBuffer() }}

// Encode returns a [*FieldError] if a is not acceptable. It keeps no part of a.
func Encode(a Agent) (Encoded, error) {
	if err := a.Validate(); err != nil {
		return Encoded{id: a.ID}, err
	}
	b := encoders.Get().(*buffer)
	defer encoders.Put(b)
	b.Reset()
	b.Bytes = append(b.Bytes, a.ID...)
	b.info(&a)
	n := len(a.ID)
	if size := len(b.Bytes) - n; size > MaxAgent {
		return Encoded{id: a.ID}, badField(fmt.Sprintf("takes %d bytes, at most %d are allowed", size, MaxAgent), "agent")
	}
	both := string(b.Bytes)
	return Encoded{id: AgentID(both[:n]), info: both[n:]}, nil
}

// ID names the agent.
func (e Encoded) ID() AgentID { return e.id }

// Size is how many bytes the agent takes.
func (e Encoded) Size() int { return len(e.id) + len(e.info) }

// Incarnation is that of the agent.
func (e Encoded) Incarnation() string { return incarnationOf(e.info) }

// Agent decodes the agent.
func (e Encoded) Agent() (Agent, error) { return Entry{&entry{id: e.id, info: e.info}}.Agent() }

// PutAgent writes down an agent: new, or in place of what is known of its ID.
// Writing what stands there already changes nothing. It returns a
// [*FieldError] if a or s is not acceptable.
func (d *Draft) PutAgent(a Agent, s Status) error {
	e, err := Encode(a)
	if err != nil {
		return err
	}
	return d.PutEncoded(e, s)
}

// PutEncoded does what PutAgent does, for an agent that [Encode] accepted.
func (d *Draft) PutEncoded(a Encoded, s Status) error { return d.put(a.id, a.info, s) }

// PutStatus writes down what was decided about an agent and keeps what the
// agent said of itself. An ID that is not known is written down with nothing
// but s, as an import of unreachable or gone agents needs it. It returns a
// [*FieldError] if id or s is not acceptable.
func (d *Draft) PutStatus(id AgentID, s Status) error { return d.put(id, "", s) }

// DeleteAgent forgets an agent, and reports whether it was known.
func (d *Draft) DeleteAgent(id AgentID) bool {
	old, place := d.next.agents.find(id, hashID(id))
	if old == nil {
		return false
	}
	d.log.rowHead(d.next.revision, agentTable, string(id))
	d.log.Nil()
	d.changes++
	d.erase(old, place)
	return true
}

// put keeps the info that is there if info is empty.
func (d *Draft) put(id AgentID, info string, s Status) error {
	if err := s.Validate(); err != nil {
		return err
	}
	status, hash := s.pack(), hashID(id)
	old, place := d.next.agents.find(id, hash)
	if old == nil {
		if err := id.Validate(); err != nil {
			return err
		}
	} else if status.equal(&old.status) && (info == "" || info == old.info) {
		return nil
	}
	e := &entry{id: id, info: info, status: status, since: d.next.revision, hash: hash}
	switch {
	case info == "" && old != nil:
		e.id, e.info = old.id, old.info
	case info == "":
		e.id = AgentID(strings.Clone(string(id)))
	}
	if old != nil && old.status.state == s.State {
		e.since = old.since
	}
	e.share = hashRow(d.log.agentRow(e, d.scratch))
	d.changes++
	d.store(e, old, place)
	return nil
}

// store puts e in the place of old, or adds it if old is nil.
func (d *Draft) store(e, old *entry, place uint32) {
	t := &d.next.agents
	d.next.sum.add(e.share)
	if old != nil {
		d.next.sum.sub(old.share)
		t.replace(place, old, e, d.edit)
		d.undo = append(d.undo, undo{place: place, old: old, new: e})
		return
	}
	before := *t
	place = t.add(e, d.edit)
	if t.index == before.index {
		d.undo = append(d.undo, undo{place: place, new: e})
		return
	}
	kept := before // on the heap only in this rare case
	d.undo = append(d.undo, undo{laidOut: &kept})
}

func (d *Draft) erase(old *entry, place uint32) {
	d.next.sum.sub(old.share)
	d.next.agents.remove(place, old, d.edit)
	d.undo = append(d.undo, undo{place: place, old: old})
}

// putRow writes body under key. Writing what stands there changes nothing.
func (d *Draft) putRow(t *table, key, body string) {
	old := d.next.rows.get(t, key)
	if old != nil && old.body == body {
		return
	}
	v := &row{table: t, key: strings.Clone(key), body: body, since: d.next.revision}
	v.share = hashRow(d.log.row(v))
	d.changes++
	d.storeRow(t, key, old, v)
}

// deleteRow reports whether there was something to delete.
func (d *Draft) deleteRow(t *table, key string) bool {
	old := d.next.rows.get(t, key)
	if old == nil {
		return false
	}
	d.log.rowHead(d.next.revision, t.id, key)
	d.log.Nil()
	d.changes++
	d.storeRow(t, key, old, nil)
	return true
}

func (d *Draft) storeRow(t *table, key string, old, v *row) {
	if old != nil {
		d.next.sum.sub(old.share)
	}
	if v != nil {
		d.next.sum.add(v.share)
	}
	d.setRow(t, key, v)
	d.undo = append(d.undo, undo{table: t, key: key, oldRow: old})
}

func (d *Draft) setRow(t *table, key string, v *row) {
	if !d.ownRows {
		d.next.rows, d.ownRows = d.next.rows.copy(), true
	}
	if v == nil {
		d.next.rows.tree.Delete(t.key(key))
		return
	}
	d.next.rows.tree.Set(t.key(key), v)
}
