package registry

import (
	"fmt"
	"strings"
)

// PutAgent writes down an agent: new, or in place of what is known of its ID.
// Writing what stands there already changes nothing. It returns a
// [*FieldError] if a or s is not acceptable.
func (d *Draft) PutAgent(a Agent, s Status) error {
	if err := a.Validate(); err != nil {
		return err
	}
	d.scratch.Reset()
	d.scratch.info(&a)
	if n := len(d.scratch.Bytes); n > MaxAgent {
		return badField(fmt.Sprintf("takes %d bytes, at most %d are allowed", n, MaxAgent), "agent")
	}
	return d.put(a.ID, d.scratch.Bytes, s)
}

// PutStatus writes down what was decided about an agent and keeps what the
// agent said of itself. An ID that is not known is written down with nothing
// but s, as an import of unreachable or gone agents needs it. It returns a
// [*FieldError] if id or s is not acceptable.
func (d *Draft) PutStatus(id AgentID, s Status) error { return d.put(id, nil, s) }

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

// put keeps the info that is there if info is nil.
func (d *Draft) put(id AgentID, info []byte, s Status) error {
	if err := s.Validate(); err != nil {
		return err
	}
	status, hash := s.pack(), hashID(id)
	old, place := d.next.agents.find(id, hash)
	if old == nil {
		if err := id.Validate(); err != nil {
			return err
		}
	} else if status.equal(&old.status) && (info == nil || string(info) == old.info) {
		return nil
	}
	e := &entry{status: status, since: d.next.revision, hash: hash}
	if old != nil && old.status.state == s.State {
		e.since = old.since
	}
	if old != nil && info == nil {
		e.id, e.info = old.id, old.info
	} else {
		e.own(id, info)
	}
	e.share = hashRow(d.log.agentRow(e, d.scratch))
	d.changes++
	d.store(e, old, place)
	return nil
}

// own gives e copies of id and info, in one piece of memory.
func (e *entry) own(id AgentID, info []byte) {
	var b strings.Builder
	b.Grow(len(id) + len(info))
	b.WriteString(string(id))
	b.Write(info)
	e.id, e.info = AgentID(b.String()[:len(id)]), b.String()[len(id):]
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
func (d *Draft) putRow(t *table, key string, body []byte) {
	old := d.next.rows.get(t, key)
	if old != nil && old.body == string(body) {
		return
	}
	v := &row{table: t, key: strings.Clone(key), body: string(body), since: d.next.revision}
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
