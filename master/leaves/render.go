package leaves

import (
	"iter"
	"slices"
	"sync/atomic"
)

// Leaf is some values that follow each other. A published one never changes, but
// for what it remembers.
type Leaf[V comparable] struct {
	first  V // of values
	edit   *Edit
	values []V
	made   [Forms]atomic.Pointer[Rendering]
	// base was here before, and remembers renderings that this one does not have
	// yet. It has no base itself.
	base atomic.Pointer[Leaf[V]]
}

// Form is what a value is rendered as: a leaf remembers one rendering for each.
type Form int

// Forms is how many forms there may be.
const Forms = 4

// Rendering is what a leaf looks like in one form: its values, with a comma
// between them. It does not change. What it has in common with an earlier one is
// where that has it: to render a leaf anew costs what changed.
type Rendering struct {
	spans   []span // of the values
	buffers [][]byte
	len     int
	packed  atomic.Pointer[[]byte]
	note    atomic.Value
}

// span is where the bytes of a value are.
type span struct{ buffer, from, to int32 }

// maxBuffers is on how many buffers a Rendering is spread before it is put
// together; so is one of whose buffers more than a quarter is of no use any more.
const maxBuffers = 8

// Len is how many bytes the leaf looks like.
func (r *Rendering) Len() int { return r.len }

// Pieces yields the bytes of the leaf, in as few pieces as there are: those of
// neighbours that stand together are one, and a comma is due between two.
func (r *Rendering) Pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := 0; i < len(r.spans); {
			s := r.spans[i]
			for i++; i < len(r.spans) && r.spans[i].buffer == s.buffer && r.spans[i].from == s.to+1; i++ {
				s.to = r.spans[i].to
			}
			if !yield(r.bytes(s)) {
				return
			}
		}
	}
}

// Append appends the bytes of the leaf.
func (r *Rendering) Append(b []byte) []byte {
	first := true
	for piece := range r.Pieces() {
		if !first {
			b = append(b, ',')
		}
		b, first = append(b, piece...), false
	}
	return b
}

// Value is what the i-th value looks like.
func (r *Rendering) Value(i int) []byte { return r.bytes(r.spans[i]) }

func (r *Rendering) bytes(s span) []byte { return r.buffers[s.buffer][s.from:s.to:s.to] }

// Packed is the bytes of the leaf as pack makes them smaller, which is asked once.
func (r *Rendering) Packed(pack func([]byte) []byte) []byte {
	if p := r.packed.Load(); p != nil {
		return *p
	}
	p := pack(r.Append(nil))
	r.packed.Store(&p)
	return p
}

// Size is how many bytes the Rendering takes.
func (r *Rendering) Size() (n int) {
	for _, b := range r.buffers {
		n += len(b)
	}
	if p := r.packed.Load(); p != nil {
		n += len(*p)
	}
	return n
}

// Note is what somebody found out about the values beside what they look like; nil
// if nobody has.
func (r *Rendering) Note() any { return r.note.Load() }

// SetNote keeps it. All notes are of one type.
func (r *Rendering) SetNote(note any) { r.note.Store(note) }

// Before is what was here when a rendering was last remembered, in whatever form, and
// how it looked then in this one; nil if that is not known.
func (l *Leaf[V]) Before(f Form) ([]V, *Rendering) {
	if base := l.base.Load(); base != nil {
		if r := base.made[f].Load(); r != nil {
			return base.values, r
		}
	}
	return nil, nil
}

// Values are the leaf's values; they are not to be changed.
func (l *Leaf[V]) Values() []V { return l.values }

// successor is the leaf that takes the place of this one, to be changed.
func (l *Leaf[V]) successor(e *Edit) *Leaf[V] {
	next := &Leaf[V]{first: l.first, edit: e, values: append(make([]V, 0, min(len(l.values)+4, maxLeaf+1)), l.values...)}
	if l.remembersAny() {
		l.base.Store(nil)
		next.base.Store(l)
	} else {
		next.base.Store(l.base.Load())
	}
	return next
}

func (l *Leaf[V]) remembersAny() bool {
	for f := range l.made {
		if l.made[f].Load() != nil {
			return true
		}
	}
	return false
}

// Remembered is the rendering in a form that is remembered, or nil.
func (l *Leaf[V]) Remembered(f Form) *Rendering { return l.made[f].Load() }

// Size is how many bytes all that is remembered takes.
func (l *Leaf[V]) Size() (n int) {
	for f := range l.made {
		if r := l.made[f].Load(); r != nil {
			n += r.Size()
		}
	}
	return n
}

// Remember keeps a rendering for those who come later.
func (l *Leaf[V]) Remember(f Form, r *Rendering) {
	l.made[f].Store(r)
	base := l.base.Load()
	if base == nil {
		return
	}
	for f := range l.made {
		if l.made[f].Load() == nil && base.made[f].Load() != nil {
			return // it is of use still
		}
	}
	l.base.Store(nil)
}

// Forget drops all that is remembered, also by the one that was here before: a
// successor of this leaf may hold on to that.
func (l *Leaf[V]) Forget() {
	if base := l.base.Swap(nil); base != nil {
		base.Forget() // it has no base
	}
	for f := range l.made {
		l.made[f].Store(nil)
	}
}

// Render makes the rendering of a leaf in a form: one appends what a value looks
// like. It works in scratch, which it returns for the next one.
func (l *Leaf[V]) Render(f Form, scratch []byte, one func([]byte, V) []byte) (r *Rendering, _ []byte) {
	r = &Rendering{spans: make([]span, len(l.values)), len: len(l.values) - 1}
	before, old := l.Before(f) // before is what the next value may be among
	if old != nil {
		r.buffers = old.buffers
	}
	fresh := scratch[:0]
	for i, v := range l.values {
		if k := slices.Index(before, v); k >= 0 {
			before = before[k+1:]
			r.spans[i] = old.spans[len(old.spans)-len(before)-1]
		} else {
			if len(fresh) > 0 {
				fresh = append(fresh, ',')
			}
			from := len(fresh)
			fresh = one(fresh, v)
			r.spans[i] = span{int32(len(r.buffers)), int32(from), int32(len(fresh))}
		}
		r.len += int(r.spans[i].to - r.spans[i].from)
	}
	r.buffers = append(r.buffers[:len(r.buffers):len(r.buffers)], slices.Clone(fresh)) // as long as it is, and no longer
	if held := r.Size(); old != nil && (held > r.len+r.len/4 || len(r.buffers) > maxBuffers) {
		r.gather()
	}
	return r, fresh
}

// gather puts the values together in one buffer.
func (r *Rendering) gather() {
	all := make([]byte, 0, r.len)
	for i, s := range r.spans {
		if i > 0 {
			all = append(all, ',')
		}
		from := len(all)
		all = append(all, r.bytes(s)...)
		r.spans[i] = span{0, int32(from), int32(len(all))}
	}
	r.buffers = [][]byte{all}
}
