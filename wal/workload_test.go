package wal_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

const testDir = "/data/store"

// workload uses a store as an engine would, and remembers what it was told.
type workload struct {
	rng    *rand.Rand
	epochs []uint64 // of each record appended, from record 1 on

	created atomic.Bool   // Create or Open returned a store
	acked   atomic.Uint64 // the last record known durable
	covered atomic.Uint64 // the last checkpoint known stored
	stop    atomic.Bool   // the crash has come

	refused []uint64 // what Append itself refused
}

// record is the record seq as this workload appends it.
func (w *workload) record(seq uint64) store.Record {
	epoch := w.epochs[seq-1]
	return storetest.Rec(seq, epoch, int((seq*epoch*797)%6000))
}

func (w *workload) chunks(seq uint64) [][]byte { return storetest.Chunks(int(3 + seq%9)) }

// run appends n records, up to four in flight, and stores checkpoints between.
// It ends at the first failure, which it returns.
func (w *workload) run(l *wal.Log, n int) (err error) {
	epoch := l.Identity().Epoch + 1
	var flying []func() error
	land := func(keep int) {
		for len(flying) > keep {
			if e := flying[0](); e == nil {
				w.acked.Store(uint64(len(w.epochs) - len(flying) + 1))
			} else if err == nil {
				err = e
			}
			flying = flying[1:]
		}
	}
	for range n {
		if w.stop.Load() || err != nil {
			break
		}
		seq := uint64(len(w.epochs) + 1)
		w.epochs = append(w.epochs, epoch)
		durable, e := l.Append(w.record(seq))
		if e != nil {
			w.epochs = w.epochs[:seq-1]
			w.refused = append(w.refused, seq)
			err = e
			break
		}
		flying = append(flying, durable)
		land(w.rng.IntN(4))
		if w.rng.IntN(25) == 0 && err == nil {
			err = w.compact(l)
		}
	}
	land(0)
	return err
}

func (w *workload) compact(l *wal.Log) error {
	seq := w.acked.Load()
	if seq == 0 || seq <= w.covered.Load() {
		return nil
	}
	err := l.Compact(context.Background(), w.record(seq).Mark, slices.Values(w.chunks(seq)), seq-uint64(w.rng.IntN(5)))
	if err == nil {
		w.covered.Store(seq)
	}
	return err
}

// verify checks that a store holds everything acknowledged and nothing else,
// and returns how many records it has.
func (w *workload) verify(l *wal.Log, acked, covered uint64) (uint64, error) {
	ctx := context.Background()
	mark, chunks, err := l.Checkpoint(ctx, math.MaxUint64)
	if err != nil {
		return 0, err
	}
	if mark.Seq < covered {
		return 0, fmt.Errorf("checkpoint %d is gone, the newest is %d", covered, mark.Seq)
	}
	if mark.Seq > 0 && mark != w.record(mark.Seq).Mark {
		return 0, fmt.Errorf("checkpoint covers %+v, want %+v", mark, w.record(mark.Seq).Mark)
	}
	want := w.chunks(mark.Seq)
	n := 0
	for c, err := range chunks {
		if err != nil {
			return 0, err
		}
		if n >= len(want) || string(c) != string(want[n]) {
			return 0, fmt.Errorf("chunk %d of checkpoint %d is not what was stored", n, mark.Seq)
		}
		n++
	}
	if mark.Seq > 0 && n != len(want) {
		return 0, fmt.Errorf("checkpoint %d has %d chunks, want %d", mark.Seq, n, len(want))
	}
	last := mark.Seq
	for r, err := range l.Records(ctx, mark.Seq) {
		if err != nil {
			return 0, err
		}
		last++
		if last > uint64(len(w.epochs)) {
			return 0, fmt.Errorf("record %d was never appended", last)
		}
		if err := storetest.SameRecord(r, w.record(last)); err != nil {
			return 0, err
		}
	}
	if last < acked {
		return 0, fmt.Errorf("record %d was acknowledged and is gone: the last is %d", acked, last)
	}
	return last, nil
}

// adopt goes on from a store that holds last records.
func (w *workload) adopt(last uint64) {
	w.epochs = w.epochs[:last]
	w.acked.Store(last)
	w.stop.Store(false)
}

func memFS() *vfs.MemFS { return vfs.NewCrashableMem() }

// crash is the file system as a crash may leave it.
func crash(fs *vfs.MemFS, rng *rand.Rand) *vfs.MemFS {
	percent := []int{0, 20, 50, 80, 100}[rng.IntN(5)]
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
}

func newRNG(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
