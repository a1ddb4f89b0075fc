package httpapi

import (
	"cmp"
	"math"
	"slices"

	"github.com/eaba02dc/registrar/registry"
)

// amount is a sum of values of one kind. The zero value is a scalar of 0.
type amount struct {
	kind registry.Kind
	// scalar is kept to three digits behind the point, as in Mesos: three tasks
	// with 0.1 cpus have 0.3, in whatever order they are added.
	scalar float64
	ranges []registry.Range
	set    []string
}

// add adds a value, unless it is of another kind.
func (a *amount) add(v *registry.Value) {
	if v.Kind != a.kind {
		return
	}
	a.scalar = rounded(a.scalar + rounded(v.Scalar))
	a.ranges = append(a.ranges, v.Ranges...)
	a.set = append(a.set, v.Set...)
}

// addAll adds another sum of the same kind.
func (a *amount) addAll(other *amount) {
	a.scalar = rounded(a.scalar + other.scalar)
	a.ranges = append(a.ranges, other.ranges...)
	a.set = append(a.set, other.set...)
}

// rounded is v to three digits, if it has as many, and a number that JSON has.
func rounded(v float64) float64 {
	if math.Abs(v) < 1e12 {
		return math.Round(v*1000) / 1000
	}
	return min(max(v, -math.MaxFloat64), math.MaxFloat64)
}

// value is the sum. It puts what was added in order.
func (a *amount) value() registry.Value {
	switch a.kind {
	case registry.KindRanges:
		a.ranges = merged(a.ranges)
		return registry.Ranges(a.ranges...)
	case registry.KindSet:
		slices.Sort(a.set)
		a.set = slices.Compact(a.set)
		return registry.Set(a.set...)
	default:
		return registry.Scalar(a.scalar)
	}
}

// merged is list in order, each number in one range only, and no range where
// another ends. It uses the memory of list.
func merged(list []registry.Range) []registry.Range {
	slices.SortFunc(list, func(a, b registry.Range) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End))
	})
	out := list[:0]
	for _, r := range list {
		if r.Begin > r.End {
			continue // no number at all
		}
		if n := len(out); n > 0 && (r.Begin <= out[n-1].End || r.Begin-1 == out[n-1].End) {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// isNothing reports whether a value is an amount of nothing, or no amount at
// all, as a text is. It is not shown.
func isNothing(v *registry.Value) bool {
	switch v.Kind {
	case registry.KindScalar:
		return v.Scalar == 0
	case registry.KindRanges:
		return len(v.Ranges) == 0
	case registry.KindSet:
		return len(v.Set) == 0
	default:
		return true
	}
}
