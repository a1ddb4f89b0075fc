package leaves_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/master/leaves"
)

// item is a version of a value.
type item struct{ key, version int }

func compareItems(a, b *item) int { return cmp.Compare(a.key, b.key) }

const form = leaves.Form(1)

func appendItem(b []byte, v *item) []byte { return fmt.Appendf(b, `{"%d":%d}`, v.key, v.version) }

// rendered is all of a Map, by what leaves remember where they do.
func rendered(m *leaves.Map[*item], remember bool) string {
	var all, scratch []byte
	for l := range m.Leaves() {
		r := l.Remembered(form)
		if r == nil {
			r, scratch = l.Render(form, scratch, appendItem)
			if remember {
				l.Remember(form, r)
			}
		}
		if len(all) > 0 {
			all = append(all, ',')
		}
		all = r.Append(all)
	}
	return string(all)
}

// plainly is the same, without any leaf.
func plainly(model map[int]*item) string {
	var all []byte
	for _, key := range slices.Sorted(maps.Keys(model)) {
		if len(all) > 0 {
			all = append(all, ',')
		}
		all = appendItem(all, model[key])
	}
	return string(all)
}

// TestAMapIsWhatASortedMapWouldBe holds a Map, its snapshots and what its leaves
// remember against a plain map, over random changes.
func TestAMapIsWhatASortedMapWouldBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, model, edit := leaves.New(compareItems), map[int]*item{}, new(leaves.Edit)
		type snapshot struct {
			m    leaves.Map[*item]
			want string
		}
		var snapshots []snapshot
		keys := rapid.IntRange(0, rapid.SampledFrom([]int{5, 200, 20_000}).Draw(t, "keys"))
		for step := range rapid.IntRange(1, 30).Draw(t, "rounds") {
			ascending := rapid.Bool().Draw(t, "ascending")
			for i := range rapid.IntRange(0, 300).Draw(t, "changes") {
				key := keys.Draw(t, "key")
				if ascending {
					key = step*1000 + i
				}
				if rapid.IntRange(0, 9).Draw(t, "what") < 4 {
					got, ok := m.Delete(edit, &item{key: key})
					if want, had := model[key]; ok != had || had && got != want {
						t.Fatalf("Delete(%d) = %v, %v; want %v, %v", key, got, ok, want, had)
					}
					delete(model, key)
					continue
				}
				v := &item{key, step}
				m.Set(edit, v)
				model[key] = v
			}
			if rapid.IntRange(0, 9).Draw(t, "delete a range") == 0 {
				for key := range 10_000 {
					m.Delete(edit, &item{key: key})
					delete(model, key)
				}
			}
			snapshots = append(snapshots, snapshot{m, plainly(model)})
			edit = new(leaves.Edit)
			if rapid.Bool().Draw(t, "render") {
				if got, want := rendered(&m, true), plainly(model); got != want {
					t.Fatalf("looks like\n%s\nwant\n%s", got, want)
				}
			}
			if m.Len() != len(model) {
				t.Fatalf("Len() = %d, want %d", m.Len(), len(model))
			}
			for key, want := range model {
				if got, ok := m.Get(&item{key: key}); !ok || got != want {
					t.Fatalf("Get(%d) = %v, %v; want %v", key, got, ok, want)
				}
			}
			first, ok := m.First()
			if ok != (len(model) > 0) || ok && first.key != slices.Min(slices.Collect(maps.Keys(model))) {
				t.Fatalf("First() = %v, %v", first, ok)
			}
		}
		for i, s := range snapshots {
			if got := rendered(&s.m, false); got != s.want {
				t.Fatalf("snapshot %d looks like\n%s\nwant\n%s", i, got, s.want)
			}
		}
	})
}

// full is a Map of n values, rendered.
func full(n int) leaves.Map[*item] {
	m, edit := leaves.New(compareItems), new(leaves.Edit)
	for key := range n {
		m.Set(edit, &item{key: key})
	}
	rendered(&m, true)
	return m
}

func TestOnlyWhatChangedIsRenderedAnew(t *testing.T) {
	m := full(1000)
	m.Set(new(leaves.Edit), &item{500, 1})
	m.Set(new(leaves.Edit), &item{501, 1}) // the leaf between was never rendered
	anew := 0
	for l := range m.Leaves() {
		if l.Remembered(form) == nil {
			l.Render(form, nil, func(b []byte, v *item) []byte { anew++; return appendItem(b, v) })
		}
	}
	if anew != 2 {
		t.Errorf("%d values were rendered after 2 of 1,000 changed", anew)
	}
}

func TestValuesInOrderFillTheirLeaves(t *testing.T) {
	m := full(10_000)
	n := count(&m)
	if want := (10_000 + 31) / 32; n != want {
		t.Errorf("10,000 values are in %d leaves, want %d", n, want)
	}
}

func count(m *leaves.Map[*item]) (n int) {
	for range m.Leaves() {
		n++
	}
	return n
}

func TestFewValuesAreInFewLeaves(t *testing.T) {
	const n, every = 100_000, 32
	order := map[string]func(i int) int{
		"from the front": func(i int) int { return i },
		"from behind":    func(i int) int { return n - 1 - i },
		"in no order":    func(i int) int { return i * 7919 % n },
	}
	for name, want := range map[string]struct{ leaves, branches int }{
		"from the front": {196, 7}, "from behind": {196, 7}, "in no order": {273, 13},
	} {
		m, e := full(n), new(leaves.Edit)
		for i := range n {
			if key := order[name](i); key%every != 0 {
				m.Delete(e, &item{key: key})
			}
		}
		got := want // of its type
		got.leaves, got.branches = count(&m), leaves.Branches(&m)
		if m.Len() != n/every || got != want {
			t.Errorf("%s: %d values are left in %+v, want %d in %+v", name, m.Len(), got, n/every, want)
		}
	}
}

func TestALeafLetsGoOfTheOneBeforeOnceItIsRendered(t *testing.T) {
	m := full(10)
	m.Set(new(leaves.Edit), &item{5, 1})
	leaf := func() *leaves.Leaf[*item] {
		for l := range m.Leaves() {
			return l
		}
		return nil
	}
	if before, r := leaf().Before(form); len(before) != 10 || r == nil {
		t.Fatalf("before there were %d values, looking like %v", len(before), r)
	}
	rendered(&m, true)
	if before, r := leaf().Before(form); before != nil || r != nil {
		t.Errorf("it has still %d values from before, looking like %v", len(before), r)
	}
}

// TestLeavesAreSharedByManyAtOnce is for the race detector: one changes a Map and hands
// on snapshots, others render them, and one has them forget what they remember.
func TestLeavesAreSharedByManyAtOnce(t *testing.T) {
	type snapshot struct {
		m    leaves.Map[*item]
		want string
	}
	const rounds, readers = 100, 4
	var all [readers + 1]chan snapshot
	for i := range all {
		all[i] = make(chan snapshot, rounds)
	}
	var group sync.WaitGroup
	for _, snapshots := range all[1:] {
		group.Go(func() {
			for s := range snapshots {
				if got := rendered(&s.m, true); got != s.want {
					t.Errorf("looks like\n%s\nwant\n%s", got, s.want)
				}
			}
		})
	}
	group.Go(func() {
		for s := range all[0] {
			for l := range s.m.Leaves() {
				l.Forget()
			}
		}
	})
	m, model := leaves.New(compareItems), map[int]*item{}
	for round := range rounds {
		edit := new(leaves.Edit)
		for i := range 20 {
			v := &item{(round*20 + i) * 7919 % 300, round}
			if i%3 == 0 {
				m.Delete(edit, v)
				delete(model, v.key)
				continue
			}
			m.Set(edit, v)
			model[v.key] = v
		}
		for _, snapshots := range all {
			snapshots <- snapshot{m, plainly(model)}
		}
	}
	for _, snapshots := range all {
		close(snapshots)
	}
	group.Wait()
}

// TestWhatIsForgottenIsNotKept proves that a leaf lets go of the one that was in
// its place once it is rendered itself, and of everything when it is told to.
func TestWhatIsForgottenIsNotKept(t *testing.T) {
	m := full(10)
	m.Set(new(leaves.Edit), &item{5, 1})
	rendered(&m, true)
	m.Set(new(leaves.Edit), &item{6, 1})
	for l := range m.Leaves() {
		l.Forget()
	}
	anew := 0
	for l := range m.Leaves() {
		l.Render(form, nil, func(b []byte, v *item) []byte { anew++; return appendItem(b, v) })
	}
	if anew != 10 {
		t.Errorf("%d of 10 values were rendered after all was forgotten", anew)
	}
}

func BenchmarkChange(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m := full(n)
			edit := new(leaves.Edit)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%4000 == 0 {
					edit = new(leaves.Edit)
				}
				m.Set(edit, &item{i * 7919 % n, i})
			}
		})
	}
}
