package registry

import (
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"
)

// index finds the place of an agent by the hash of its ID. All registries that
// descend from one another share it. A cell is a hint: whoever follows it looks
// into its own slots, and the ID there decides. The place may be empty in them,
// or another agent's: when an operation is refused, its cells stay, and the
// places it gave are given again. An agent that was removed leaves a dead cell
// too; when an index is full of live and dead cells, or one hash has too many
// dead ones, the draft that meets this lays its agents out anew in an index of
// its own, and older registries keep the one they have, in which they still
// find what they hold.
//
// Reading takes no lock. Cells are only ever filled, under mu.
type index struct {
	cells []uint64 // place+1 in the upper half, hash in the lower; 0 is free

	mu   sync.Mutex
	used int
}

// maxDead is how many dead cells with one hash are tolerated, so that an agent
// that is admitted and removed over and over does not slow its own lookups.
const maxDead = 128

// hashSeed makes the hashes of IDs unpredictable to whoever chooses them.
var hashSeed = maphash.MakeSeed()

func hashID(id AgentID) uint32 { return uint32(maphash.String(hashSeed, string(id))) }

// newIndex has room for n agents at a load of at most a quarter, and can grow
// to a half.
func newIndex(n int) *index {
	size := 64
	for size < 4*n {
		size *= 2
	}
	return &index{cells: make([]uint64, size)}
}

// places yields the places that IDs with this hash were ever given, oldest first.
func (x *index) places(hash uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		mask := uint32(len(x.cells) - 1)
		for i := hash & mask; ; i = (i + 1) & mask {
			c := atomic.LoadUint64(&x.cells[i])
			if c == 0 || uint32(c) == hash && !yield(uint32(c>>32)-1) {
				return
			}
		}
	}
}

// add gives place to hash. It is false, and nothing is added, if hash should
// get no further place: the index would be more than half full, and probes want
// free cells to end at, or the hash has too many places already.
func (x *index) add(hash, place uint32) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if 2*(x.used+1) > len(x.cells) {
		return false
	}
	mask, same := uint32(len(x.cells)-1), 0
	i := hash & mask
	for ; x.cells[i] != 0; i = (i + 1) & mask {
		if uint32(x.cells[i]) == hash {
			same++
		}
	}
	if same > maxDead {
		return false
	}
	atomic.StoreUint64(&x.cells[i], uint64(place+1)<<32|uint64(hash))
	x.used++
	return true
}
