package httpapi

import (
	"maps"
	"slices"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/registry"
)

// totals is how much there is of each resource, whoever it is for. The zero
// value is nothing.
type totals struct {
	always [len(always)]amount
	others map[string][]*amount // one of each kind, in the order in which they came
	shared map[string]share     // what several use, by what it is
}

// share is something that counts once, however many use it.
type share struct {
	name  string
	value registry.Value
}

// totalsOf is a usage that has no others.
func totalsOf(u *wire.Usage) *totals {
	t := &totals{}
	for i, n := range u.Amounts {
		switch {
		case i < len(always):
			t.always[i].scalar = float64(n) / 1000
		case n != 0:
			t.other(wire.Counted[i], registry.KindScalar).scalar = float64(n) / 1000
		}
	}
	return t
}

// nothing is how totals of nothing look.
var nothing = appendTotals(nil, &totals{})

// always are the resources that are shown when there is nothing of them too.
var always = [...]string{"cpus", "gpus", "mem", "disk"}

// add adds an amount of a resource. A name is shown with the kind that it had
// first.
func (t *totals) add(name string, v *registry.Value) {
	if i := slices.Index(always[:], name); i >= 0 {
		t.always[i].add(v) // a scalar, as amounts are at first
	} else if !isNothing(v) {
		t.other(name, v.Kind).add(v)
	}
}

// other is the sum of a kind of a resource, to be changed.
func (t *totals) other(name string, kind registry.Kind) *amount {
	for _, a := range t.others[name] {
		if a.kind == kind {
			return a
		}
	}
	if t.others == nil {
		t.others = map[string][]*amount{}
	}
	a := &amount{kind: kind}
	t.others[name] = append(t.others[name], a)
	return a
}

// addAll adds what came after: the sums are those of all of it in a row.
func (t *totals) addAll(after *totals) {
	for i := range always {
		t.always[i].addAll(&after.always[i])
	}
	for name, kinds := range after.others {
		for _, a := range kinds {
			t.other(name, a.kind).addAll(a)
		}
	}
	for it, s := range after.shared {
		t.share(it, s)
	}
}

func (t *totals) share(it string, s share) {
	if t.shared == nil {
		t.shared = map[string]share{}
	}
	t.shared[it] = s
}

// task adds what a task uses, unless it has ended.
func (t *totals) task(task *wire.Task) {
	if task.State.Terminal() {
		return
	}
	if u := task.Usage(); u.Others == 0 {
		t.addAll(totalsOf(&u))
		return
	}
	t.use(task.AgentID, task.Resources)
}

// use adds what is used on an agent. What several share counts once, and what
// can be taken back has a name of its own.
func (t *totals) use(on registry.AgentID, list []wire.Resource) {
	for i := range list {
		r := &list[i]
		name := r.Name
		if canBeRevoked(r) {
			name += "_revocable"
		}
		if isShared(r) {
			t.share(identity(on, r), share{name, r.Value})
		} else {
			t.add(name, &r.Value)
		}
	}
}

// identity tells a shared resource from all others.
func identity(on registry.AgentID, r *wire.Resource) string {
	return string(appendResource([]byte(on+"/"), r))
}

// compact puts what was added in order, and in less memory.
func (t *totals) compact() {
	for _, kinds := range t.others {
		for _, a := range kinds {
			a.value()
		}
	}
}

// counted is t with what is shared, each once.
func (t *totals) counted() *totals {
	if len(t.shared) == 0 {
		return t
	}
	all := &totals{}
	all.addAll(&totals{always: t.always, others: t.others})
	for _, it := range slices.Sorted(maps.Keys(t.shared)) {
		s := t.shared[it]
		all.add(s.name, &s.value)
	}
	return all
}

// appendTotals writes sums as Mesos shows them wherever it does not show
// resources in full: numbers first, then ranges, then sets.
func appendTotals(b []byte, t *totals) []byte {
	t = t.counted()
	b = append(b, '{')
	for i := range always {
		b = double(b, always[i], t.always[i].scalar)
	}
	if len(t.others) == 0 {
		return append(b, '}')
	}
	names := slices.Sorted(maps.Keys(t.others))
	for _, kind := range [...]registry.Kind{registry.KindScalar, registry.KindRanges, registry.KindSet} {
		for _, name := range names {
			if sum := t.others[name][0]; sum.kind == kind {
				v := sum.value()
				b = appendValue(foreignKey(b, name), &v)
			}
		}
	}
	return append(b, '}')
}

// appendValue writes a value in short: "[1-21, 23-5050]", "{a, b}".
func appendValue(b []byte, v *registry.Value) []byte {
	switch v.Kind {
	case registry.KindScalar:
		return jsonout.Float(b, v.Scalar)
	case registry.KindRanges:
		return appendRanges(b, v.Ranges)
	case registry.KindSet:
		return appendSet(b, v.Set)
	default:
		return jsonout.String(b, v.Text)
	}
}

func appendRanges(b []byte, list []registry.Range) []byte {
	b = append(b, `"[`...)
	for i, r := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(jsonout.Uint(b, r.Begin), '-')
		b = jsonout.Uint(b, r.End)
	}
	return append(b, `]"`...)
}

func appendSet(b []byte, items []string) []byte {
	var set []byte
	for i, item := range items {
		if i > 0 {
			set = append(set, ", "...)
		}
		set = append(set, item...)
	}
	return jsonout.String(b, "{"+string(set)+"}")
}
