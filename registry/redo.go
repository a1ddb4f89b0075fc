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
	if err := p.group(group); err != nil {
		return err
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

// SkipTo goes on as if the revisions up to this one, which is not an earlier one
// than the draft's, had been given out: no operation led to them.
func (d *Draft) SkipTo(revision uint64) { d.next.revision = revision }

// group begins to read a group of rows.
func (p *parser) group(group []byte) error {
	p.Reset(group)
	if v := p.Uint(1 << 32); p.Err() == nil && v != rowsVersion {
		return versionError("rows", v)
	}
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
	w, err := p.row()
	switch {
	case err != nil:
		return err
	case w.since > revision:
		return &CorruptError{Key: string(w.key), Err: fmt.Errorf("changed at revision %d, which is after %d", w.since, revision)}
	case w.table != nil:
		return d.redoOther(w.table, w.key, w.body, w.deleted, w.since, hashRow(w.content))
	case w.deleted:
		return d.redoDelete(w.key)
	}
	return d.redoAgent(w.key, w.body, w.since, hashRow(w.content))
}

// written is a row as it stands in a group; its bytes are views.
type written struct {
	since     uint64
	table     *table // nil is the agents'
	key, body []byte
	deleted   bool
	content   []byte // what the digest covers
}

// row reads the next row of a group.
func (p *parser) row() (w written, err error) {
	w.since = p.Uint(1<<64 - 1)
	at := p.Pos()
	id := uint8(p.Uint(255))
	var text bool
	w.key, text = p.key()
	if w.deleted = p.Err() == nil && p.Nil(); !w.deleted {
		w.body = p.Bin()
	}
	if p.Err() != nil {
		return w, &CorruptError{Key: string(w.key), Err: p.Err()}
	}
	w.content = p.Span(at, p.Pos())
	w.table, err = tableOf(id, w.key, text)
	return w, err
}

// key reads the key of a row, a text or bytes, and says which it was. Which of
// them a table has is looked at later: of a newer table this version knows
// neither.
func (p *parser) key() (key []byte, text bool) {
	if p.IsBin() {
		return p.Bin(), false
	}
	return p.Str(), true
}

// tableOf finds the table of a row with this key; nil is the agents'.
func tableOf(id uint8, key []byte, text bool) (*table, error) {
	t := tables[id]
	if t == nil && id != agentTable {
		return nil, fmt.Errorf("table %d: %w", id, ErrVersion)
	}
	if want := t == nil || !t.bytes; text != want {
		return nil, &CorruptError{Key: string(key), Err: fmt.Errorf("keys of table %d are text: %v, this one: %v", id, want, text)}
	}
	return t, nil
}

func (d *Draft) redoAgent(key, body []byte, since uint64, share sum) error {
	e, err := d.body.entry(key, body, d.scratch)
	if err != nil {
		return err
	}
	e.since, e.share, e.hash = since, share, hashID(e.id)
	old, place := d.next.agents.find(e.id, e.hash)
	d.store(e, old, place)
	d.undo = d.undo[:0]
	return nil
}

// entry reads the body of an agent's row.
func (p *parser) entry(key, body []byte, scratch *buffer) (*entry, error) {
	p.Reset(body)
	if v := p.Uint(1 << 32); p.Err() == nil && v != agentVersion {
		return nil, versionError(fmt.Sprintf("agent %q", key), v)
	}
	e := &entry{status: p.status()}
	scratch.Bytes = append(append(scratch.Bytes[:0], key...), p.Rest()...)
	both := string(scratch.Bytes)
	e.id, e.info = AgentID(both[:len(key)]), both[len(key):]
	if err := e.readable(p); err != nil {
		return nil, &CorruptError{Key: string(key), Err: err}
	}
	return e, nil
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

func (d *Draft) redoOther(t *table, key, body []byte, deleted bool, since uint64, share sum) error {
	old := d.next.rows.get(t, string(key))
	if deleted {
		if old == nil {
			return &CorruptError{Key: string(key), Err: fmt.Errorf("a deletion in table %s of what is not there", t.name)}
		}
		d.storeRow(t, string(key), old, nil)
		return nil
	}
	if err := t.prove(string(key), body); err != nil {
		return err
	}
	d.storeRow(t, string(key), old, &row{table: t, key: string(key), body: string(body), since: since, share: share})
	return nil
}

// prove says whether a body that was read decodes.
func (t *table) prove(key string, body []byte) error {
	err := t.check(key, body)
	if err == nil || errors.Is(err, ErrVersion) {
		return err
	}
	return &CorruptError{Key: key, Err: fmt.Errorf("table %s: %w", t.name, err)}
}
