package registry

import "iter"

// slots is a persistent vector: numbered places for entries in the order in
// which agents arrived. It is a tree of fixed depth whose nodes are shared by
// all versions; a node is copied the first time an edit touches it. Reading
// takes five loads, of which the upper ones are always in the cache.
//
// Turned down: a balanced tree ordered by ID. A batch of random changes then
// costs a cache miss per string compared, five times as much in all.
type slots struct {
	edit   uint64
	boughs []*bough
}

const (
	leafBits = 4
	fanBits  = 5
	leafSize = 1 << leafBits
	fan      = 1 << fanBits
)

// An edit is a number that one draft alone has; a node that carries it is the
// draft's own.
type (
	leaf struct {
		edit    uint64
		entries [leafSize]*entry
	}
	branch[K any] struct {
		edit uint64
		kids [fan]*K
	}
	twig  = branch[leaf] // 512 slots
	limb  = branch[twig] // 16,384
	bough = branch[limb] // 524,288
)

// own makes *p a node that this edit may change.
func own[K any](p **branch[K], edit uint64) *branch[K] {
	switch b := *p; {
	case b == nil:
		*p = &branch[K]{edit: edit}
	case b.edit != edit:
		c := *b
		c.edit = edit
		*p = &c
	}
	return *p
}

func (s *slots) path(n uint32) (top, l, t, f uint32) {
	n >>= leafBits
	return n >> (3 * fanBits), n >> (2 * fanBits) % fan, n >> fanBits % fan, n % fan
}

// get is the entry at n, nil for an empty place.
func (s *slots) get(n uint32) *entry {
	top, l, t, f := s.path(n)
	if int(top) >= len(s.boughs) || s.boughs[top] == nil {
		return nil
	}
	limb := s.boughs[top].kids[l]
	if limb == nil || limb.kids[t] == nil || limb.kids[t].kids[f] == nil {
		return nil
	}
	return limb.kids[t].kids[f].entries[n%leafSize]
}

// set puts e at n; a nil e empties the place, and nodes that hold nothing any
// more are let go.
func (s *slots) set(n uint32, e *entry, edit uint64) {
	top, l, t, f := s.path(n)
	if s.edit != edit {
		s.boughs, s.edit = append([]*bough(nil), s.boughs...), edit
	}
	for int(top) >= len(s.boughs) {
		s.boughs = append(s.boughs, nil)
	}
	bough := own(&s.boughs[top], edit)
	limb := own(&bough.kids[l], edit)
	twig := own(&limb.kids[t], edit)
	leaf := twig.kids[f].own(edit)
	twig.kids[f] = leaf
	leaf.entries[n%leafSize] = e
	if e == nil && leaf.entries == [leafSize]*entry{} {
		prune(twig, f, prune(limb, t, prune(bough, l, func() { s.boughs[top] = nil })))()
	}
}

// prune returns what empties place i of b and, if b is then empty, goes on up.
func prune[K any](b *branch[K], i uint32, up func()) func() {
	return func() {
		b.kids[i] = nil
		if b.kids == [fan]*K{} {
			up()
		}
	}
}

func (l *leaf) own(edit uint64) *leaf {
	if l == nil {
		return &leaf{edit: edit}
	}
	if l.edit == edit {
		return l
	}
	c := *l
	c.edit = edit
	return &c
}

// all yields the entries in the order of their places.
func (s *slots) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, bough := range s.boughs {
			for _, limb := range bough.children() {
				for _, twig := range limb.children() {
					for _, leaf := range twig.children() {
						if !leaf.each(yield) {
							return
						}
					}
				}
			}
		}
	}
}

func (b *branch[K]) children() []*K {
	if b == nil {
		return nil
	}
	return b.kids[:]
}

func (l *leaf) each(yield func(*entry) bool) bool {
	if l == nil {
		return true
	}
	for _, e := range l.entries {
		if e != nil && !yield(e) {
			return false
		}
	}
	return true
}
