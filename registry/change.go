package registry

import (
	"fmt"
	"iter"
	"strings"
)

// Change is what became of one entry of one table.
type Change struct {
	Table   string // "agents", "master", "keys" or "pods"
	Key     string // of agents and pods the ID; see Item for that of keys
	Deleted bool
	// Agent is the agent as it is now, unless it was deleted. Its nil entry
	// must not be asked.
	Agent Entry
	body  string // what an entry of another table is now, encoded
	since uint64 // revision of the change
}

// Master is who leads now, if the change says so.
func (c Change) Master() (Master, bool) {
	if c.Table != masterTable.name || c.Deleted {
		return Master{}, false
	}
	m, err := parseMaster([]byte(c.body))
	return m, err == nil
}

// Item says which key of a user table changed, if one did, and what stands
// there now.
func (c Change) Item() (table, key, value string, ok bool) {
	if c.Table != keyTable.name {
		return "", "", "", false
	}
	if !c.Deleted {
		value = c.body[len(keyHead):]
	}
	table, key, ok = strings.Cut(c.Key, nul)
	return table, key, value, ok
}

// Pod is the pod as it is now, if the change is of one and it was not deleted.
// Its revision is that of the change.
func (c Change) Pod() (Pod, bool) {
	if c.Table != podTable.name || c.Deleted {
		return Pod{}, false
	}
	p, err := parsePod(c.Key, []byte(c.body))
	p.Revision = c.since
	return p, err == nil
}

// Changes reads a group of rows that [Draft.Rows] or [Rows.Take] made: one
// change for each, in the order in which they were made. The error is a
// [*CorruptError] or [ErrVersion], and the end.
func Changes(group []byte) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		var p, body parser
		if err := p.group(group); err != nil {
			yield(Change{}, err)
			return
		}
		scratch := newBuffer()
		for p.More() {
			w, err := p.row()
			var c Change
			if err == nil {
				c, err = w.change(&body, scratch)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
		if p.Err() != nil {
			yield(Change{}, &CorruptError{Err: p.Err()})
		}
	}
}

func (w *written) change(body *parser, scratch *buffer) (Change, error) {
	c := Change{Table: "agents", Key: string(w.key), Deleted: w.deleted}
	if w.table != nil {
		c.Table = w.table.name
		if w.deleted {
			return c, nil
		}
		c.body, c.since = string(w.body), w.since
		return c, w.table.prove(c.Key, w.body)
	}
	if w.deleted {
		return c, nil
	}
	e, err := body.entry(w.key, w.body, scratch)
	if err != nil {
		return c, err
	}
	e.since = w.since
	c.Agent = Entry{e}
	return c, nil
}

// Rows takes a group of rows apart, operation by operation.
type Rows struct {
	p    parser
	head int // bytes of what begins a group
	part []byte
}

// ReadRows begins to read a group, which must not change meanwhile. The error
// is a [*CorruptError] or [ErrVersion].
func ReadRows(group []byte) (*Rows, error) {
	r := &Rows{}
	if err := r.p.group(group); err != nil {
		return nil, err
	}
	r.head = r.p.Pos()
	return r, nil
}

// Take returns the next n rows as a group of their own, valid until the next
// Take. The error is a [*CorruptError].
func (r *Rows) Take(n uint64) ([]byte, error) {
	from := r.p.Pos()
	for range n {
		if !r.p.More() {
			return nil, &CorruptError{Err: fmt.Errorf("there are fewer than the %d rows that an operation says it has", n)}
		}
		if _, err := r.p.row(); err != nil {
			return nil, err
		}
	}
	r.part = append(append(r.part[:0], r.p.Span(0, r.head)...), r.p.Span(from, r.p.Pos())...)
	return r.part, nil
}

// End says whether the rows that were taken are all.
func (r *Rows) End() error {
	if err := r.p.End(); err != nil {
		return &CorruptError{Err: fmt.Errorf("rows that no operation has: %w", err)}
	}
	return nil
}
