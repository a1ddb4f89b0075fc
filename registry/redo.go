package registry

import (
	"errors"
	"fmt"
)

// ErrVersion says that bytes were written by a newer version of this module;
// nothing is wrong with them.
var ErrVersion = errors.New("written by a newer version")

// Redo applies rows that [Draft.Rows] or [Registry.Chunks] made, and sets the
// revision, which no row may be later than. It decides nothing and records
// nothing. An error is a [*CorruptError], or [ErrVersion]; after it the draft is
// good for nothing. Redo does not decode what agents say of themselves further
// than to their incarnation; [Registry.Check] does. It keeps no part of group.
func (d *Draft) Redo(group []byte, revision uint64) error {
	p := &d.redo
	p.Reset(group)
	if v := p.Uint(1 << 32); p.Err() == nil && v != rowsVersion {
		return versionError("rows", v)
	}
	for p.More() {
		if err := d.redoRow(p, revision); err != nil {
			return err
		}
	}
	if p.Err() != nil {
		return &CorruptError{Err: p.Err()}
	}
	d.next.revision = revision
	d.undo = d.undo[:0]
	return nil
}

// Reserve makes room for n agents, so that redoing a large registry need not
// make it again and again. It only saves time.
func (d *Draft) Reserve(n uint64) {
	if n = min(n, maxReserved); n > uint64(d.next.agents.len()) {
		d.next.agents.layOut(int(n), d.edit)
	}
}

// maxReserved bounds what a number in a damaged store can make Reserve take:
// 32 MiB.
const maxReserved = 1 << 20

func versionError(what string, v uint64) error {
	if v == 0 {
		return &CorruptError{Err: fmt.Errorf("%s of version 0", what)}
	}
	return fmt.Errorf("%s of version %d: %w", what, v, ErrVersion)
}

func (d *Draft) redoRow(p *parser, revision uint64) error {
	since := p.Uint(1<<64 - 1)
	at := p.Pos()
	tableID := uint8(p.Uint(255))
	key := p.Str()
	deleted := p.Err() == nil && p.Nil()
	var body []byte
	if !deleted {
		body = p.Bin()
	}
	if p.Err() != nil {
		return &CorruptError{Key: string(key), Err: p.Err()}
	}
	if since > revision {
		return &CorruptError{Key: string(key), Err: fmt.Errorf("changed at revision %d, which is after %d", since, revision)}
	}
	content := p.Span(at, p.Pos())
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
	p.Reset(body)
	if v := p.Uint(1 << 32); p.Err() == nil && v != agentVersion {
		return versionError(fmt.Sprintf("agent %q", key), v)
	}
	e := &entry{status: p.status(), since: since, share: share}
	d.scratch.Bytes = append(append(d.scratch.Bytes[:0], key...), p.Rest()...)
	both := string(d.scratch.Bytes)
	e.id, e.info = AgentID(both[:len(key)]), both[len(key):]
	if err := e.readable(p); err != nil {
		return &CorruptError{Key: string(key), Err: err}
	}
	e.hash = hashID(e.id)
	old, place := d.next.agents.find(e.id, e.hash)
	d.store(e, old, place)
	d.undo = d.undo[:0]
	return nil
}

// readable checks what methods of Entry and Draft rely on; p has read the
// status and stands before the info. The rest of the info is left to Agent.
func (e *entry) readable(p *parser) error {
	if p.Err() != nil {
		return p.Err()
	}
	s := e.status.unpack()
	if err := s.Validate(); err != nil {
		return err
	}
	if err := e.id.Validate(); err != nil {
		return err
	}
	if e.info != "" && !endsBeforeIncarnation(e.info) {
		p.incarnation()
	}
	return p.Err()
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
