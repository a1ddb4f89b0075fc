// Package leaves keeps values in order, in leaves that readers share and that
// remember what was made of them.
//
// A [Map] is changed in place as long as nobody else has it: each change takes an
// [Edit], and what was made under the same Edit is changed, what is older is
// copied. A copy of a Map is therefore a snapshot once the Edit under which it was
// changed is not used any more. A change copies one leaf and the way to it:
// O(log n) comparisons, and O(n/1000) pointers once for each Edit.
//
// Rendering a value costs more than copying what was rendered before. A [Leaf]
// that changed finds what it had in common with the last one in its place of which
// any rendering was remembered, and renders the rest ([Leaf.Render]). Who renders in
// several forms, but not all of them each time, finds nothing in those that were not
// rendered then.
package leaves

import (
	"iter"
	"slices"
	"sort"
)

// A leaf has at most maxLeaf values: fewer cost more memory, more cost more to
// render anew when one changed.
const (
	maxLeaf   = 32
	maxBranch = 64
)

// Edit is one round of changes. Make a new one after the Maps were copied.
type Edit struct{ _ byte } // not of size zero: each has an address of its own

// Map is values in order; no two are equal by its order. Make one with [New]; the
// zero value is empty, and for reading. One goroutine at a time may change it; copies
// may be read by any number, see [Edit].
type Map[V comparable] struct {
	compare  func(a, b V) int
	branches []*branch[V] // none is empty
	len      int
	edit     *Edit // of branches
}

type branch[V comparable] struct {
	first  V // of its first leaf: a search looks at nothing else
	edit   *Edit
	leaves []*Leaf[V] // none is empty
}

// New returns an empty Map in the order of compare.
func New[V comparable](compare func(a, b V) int) Map[V] { return Map[V]{compare: compare} }

// Len is how many values there are.
func (m *Map[V]) Len() int { return m.len }

// All yields the values in their order.
func (m *Map[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for l := range m.Leaves() {
			for _, v := range l.values {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// Leaves yields the leaves in the order of their values.
func (m *Map[V]) Leaves() iter.Seq[*Leaf[V]] {
	branches := m.branches
	return func(yield func(*Leaf[V]) bool) {
		for _, b := range branches {
			for _, l := range b.leaves {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// First is the first value.
func (m *Map[V]) First() (first V, ok bool) {
	if m.len == 0 {
		return first, false
	}
	return m.branches[0].leaves[0].values[0], true
}

// Get finds the value that equals like by the order of the Map.
func (m *Map[V]) Get(like V) (v V, ok bool) {
	if m.len == 0 {
		return v, false
	}
	at := m.find(like)
	if !at.found {
		return v, false
	}
	return m.branches[at.branch].leaves[at.leaf].values[at.value], true
}

// place is where a value is, or would be.
type place struct {
	branch, leaf, value int
	found               bool
}

func (m *Map[V]) find(v V) (at place) {
	at.branch = max(sort.Search(len(m.branches), func(i int) bool {
		return m.compare(m.branches[i].first, v) > 0
	})-1, 0)
	leaves := m.branches[at.branch].leaves
	at.leaf = max(sort.Search(len(leaves), func(i int) bool { return m.compare(leaves[i].first, v) > 0 })-1, 0)
	at.value, at.found = slices.BinarySearchFunc(leaves[at.leaf].values, v, m.compare)
	return at
}

// Set puts a value in, in place of the one that equals it, which it returns.
func (m *Map[V]) Set(e *Edit, v V) (old V, replaced bool) {
	if m.len == 0 {
		m.branches, m.edit, m.len = []*branch[V]{{v, e, []*Leaf[V]{{first: v, edit: e, values: []V{v}}}}}, e, 1
		return old, false
	}
	at := m.find(v)
	l := m.leaf(e, at)
	if at.found {
		old, l.values[at.value] = l.values[at.value], v
		m.first(at)
		return old, true
	}
	l.values = slices.Insert(l.values, at.value, v)
	m.first(at)
	m.len++
	if len(l.values) > maxLeaf {
		m.split(e, at)
	}
	return old, false
}

// Delete takes the value out that equals like.
func (m *Map[V]) Delete(e *Edit, like V) (v V, ok bool) {
	if m.len == 0 {
		return v, false
	}
	at := m.find(like)
	if !at.found {
		return v, false
	}
	l := m.leaf(e, at)
	v = l.values[at.value]
	l.values = slices.Delete(l.values, at.value, at.value+1)
	m.len--
	m.join(e, at)
	return v, true
}

// branch is the branch at a place, to be changed.
func (m *Map[V]) branch(e *Edit, i int) *branch[V] {
	if m.edit != e {
		m.branches, m.edit = slices.Clone(m.branches), e
	}
	b := m.branches[i]
	if b.edit != e {
		b = &branch[V]{b.first, e, slices.Clone(b.leaves)}
		m.branches[i] = b
	}
	return b
}

// leaf is the leaf at a place, to be changed.
func (m *Map[V]) leaf(e *Edit, at place) *Leaf[V] {
	b := m.branch(e, at.branch)
	l := b.leaves[at.leaf]
	if l.edit != e {
		l = l.successor(e)
		b.leaves[at.leaf] = l
	}
	return l
}

// split makes two of a leaf, and of its branch, that has too many. Values that
// come in their order fill the leaves before.
func (m *Map[V]) split(e *Edit, at place) {
	b := m.branch(e, at.branch)
	l := b.leaves[at.leaf]
	half := len(l.values) / 2
	if at.value == len(l.values)-1 {
		half = at.value
	}
	right := &Leaf[V]{first: l.values[half], edit: e, values: slices.Clone(l.values[half:])}
	right.base.Store(l.base.Load())
	clear(l.values[half:])
	l.values = l.values[:half]
	b.leaves = slices.Insert(b.leaves, at.leaf+1, right)
	if len(b.leaves) <= maxBranch {
		return
	}
	half = len(b.leaves) / 2
	if at.leaf+1 == len(b.leaves)-1 {
		half = at.leaf + 1
	}
	next := &branch[V]{b.leaves[half].first, e, slices.Clone(b.leaves[half:])}
	clear(b.leaves[half:])
	b.leaves = b.leaves[:half]
	m.branches = slices.Insert(m.branches, at.branch+1, next)
}

// join takes a leaf out that became empty, or makes one of a small one and a
// neighbour of its branch; with branches it does the same.
func (m *Map[V]) join(e *Edit, at place) {
	b := m.branch(e, at.branch)
	l := b.leaves[at.leaf]
	small := func(left int) bool {
		return left >= 0 && left+1 < len(b.leaves) && len(b.leaves[left].values)+len(b.leaves[left+1].values) <= maxLeaf/2
	}
	switch {
	case len(l.values) == 0:
		b.leaves = slices.Delete(b.leaves, at.leaf, at.leaf+1)
	case small(at.leaf):
		l.values = append(l.values, b.leaves[at.leaf+1].values...)
		l.first = l.values[0]
		b.leaves = slices.Delete(b.leaves, at.leaf+1, at.leaf+2)
	case small(at.leaf - 1):
		at.leaf--
		before := m.leaf(e, at)
		before.values = append(before.values, l.values...)
		b.leaves = slices.Delete(b.leaves, at.leaf+1, at.leaf+2)
	default:
		m.first(at)
		return
	}
	m.joinBranch(e, at.branch)
}

// joinBranch is the same for a branch of which a leaf was taken out.
func (m *Map[V]) joinBranch(e *Edit, i int) {
	b := m.branch(e, i)
	small := func(left int) bool {
		return left >= 0 && left+1 < len(m.branches) && len(m.branches[left].leaves)+len(m.branches[left+1].leaves) <= maxBranch/2
	}
	switch {
	case len(b.leaves) == 0:
		m.branches = slices.Delete(m.branches, i, i+1)
		return
	case small(i):
	case small(i - 1):
		i--
	default:
		b.first = b.leaves[0].first
		return
	}
	b = m.branch(e, i)
	b.leaves = append(b.leaves, m.branches[i+1].leaves...)
	b.first = b.leaves[0].first
	m.branches = slices.Delete(m.branches, i+1, i+2)
}

// first notes what is first in a leaf, and in its branch, that were changed.
func (m *Map[V]) first(at place) {
	b := m.branches[at.branch]
	l := b.leaves[at.leaf]
	l.first = l.values[0]
	b.first = b.leaves[0].first
}
