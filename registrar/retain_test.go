package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

// hours applies one operation an hour of the bubble's clock, each followed by a
// checkpoint: what it logs is all that the registry holds.
func hours(t *testing.T, r *registrar.Registrar, n int) {
	t.Helper()
	for range n {
		a := admit("a").Agent
		a.Payload = make([]byte, 100<<10)
		a.Payload[0] = byte(r.Snapshot().Revision())
		apply(t, r, ops.Readmit{Agent: a})
		time.Sleep(time.Hour)
		synctest.Wait()
	}
}

// TestHistoryIsKeptForAsLongAsAnyBoundAllows runs an engine for 30 hours with
// a checkpoint and 100 KiB of log each, in one life and in two, under a wall
// clock that jumps by a century either way.
func TestHistoryIsKeptForAsLongAsAnyBoundAllows(t *testing.T) {
	for name, c := range map[string]struct {
		o              registrar.Options
		oldest, second uint64 // revision kept after 30 operations; with a reopening after 20
	}{
		"by default all":                    {registrar.Options{}, 0, 0},
		"ten records":                       {registrar.Options{HistoryRecords: 10}, 20, 20},
		"a megabyte":                        {registrar.Options{HistoryBytes: 2000 << 10}, 20, 20},
		"ten hours":                         {registrar.Options{HistoryAge: 10 * time.Hour}, 20, 10},
		"twenty hours, since it was opened": {registrar.Options{HistoryAge: 20 * time.Hour}, 10, 0},
		"the first bound that is met":       {registrar.Options{HistoryAge: 12 * time.Hour, HistoryRecords: 10, HistoryBytes: 1 << 30}, 20, 20},
		"never what two checkpoints need":   {registrar.Options{HistoryRecords: 1}, 29, 29},
	} {
		for _, lives := range []int{1, 2} {
			t.Run(fmt.Sprint(name, "/lives=", lives), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { wantOldest(t, c.o, lives, []uint64{c.oldest, c.second}[lives-1]) })
			})
		}
	}
}

func wantOldest(t *testing.T, o registrar.Options, lives int, want uint64) {
	o.CheckpointBytes = 1
	o.Now = func() time.Time { // a wall clock that no one should trust
		return time.Now().AddDate(rand.IntN(200)-100, 0, 0)
	}
	m := store.NewMemory()
	r := open(t, m, o)
	if lives == 1 {
		hours(t, r, 30)
	} else {
		hours(t, r, 20)
		r.Close()
		m = m.Reopen()
		r = open(t, m, o)
		hours(t, r, 10)
	}
	got := m.Oldest().Revision
	r.Close()
	if got > want || got+2 < want { // a record or two are the epochs'
		t.Errorf("the oldest revision kept is %d, want %d or the one before", got, want)
	}
}

// TestHistoryBytesCountTheCheckpointsThatWereFound closes one engine after
// another, each of which leaves a checkpoint.
func TestHistoryBytesCountTheCheckpointsThatWereFound(t *testing.T) {
	m := store.NewMemory()
	for life := range 30 {
		r := open(t, m, registrar.Options{HistoryBytes: 4 << 20})
		a := admit("a").Agent
		a.Payload = make([]byte, 400<<10) // so much that Close writes a checkpoint
		a.Payload[0] = byte(life)
		apply(t, r, ops.Readmit{Agent: a})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		m = m.Reopen()
	}
	kept := int64(0)
	for _, p := range m.Places() {
		kept += p.Bytes
	}
	if kept > 4<<20 || kept < 1<<20 {
		t.Errorf("checkpoints of %d bytes are kept", kept)
	}
}

// torn is a store with a record that cannot be read.
type torn struct {
	store.Store
	seq   uint64
	looks int
}

var errTorn = errors.New("torn")

func (s *torn) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	if after < s.seq {
		s.looks++
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, errTorn) }
	}
	return s.Store.Records(ctx, after)
}

func TestHistoryThatCannotBeReadIsLetGoOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		o := registrar.Options{CheckpointBytes: 1, HistoryRecords: 3}
		r := open(t, m, registrar.Options{CheckpointBytes: 1})
		hours(t, r, 5)
		r.Close()
		m = m.Reopen()
		s := &torn{Store: m, seq: 2}
		r = open(t, s, o)
		hours(t, r, 10)
		if got := m.Oldest().Revision; got < 10 || s.looks != 1 {
			t.Errorf("the oldest revision kept is %d, after %d looks at the history", got, s.looks)
		}
		r.Close()
	})
}
