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
	others map[string]*amount
	shared map[string]bool // what is shared, and was added before
}

// always are the resources that are shown when there is nothing of them too.
var always = [...]string{"cpus", "gpus", "mem", "disk"}

// add adds an amount of a resource. A name has the kind that it had first.
func (t *totals) add(name string, v *registry.Value) {
	if i := slices.Index(always[:], name); i >= 0 {
		t.always[i].add(v) // a scalar, as amounts are at first
		return
	}
	if isNothing(v) {
		return
	}
	sum := t.others[name]
	if sum == nil {
		if t.others == nil {
			t.others = map[string]*amount{}
		}
		sum = &amount{kind: v.Kind}
		t.others[name] = sum
	}
	sum.add(v)
}

// task adds what a task uses, unless it has ended.
func (t *totals) task(task *wire.Task) {
	if !hasEnded(task) {
		t.use(task.AgentID, task.Resources)
	}
}

// use adds what is used on an agent. What several share counts once, and what
// can be taken back has a name of its own.
func (t *totals) use(on registry.AgentID, list []wire.Resource) {
	for i := range list {
		r := &list[i]
		if isShared(r) && t.hasSeen(on, r) {
			continue
		}
		name := r.Name
		if canBeRevoked(r) {
			name += "_revocable"
		}
		t.add(name, &r.Value)
	}
}

func (t *totals) hasSeen(on registry.AgentID, r *wire.Resource) bool {
	it := string(appendResource([]byte(on+"/"), r))
	if t.shared[it] {
		return true
	}
	if t.shared == nil {
		t.shared = map[string]bool{}
	}
	t.shared[it] = true
	return false
}

// appendTotals writes sums as Mesos shows them wherever it does not show
// resources in full: numbers first, then ranges, then sets.
func appendTotals(b []byte, t *totals) []byte {
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
			if sum := t.others[name]; sum.kind == kind {
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
