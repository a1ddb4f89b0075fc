package wire

import (
	"math"
	"slices"
	"unique"

	"github.com/eaba02dc/registrar/registry"
)

// Counted are the resources of which Mesos counts how much is used, those that can
// be taken back last: mem and disk in MB.
var Counted = [...]string{"cpus", "gpus", "mem", "disk", "cpus_revocable", "gpus_revocable", "mem_revocable", "disk_revocable"}

const revocable = len(Counted) / 2 // where they begin

// Usage is how much tasks and executors use in all. The zero value is nothing.
type Usage struct {
	// Amounts are those of Counted, in thousandths, which is how exact Mesos is: so
	// sums are exact, in whatever order they are made.
	Amounts [len(Counted)]int64
	// Others is how many tasks and executors use something that Amounts cannot tell
	// of: other resources, amounts beyond all measure, or what several of them share.
	Others int64
}

// UsageOf is what one that has these resources uses.
func UsageOf(list []Resource) (u Usage) {
	for i := range list {
		if !u.use(&list[i]) {
			u.Others = 1
		}
	}
	return u
}

// use adds a resource, and says whether that is all there is to say of it.
func (u *Usage) use(r *Resource) bool {
	i := slices.Index(Counted[:revocable], r.Name)
	amount := math.Round(r.Value.Scalar * 1000)
	if i < 0 || r.Value.Kind != registry.KindScalar || math.Abs(amount) > 1e15 {
		return false
	}
	if r.Special != nil && r.Special.Revocable != "" {
		i += revocable
	}
	u.Amounts[i] += int64(amount)
	return math.Abs(amount) < 1e12 && (amount != 0 || r.Value.Scalar == 0) && (r.Special == nil || r.Special.Shared == "")
}

// Add adds n times what others use.
func (u *Usage) Add(other *Usage, n int64) {
	for i := range u.Amounts {
		u.Amounts[i] += n * other.Amounts[i]
	}
	u.Others += n * other.Others
}

// Uses is a Usage that all who use as much have in common: whether two use the same
// is seen without a look at it. The zero value says nothing.
type Uses struct{ usage unique.Handle[Usage] }

// UsesOf finds it for one that has these resources.
func UsesOf(list []Resource) Uses { return Uses{unique.Make(UsageOf(list))} }

// Equal reports whether both are as much.
func (u Uses) Equal(other Uses) bool { return u == other }

// Usage is what the task uses while it runs.
func (t *Task) Usage() Usage {
	if t.Uses == (Uses{}) {
		return UsageOf(t.Resources)
	}
	return t.Uses.usage.Value()
}
