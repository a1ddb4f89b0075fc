package leaves

import (
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

// Rendering is what a leaf looks like in one form. It does not change.
type Rendering struct {
	Bytes []byte // the values, with a comma between them
	// Note is what else the renderer found out about the values; it is set before
	// anybody else has the Rendering.
	Note any
	ends []int // of each value in Bytes

	packed atomic.Pointer[[]byte]
}

// Packed is Bytes as pack makes it smaller, which is asked once.
func (r *Rendering) Packed(pack func([]byte) []byte) []byte {
	if p := r.packed.Load(); p != nil {
		return *p
	}
	p := pack(r.Bytes)
	r.packed.Store(&p)
	return p
}

// Size is how many bytes the Rendering takes.
func (r *Rendering) Size() int {
	n := len(r.Bytes)
	if p := r.packed.Load(); p != nil {
		n += len(*p)
	}
	return n
}

// Before is what was here when it was rendered last in a form, and how it looked
// then; nil if nothing is known of it.
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

// Forget drops all that is remembered.
func (l *Leaf[V]) Forget() {
	l.base.Store(nil)
	for f := range l.made {
		l.made[f].Store(nil)
	}
}

// Render makes the rendering of a leaf in a form: one appends what a value looks
// like. Values that were rendered here before are copied. It works in scratch,
// which it returns for the next one.
func (l *Leaf[V]) Render(f Form, scratch []byte, one func([]byte, V) []byte) (r *Rendering, _ []byte) {
	r = &Rendering{ends: make([]int, 0, len(l.values))}
	before, old := l.Before(f) // before is what the next value may be among
	b := scratch[:0]
	for i, v := range l.values {
		if i > 0 {
			b = append(b, ',')
		}
		if k := slices.Index(before, v); k >= 0 {
			before = before[k+1:]
			b = append(b, old.Value(len(old.ends)-len(before)-1)...)
		} else {
			b = one(b, v)
		}
		r.ends = append(r.ends, len(b))
	}
	r.Bytes = slices.Clone(b) // as long as it is, and no longer
	return r, b
}

// Value is what the i-th value looks like.
func (r *Rendering) Value(i int) []byte {
	if i == 0 {
		return r.Bytes[:r.ends[0]]
	}
	return r.Bytes[r.ends[i-1]+1 : r.ends[i]]
}
