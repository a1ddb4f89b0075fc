package metrics

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// Reasons why something cannot be added to a [Table], or taken from it; test for
// them with [errors.Is].
var (
	ErrExists   = errors.New("there is a metric of this name already")
	ErrNotKnown = errors.New("there is no metric of this name")
	// ErrOrder: the names of a block would lie between those of another, so that
	// neither could be written as a whole.
	ErrOrder = errors.New("its names would mix with those of a block")
)

// Table is metrics in the order of their names. The zero value is empty and
// ready; its methods may be called from any number of goroutines.
type Table struct {
	mu   sync.Mutex
	tree *btree.BTreeG[*entry]
	list []*entry // all of the tree in order; nil if that changed
	near btree.PathHint

	blocks int // without any, every name has its place
}

// entry is one name, or the names of a block. One thing of it is set.
type entry struct {
	key     string // of a block, how all its names begin
	counter *Counter
	gauge   *Gauge
	source  *source
	index   int // among the values of the source
	block   *Block
	users   int // of a shared counter
}

func (e *entry) holds(name string) bool {
	return e.block != nil && strings.HasPrefix(name, e.key)
}

// Counter adds a counter.
func (t *Table) Counter(name string) (*Counter, error) {
	var one struct { // in one piece of memory: there may be very many
		entry
		Counter
	}
	one.key, one.counter = name, &one.Counter
	return one.counter, t.add(&one.entry)
}

// Gauge adds a gauge.
func (t *Table) Gauge(name string) (*Gauge, error) {
	g := &Gauge{}
	return g, t.add(&entry{key: name, gauge: g})
}

// Timer adds a timer by the name of its last time, to which "_ms" is put: it is
// told in milliseconds. See [Timer] for the window.
func (t *Table) Timer(name string, timer *Timer) error {
	return t.source(&source{names: timerNames(name + "_ms"), read: timer.read, quick: true})
}

// Pull adds values that are read when somebody asks for a [Snapshot], all of them
// by one call: read puts them where their names stand. One that is not a number is
// left out. Read is called on a goroutine of its own, once at a time; if it does
// not return, nobody's Snapshot has these values.
func (t *Table) Pull(names []string, read func(values []float64)) error {
	return t.source(&source{names: names, read: read})
}

func (t *Table) source(s *source) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range s.names {
		if err := t.insert(&entry{key: name, source: s, index: i}); err != nil {
			for _, added := range s.names[:i] {
				t.tree.Delete(&entry{key: added})
			}
			return err
		}
	}
	return nil
}

// Shared is the counter of a name that several use, which the first of them adds.
// Each of them calls [Table.Release] once.
func (t *Table) Shared(name string) (*Counter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.get(name); ok && e.users > 0 {
		e.users++
		return e.counter, nil
	}
	c := &Counter{}
	return c, t.insert(&entry{key: name, counter: c, users: 1})
}

// Release says that one user of a shared counter needs it no more; with the last
// it is removed.
func (t *Table) Release(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.get(name); ok && e.users > 1 {
		e.users--
		return nil
	}
	return t.remove(name)
}

// Block adds a block. The prefix is how all its names begin, and ends with a slash;
// labels is the same for Prometheus, as `framework_id="f1"`.
func (t *Table) Block(prefix, labels string, shape *Shape) (*Block, error) {
	if !strings.HasSuffix(prefix, "/") {
		return nil, fmt.Errorf("add block %q: %w: it does not end with a slash", prefix, ErrOrder)
	}
	b := newBlock(prefix, labels, shape)
	return b, t.add(&entry{key: prefix, block: b})
}

// Remove removes what has a name: a block by its prefix, and a timer, or all that
// is pulled with it, by any of theirs.
func (t *Table) Remove(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(name)
}

func (t *Table) remove(name string) error {
	if t.tree == nil {
		return fmt.Errorf("remove %q: %w", name, ErrNotKnown)
	}
	e, ok := t.tree.DeleteHint(&entry{key: name}, &t.near)
	if !ok {
		return fmt.Errorf("remove %q: %w", name, ErrNotKnown)
	}
	t.list = nil
	if e.block != nil {
		t.blocks--
	}
	if e.source == nil {
		return nil
	}
	for _, one := range e.source.names {
		t.tree.DeleteHint(&entry{key: one}, &t.near)
	}
	return nil
}

func (t *Table) add(e *entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.insert(e)
}

func (t *Table) insert(e *entry) error {
	if t.tree == nil {
		t.tree = btree.NewBTreeGOptions(func(a, b *entry) bool { return a.key < b.key }, btree.Options{NoLocks: true})
	}
	if t.blocks > 0 || e.block != nil {
		if err := t.fits(e); err != nil {
			return fmt.Errorf("add %q: %w", e.key, err)
		}
	}
	if old, taken := t.tree.SetHint(e, &t.near); taken {
		t.tree.SetHint(old, &t.near)
		return fmt.Errorf("add %q: %w", e.key, ErrExists)
	}
	if e.block != nil {
		t.blocks++
	}
	t.list = nil
	return nil
}

// fits says why an entry cannot be where its name is: another has it, or it would
// lie within a block. That only its neighbours can tell: a block's prefix is how
// all its names begin, so that nothing is between the two that is not in it.
func (t *Table) fits(e *entry) (err error) {
	t.tree.DescendHint(e, func(before *entry) bool {
		switch {
		case before.key == e.key:
			err = ErrExists
		case before.holds(e.key):
			err = ErrOrder
		}
		return false
	}, &t.near)
	if err != nil || e.block == nil {
		return err
	}
	t.tree.AscendHint(e, func(after *entry) bool {
		if e.holds(after.key) {
			err = ErrOrder
		}
		return false
	}, &t.near)
	return err
}

func (t *Table) get(name string) (*entry, bool) {
	if t.tree == nil {
		return nil, false
	}
	return t.tree.GetHint(&entry{key: name}, &t.near)
}

// all are the entries in order; the list does not change.
func (t *Table) all() []*entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil && t.tree != nil {
		t.list = t.tree.Items()
	}
	return t.list
}

// Blocks yields the blocks in the order of their prefixes.
func (t *Table) Blocks() iter.Seq[*Block] {
	return func(yield func(*Block) bool) {
		for _, e := range t.all() {
			if e.block != nil && !yield(e.block) {
				return
			}
		}
	}
}

// Len is how many names there are, those counted that have no value now.
func (t *Table) Len() (n int) {
	for _, e := range t.all() {
		if e.block != nil {
			n += len(e.block.values)
		} else {
			n++
		}
	}
	return n
}

// Forget drops what is remembered of what blocks look like.
func (t *Table) Forget() {
	for _, e := range t.all() {
		if e.block != nil {
			e.block.forget()
		}
	}
}

// Remembered is how many bytes are remembered of what blocks look like.
func (t *Table) Remembered() (n int) {
	for _, e := range t.all() {
		if e.block != nil {
			n += e.block.remembered()
		}
	}
	return n
}
