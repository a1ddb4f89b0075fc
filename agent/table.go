package agent

import (
	"maps"
	"slices"
)

// table is what an agent has of one kind, and which changes of it the stream has
// not been told.
type table[K comparable, V any] struct {
	has    map[K]sized[V]
	unsaid []K            // in the order of the changes; what is not in has was removed
	marked map[K]struct{} // the same
}

// sized is a value and the bytes it takes in a record, about.
type sized[V any] struct {
	value V
	size  int
}

func (t *table[K, V]) set(key K, value V, size int) {
	if t.has == nil {
		t.has = map[K]sized[V]{}
	}
	t.has[key] = sized[V]{value, size}
	t.mark(key)
}

func (t *table[K, V]) remove(key K) bool {
	if _, ok := t.has[key]; !ok {
		return false
	}
	delete(t.has, key)
	t.mark(key)
	return true
}

func (t *table[K, V]) mark(key K) {
	if _, ok := t.marked[key]; ok {
		return
	}
	if t.marked == nil {
		t.marked = map[K]struct{}{}
	}
	t.marked[key] = struct{}{}
	t.unsaid = append(t.unsaid, key)
}

// all returns every value in order, after which nothing is unsaid.
func (t *table[K, V]) all(compare func(a, b K) int) []V {
	t.unsaid, t.marked = nil, nil
	values := make([]V, 0, len(t.has))
	for _, key := range slices.SortedFunc(maps.Keys(t.has), compare) {
		values = append(values, t.has[key].value)
	}
	return values
}

// take returns what was changed and removed and not said, the oldest first and
// while there is room for it, and counts it as said.
func (t *table[K, V]) take(room *int) (changed []V, removed []K) {
	n := 0
	for ; n < len(t.unsaid) && *room > 0; n++ {
		key := t.unsaid[n]
		delete(t.marked, key)
		if v, ok := t.has[key]; ok {
			changed = append(changed, v.value)
			*room -= v.size
		} else {
			removed = append(removed, key)
			*room -= removedSize
		}
	}
	if t.unsaid = t.unsaid[n:]; len(t.unsaid) == 0 {
		t.unsaid, t.marked = nil, nil
	}
	return changed, removed
}

const removedSize = 1100 // of two IDs of 255 bytes, each a quote that JSON escapes, and their names
