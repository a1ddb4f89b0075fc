package mesosjson

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/eaba02dc/registrar/registry"
)

// sameAmounts reports whether a state would print both lists alike: as sums by
// name and role, without the detail of a reservation.
func sameAmounts(a, b []registry.Resource) bool { return reflect.DeepEqual(sums(a), sums(b)) }

type nameAndRole struct{ name, role string }

func sums(list []registry.Resource) map[nameAndRole]registry.Value {
	m := map[nameAndRole]registry.Value{}
	for _, r := range list {
		key := nameAndRole{name: r.Name}
		if n := len(r.Reservations); n > 0 {
			key.role = r.Reservations[n-1].Role
		}
		sum := m[key]
		sum.Kind = r.Value.Kind
		sum.Scalar += r.Value.Scalar
		sum.Ranges = joined(append(sum.Ranges, r.Value.Ranges...))
		sum.Set = append(sum.Set, r.Value.Set...)
		slices.Sort(sum.Set)
		m[key] = sum
		if sum.Kind == registry.KindScalar && sum.Scalar == 0 {
			delete(m, key)
		}
	}
	return m
}

// joined sorts ranges and joins those that touch or overlap.
func joined(list []registry.Range) (out []registry.Range) {
	slices.SortFunc(list, func(a, b registry.Range) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, r := range list {
		if last := len(out) - 1; last >= 0 && r.Begin <= out[last].End+1 && out[last].End+1 != 0 {
			out[last].End = max(out[last].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}
