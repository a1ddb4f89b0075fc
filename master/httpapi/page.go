package httpapi

import (
	"iter"
	"net/url"
	"slices"

	"github.com/eaba02dc/registrar/master/leaves"
)

// question is what somebody asks about a state: the parameters that he gave, and
// what he may see.
type question struct {
	url.Values
	view View
}

// asksFor reports whether a question that may name one thing means this one.
func (q *question) asksFor(name, id string) bool { return !q.Has(name) || q.Get(name) == id }

// page is an answer in the making: bytes of its own in b, and between them those
// that leaves remember, which all readers share. Nothing is ever put together as
// a whole.
type page struct {
	b     []byte
	cut   int // what stands in b before it is in parts
	parts []part
}

// part is a piece of an answer.
type part struct {
	bytes []byte
	// of has the bytes, and may have them packed, if all share them.
	of *leaves.Rendering
	// later makes the bytes, of what there was no room to remember; it appends them.
	later func([]byte) []byte
}

// len is how many bytes a part has, if it is there.
func (p *part) len() int {
	if p.of != nil {
		return p.of.Len()
	}
	return len(p.bytes)
}

// add adds what is one element, or several, of the array that is open in p.b.
func (p *page) add(one part) {
	if one.len() == 0 && one.later == nil {
		return
	}
	if behindShared := len(p.parts) > 0 && p.cut == len(p.b); behindShared || p.b[len(p.b)-1] != '[' {
		p.b = append(p.b, ',')
	}
	if one.bytes != nil { // nobody shares them: they are as good here
		p.b = append(p.b, one.bytes...)
		return
	}
	p.parts = append(p.parts, part{bytes: p.b[p.cut:len(p.b):len(p.b)]}, one)
	p.cut = len(p.b)
}

// finished is all of it.
func (p *page) finished() []part { return append(p.parts, part{bytes: p.b[p.cut:]}) }

// kind is a kind of value as it looks in a form.
type kind[V comparable] struct {
	form leaves.Form
	one  func([]byte, V) []byte
	// size is about how many bytes one makes. Whoever asks it of several values before
	// he renders any of them gets them into the cache together, not one after another:
	// of a large cluster nothing is there.
	size func(V) int
	note func([]V) *note // nil if there is nothing to note
	// same reports whether what is noted of a value holds for another one.
	same func(old, now V) bool
}

// The forms in which leaves remember what they look like.
const (
	asInState leaves.Form = iota
	asInSlaves
)

// note is what is remembered of the values of a leaf beside what they look like, if
// somebody asked for it.
type note struct {
	roles []string // that they belong to, each once; what belongs to nobody is not there
	used  totals   // by tasks or executors

	index map[string]bool // of roles, while they are noted, if they are many
}

// noteOf finds what was noted of a leaf, or notes it.
func (k *kind[V]) noteOf(l *leaves.Leaf[V]) *note {
	if k.note == nil {
		return &note{}
	}
	r := l.Remembered(k.form)
	if r != nil && r.Note() != nil {
		return r.Note().(*note)
	}
	n := k.noted(l.Values())
	if r != nil {
		r.SetNote(n)
	}
	return n
}

func (k *kind[V]) noted(values []V) *note {
	n := k.note(values)
	n.index = nil
	return n
}

// stillNoted is what was noted of the values that were in a leaf before, if it holds
// for those that are there now: only those are looked at that changed.
func (k *kind[V]) stillNoted(l *leaves.Leaf[V]) any {
	now := l.Values()
	before, r := l.Before(k.form)
	if r == nil || r.Note() == nil || len(before) != len(now) {
		return nil
	}
	for i, v := range now {
		if v != before[i] && !k.same(before[i], v) {
			return nil
		}
	}
	return r.Note()
}

// fewRoles are those that are looked through one by one.
const fewRoles = 16

// of notes to whom something belongs.
func (n *note) of(role string) {
	if n.index[role] || n.index == nil && slices.Contains(n.roles, role) {
		return
	}
	n.roles = append(n.roles, role)
	switch {
	case n.index != nil:
		n.index[role] = true
	case len(n.roles) > fewRoles:
		n.index = make(map[string]bool, 2*fewRoles)
		for _, role := range n.roles {
			n.index[role] = true
		}
	}
}

// addLeaves adds the values of leaves to the array that is open in p. Those of a leaf
// that is seen only in part go to some, one by one.
func addLeaves[V comparable](p *page, all iter.Seq[*leaves.Leaf[V]], k *kind[V], view View, some func(v V, looks []byte)) {
	for l := range all {
		r := l.Remembered(k.form)
		switch {
		case view.Roles != nil && !view.seesAll(k.noteOf(l).roles):
			for i, v := range l.Values() {
				if r != nil {
					some(v, r.Value(i))
				} else {
					some(v, k.one(nil, v))
				}
			}
		case r != nil:
			p.add(part{of: r})
		default:
			p.add(part{later: func(b []byte) []byte { return k.append(b, l.Values()) }})
		}
	}
}

// append appends values with a comma between them.
func (k *kind[V]) append(b []byte, values []V) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = k.one(b, v)
	}
	return b
}
