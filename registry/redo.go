package registry

import (
	"errors"
	"fmt"
)

// ErrVersion says that bytes were written by a newer version of this module;
// nothing is wrong with them.
var ErrVersion = errors.New("written by a newer version")

// Redo applies rows that [Draft.Rows] or [Registry.Chunks] made, and sets the
// revision. It decides nothing and records nothing. An error is a
// [*CorruptError], or [ErrVersion]; after it the draft is good for nothing.
// Redo keeps no part of group.
func (d *Draft) Redo(group []byte, revision uint64) error {
	p := &d.redo
	p.reset(group)
	if v := p.uint(1 << 32); p.err == nil && v != rowsVersion {
		return versionError("rows", v)
	}
	for p.more() {
		if err := d.redoRow(p); err != nil {
			return err
		}
	}
	if p.err != nil {
		return &CorruptError{Err: p.err}
	}
	d.next.revision = revision
	d.undo = d.undo[:0]
	return nil
}

func versionError(what string, v uint64) error {
	if v == 0 {
		return &CorruptError{Err: fmt.Errorf("%s of version 0", what)}
	}
	return fmt.Errorf("%s of version %d: %w", what, v, ErrVersion)
}

func (d *Draft) redoRow(p *parser) error {
	since := p.uint(1<<64 - 1)
	at := p.pos()
	tableID := uint8(p.uint(255))
	key := p.str()
	deleted := p.err == nil && p.null()
	var body []byte
	if !deleted {
		body = p.bin()
	}
	if p.err != nil {
		return &CorruptError{Key: string(key), Err: p.err}
	}
	content := p.src[at:p.pos()]
	if tableID == agentTable {
		if deleted {
			return d.redoDelete(key)
		}
		return d.redoAgent(key, body, since, hashRow(content))
	}
	return d.redoOther(tableID, key, body, deleted, since, hashRow(content))
}

func (d *Draft) redoAgent(key, body []byte, since uint64, share sum) error {
	p := &d.body
	p.reset(body)
	if v := p.uint(1 << 32); p.err == nil && v != agentVersion {
		return versionError(fmt.Sprintf("agent %q", key), v)
	}
	e := &entry{status: p.status(), since: since, share: share}
	if p.err == nil {
		p.err = e.status.Validate()
	}
	if p.err != nil {
		return &CorruptError{Key: string(key), Err: p.err}
	}
	e.own(AgentID(key), body[p.pos():])
	e.hash = hashID(e.id)
	old, place := d.next.agents.find(e.id, e.hash)
	d.store(e, old, place)
	d.undo = d.undo[:0]
	return nil
}

func (d *Draft) redoDelete(key []byte) error {
	id := AgentID(key)
	old, place := d.next.agents.find(id, hashID(id))
	if old == nil {
		return &CorruptError{Key: string(key), Err: errors.New("a deletion of an agent that is not there")}
	}
	d.erase(old, place)
	return nil
}

func (d *Draft) redoOther(id uint8, key, body []byte, deleted bool, since uint64, share sum) error {
	t := tables[id]
	if t == nil {
		return fmt.Errorf("table %d: %w", id, ErrVersion)
	}
	old := d.next.rows.get(t, string(key))
	if deleted {
		if old == nil {
			return &CorruptError{Key: string(key), Err: fmt.Errorf("a deletion in table %s of what is not there", t.name)}
		}
		d.storeRow(t, string(key), old, nil)
		return nil
	}
	if err := t.check(string(key), body); err != nil {
		if errors.Is(err, ErrVersion) {
			return err
		}
		return &CorruptError{Key: string(key), Err: fmt.Errorf("table %s: %w", t.name, err)}
	}
	d.storeRow(t, string(key), old, &row{table: t, key: string(key), body: string(body), since: since, share: share})
	return nil
}
