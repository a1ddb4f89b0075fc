package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// state is a registry of three agents as a value that can be compared.
type state struct {
	revision uint64
	agents   [3]registry.State // 0: not known
}

func stateOf(r *registry.Registry) state {
	s := state{revision: r.Revision()}
	for i := range s.agents {
		if e, known := r.Entry(agentID(i)); known {
			s.agents[i] = e.State()
		}
	}
	return s
}

func agentID(i int) registry.AgentID { return registry.AgentID("abc"[i : i+1]) }

// call is what a client asks for.
type call struct {
	what string
	i, j int // agents
}

// answer is what it is told.
type answer struct {
	unknown, refused bool
	result           registrar.Result
	state            state // of a read
}

func (c call) operation() ops.Operation {
	id, at := agentID(c.i), time.Unix(1, 0)
	switch c.what {
	case "admit":
		return ops.Admit{Agent: registry.Agent{ID: id}}
	case "readmit":
		return ops.Readmit{Agent: registry.Agent{ID: id}}
	case "unreachable":
		return ops.MarkUnreachable{ID: id, At: at}
	case "gone":
		return ops.MarkGone{ID: id, At: at}
	case "remove":
		return ops.Remove{ID: id}
	case "prune":
		return ops.Prune{Unreachable: []registry.AgentID{id}, Gone: []registry.AgentID{id}}
	}
	return ops.Replace{Old: id, Agent: registry.Agent{ID: agentID(c.j)}}
}

var calls = []string{"admit", "readmit", "unreachable", "gone", "remove", "prune", "replace"}

// decide is the table of operations on a state, written anew.
func (c call) decide(s state) (next state, changed, refused bool) {
	next, was := s, s.agents[c.i]
	agent := &next.agents[c.i]
	switch c.what {
	case "admit":
		refused, *agent = was != 0, registry.Admitted
	case "readmit":
		refused, *agent = was == registry.Gone, registry.Admitted
	case "unreachable":
		refused, *agent = was != registry.Admitted, registry.Unreachable
	case "gone":
		refused, *agent = was == 0, registry.Gone
	case "remove":
		refused, *agent = was != registry.Admitted, 0
	case "prune":
		if was != registry.Admitted {
			*agent = 0
		}
	case "replace":
		refused = was == 0 || s.agents[c.j] != 0
		next.agents[c.i], next.agents[c.j] = 0, registry.Admitted
	}
	if refused || next.agents == s.agents {
		return s, false, refused
	}
	next.revision++
	return next, true, false
}

// model says what a registry may answer: anything at all to a caller who was
// left in the dark, whose call may have come through or not.
var model = (&porcupine.NondeterministicModel{
	Init:  func() []any { return []any{state{}} },
	Equal: func(a, b any) bool { return a == b },
	Step: func(from, input, output any) []any {
		s, c, a := from.(state), input.(call), output.(answer)
		if c.what == "read" {
			if a.state != s {
				return nil
			}
			return []any{s}
		}
		next, changed, refused := c.decide(s)
		switch {
		case a.unknown:
			return []any{s, next}
		case a.refused != refused, !refused && a.result != (registrar.Result{Revision: next.revision, Changed: changed}):
			return nil
		}
		return []any{next}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}).ToModel()

// history is what clients did, by a clock that only counts.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	all   []porcupine.Operation
}

func (h *history) add(client int, called int64, c call, a answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	returned := h.clock.Add(1)
	if a.unknown {
		returned = math.MaxInt64
	}
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: c, Call: called, Output: a, Return: returned})
}

// crash cuts off what was done from a point on: nobody was told any more.
func (h *history) crash(at int64) {
	h.all = slices.DeleteFunc(h.all, func(o porcupine.Operation) bool {
		return o.Call > at || o.Return > at && o.Input.(call).what == "read"
	})
	for i := range h.all {
		if o := &h.all[i]; o.Return > at && o.Return != math.MaxInt64 {
			o.Output, o.Return = answer{unknown: true}, math.MaxInt64
		}
	}
}

// work does random calls and reads, one after another.
func (h *history) work(r *registrar.Registrar, client int, rng *rand.Rand, n int) error {
	for range n {
		c := call{what: calls[rng.IntN(len(calls))], i: rng.IntN(3)}
		c.j = (c.i + 1 + rng.IntN(2)) % 3
		if rng.IntN(3) == 0 {
			called := h.clock.Add(1)
			h.add(client, called, call{what: "read"}, answer{state: stateOf(r.Snapshot())})
			continue
		}
		if err := h.apply(r, client, c); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) apply(r *registrar.Registrar, client int, c call) error {
	called := h.clock.Add(1)
	result, err := r.Apply(context.Background(), c.operation())
	var refused *ops.Error
	switch {
	case err == nil:
		h.add(client, called, c, answer{result: result})
	case errors.As(err, &refused):
		h.add(client, called, c, answer{refused: true})
	case errors.Is(err, registrar.ErrUnknown):
		h.add(client, called, c, answer{unknown: true})
	case !errors.Is(err, registrar.ErrNotApplied):
		return err
	}
	return nil
}

// watch notes each state that it is led to: it was the registry's at some time
// since the watch began.
func (h *history) watch(ctx context.Context, r *registrar.Registrar, client int) error {
	var d *registry.Draft
	called := h.clock.Add(1)
	for e, err := range r.Watch(ctx, registrar.Position{}) {
		switch {
		case ctx.Err() != nil || errors.Is(err, registrar.ErrFailed) || errors.Is(err, registrar.ErrClosed):
			return nil
		case err != nil:
			return err
		case e.Resync != nil:
			d = e.Resync.Draft()
		default:
			if err := d.Redo(e.Operation.Rows, e.Revision); err != nil {
				return err
			}
		}
		h.add(client, called, call{what: "read"}, answer{state: stateOf(d.Freeze())})
	}
	return nil
}

// stopper crashes before the nth write: it notes the time, then takes what is
// left of the file system.
type stopper struct {
	fs    *vfs.MemFS
	rng   *rand.Rand
	h     *history
	left  atomic.Int64
	once  sync.Once
	at    int64
	clone *vfs.MemFS
}

func (c *stopper) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && c.left.Add(-1) <= 0 {
		c.once.Do(c.crash)
	}
	return nil
}

func (c *stopper) String() string { return "stopper" }

func (c *stopper) crash() {
	c.at = c.h.clock.Add(1)
	c.clone = c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.rng.IntN(101), RNG: c.rng})
}

// run has three clients and a watcher at work on one opening, until it crashes.
func (h *history) run(fs vfs.FS, rng *rand.Rand) error {
	l, err := wal.Open("/store", wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		return err
	}
	r, err := registrar.Open(context.Background(), l, registrar.Options{
		Logger: quiet, CheckpointBytes: 1, MaxBatch: 1 + rng.IntN(4), HistoryRecords: uint64(1 + rng.IntN(20)),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	errs := make([]error, 4)
	var working, watching sync.WaitGroup
	watching.Go(func() { errs[3] = h.watch(ctx, r, 3) })
	for i := range 3 {
		rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
		working.Go(func() { errs[i] = h.work(r, i, rng, 12) })
	}
	working.Wait()
	cancel()
	watching.Wait()
	return errors.Join(append(errs, r.Close())...)
}

// TestConcurrentCallsAreLinearizableAcrossCrashes lets clients apply, read and
// watch at once, over three openings ended by crashes, and looks for one order
// of all that they were told that a registry could have gone through.
func TestConcurrentCallsAreLinearizableAcrossCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(t)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		fs, h := vfs.NewCrashableMem(), &history{}
		l, err := wal.Create("/store", wal.Options{FS: fs, Logger: quiet})
		if err == nil {
			err = l.Close()
		}
		for round := 0; round < 3 && err == nil; round++ {
			c := &stopper{fs: fs, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)), h: h}
			c.left.Store(10 + rng.Int64N(120))
			err = h.run(errorfs.Wrap(fs, c), rng)
			c.once.Do(c.crash)
			h.crash(c.at)
			fs = c.clone
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if porcupine.CheckOperationsTimeout(model, h.all, time.Minute) != porcupine.Ok {
			t.Fatalf("seed %d: no order of these explains them all:\n%s", seed, h)
		}
	}
}

func (h *history) String() string {
	var b strings.Builder
	for _, o := range h.all {
		fmt.Fprintf(&b, "%d [%d, %d] %s\n", o.ClientId, o.Call, o.Return, model.DescribeOperation(o.Input, o.Output))
	}
	return b.String()
}
