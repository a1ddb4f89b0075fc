package soak

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// quiet keeps the log of so many failures out of the output.
var quiet = slog.New(slog.DiscardHandler)

// client does its steps one after another and knows how far each went: the
// registry must hold what some step from acked to begun left.
type client struct {
	name         string
	begun, acked atomic.Int64                   // steps
	tell         func(word string, steps int64) // nil, or is told of each change
}

// note sets how many steps were begun or acknowledged.
func (c *client) note(word string, steps int64) {
	switch word {
	case "begun":
		c.begun.Store(steps)
	case "acked":
		c.acked.Store(steps)
	}
	if c.tell != nil {
		c.tell(word, steps)
	}
}

// agentOf names what step i is about: four steps for each agent.
func (c *client) agentOf(i int64) registry.AgentID {
	return registry.AgentID(fmt.Sprint(c.name, "-", i/4))
}

func (c *client) step(i int64) ops.Operation {
	id := c.agentOf(i)
	switch i % 4 {
	case 0:
		return ops.Admit{Agent: registry.Agent{ID: id, Hostname: "old"}}
	case 1:
		return ops.MarkUnreachable{ID: id, At: time.Unix(1, 0)}
	case 2:
		return ops.Readmit{Agent: registry.Agent{ID: id, Hostname: "new"}}
	}
	return ops.Replace{Old: id, Agent: registry.Agent{ID: id + "x", Hostname: "x"}}
}

// after is what the first n steps leave of this client's agents.
func (c *client) after(n int64) (want []string) {
	for i := int64(0); i+4 <= n; i += 4 {
		want = append(want, fmt.Sprint(c.agentOf(i), "x admitted x"))
	}
	if n%4 > 0 {
		want = append(want, fmt.Sprint(c.agentOf(n-1), " ", []string{"admitted old", "unreachable old", "admitted new"}[n%4-1]))
	}
	return want
}

// settle finds how many steps the registry holds, and goes on from there.
func (c *client) settle(r *registry.Registry, acked, begun int64) error {
	var got []string
	for e := range r.Entries() {
		a, err := e.Agent()
		if err != nil {
			return err
		}
		if string(e.ID())[:len(c.name)] == c.name {
			got = append(got, fmt.Sprint(e.ID(), " ", e.State(), " ", a.Hostname))
		}
	}
	for n := acked; n <= begun; n++ {
		if slices.Equal(got, c.after(n)) {
			c.begun.Store(n)
			c.acked.Store(n)
			return nil
		}
	}
	return fmt.Errorf("client %s: registry holds %v; %d steps were acknowledged, which leave %v, and %d begun", c.name, got, acked, c.after(acked), begun)
}

// run does steps until one fails or there are enough. What the failure says
// narrows what the registry may hold.
func (c *client) run(r *registrar.Registrar, steps int) error {
	for range steps {
		i := c.begun.Load()
		c.note("begun", i+1) // before, for who is told may be left alone with it
		p, err := r.Submit(c.step(i))
		if err != nil {
			c.note("begun", i)
			return surelyNot(err)
		}
		switch _, err := p.Wait(context.Background()); {
		case err == nil:
			c.note("acked", i+1)
		case errors.Is(err, registrar.ErrUnknown):
			return nil
		default:
			c.note("begun", i)
			return surelyNot(err)
		}
	}
	return nil
}

func surelyNot(err error) error {
	if errors.Is(err, registrar.ErrNotApplied) {
		return nil
	}
	return err
}

// crasher notes what was acknowledged, and then takes what a crash would leave,
// before the nth write to its file system; or lets writes from the nth on fail.
// Failures begin once the store is open for writing: a Pebble whose opening
// fails under a compaction of its own panics on a goroutine where nobody can
// recover (it closes its cache of files without waiting for the compaction).
type crasher struct {
	open    atomic.Bool
	fs      *vfs.MemFS
	rng     *rand.Rand // its own: it crashes on any goroutine
	left    atomic.Int64
	fail    error
	clients []*client

	once  sync.Once
	acked []int64
	clone *vfs.MemFS
}

func (c *crasher) MaybeError(op errorfs.Op) error {
	if c.fail != nil && !c.open.Load() {
		return nil
	}
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || c.left.Add(-1) > 0 {
		return nil
	}
	if c.fail == nil {
		c.once.Do(c.crash)
	}
	return c.fail
}

func (c *crasher) String() string { return "crasher" }

func (c *crasher) crash() {
	for _, cl := range c.clients {
		c.acked = append(c.acked, cl.acked.Load())
	}
	c.clone = c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.rng.IntN(101), RNG: c.rng})
}

// live opens the store, has all clients work at once, and closes it.
func (c *crasher) live(steps, batch int) error {
	fs := errorfs.Wrap(c.fs, c)
	l, err := wal.Open("/store", wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		return err
	}
	r, err := registrar.Open(context.Background(), l, registrar.Options{Logger: quiet, CheckpointBytes: 1, MaxBatch: batch})
	if err != nil {
		return err
	}
	_, err = r.Apply(context.Background(), ops.Prune{}) // answered once the epoch has begun
	c.open.Store(true)
	errs := append(make([]error, len(c.clients)), err)
	var working sync.WaitGroup
	for i, cl := range c.clients {
		working.Go(func() { errs[i] = cl.run(r, steps) })
	}
	working.Wait()
	if err := r.Close(); c.fail == nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// recovered is the registry in dir, proved and checked.
func recovered(dir string, fs vfs.FS) (*registry.Registry, error) {
	l, err := wal.Open(dir, wal.Options{FS: fs, Logger: quiet, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	r, _, err := registrar.Load(context.Background(), l)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(r.Check()...)
}

// life is one seed: three openings one after another, each ended by a crash or
// a failing disk.
func life(seed uint64, failure func(*rand.Rand) error) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	fs := vfs.NewCrashableMem()
	l, err := wal.Create("/store", wal.Options{FS: fs, Logger: quiet})
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return err
	}
	clients := []*client{{name: "a"}, {name: "b"}, {name: "c"}}
	for round := range 3 {
		c := &crasher{fs: fs, rng: rand.New(rand.NewPCG(seed, rng.Uint64())), clients: clients, fail: failure(rng)}
		c.left.Store(1 + rng.Int64N(150))
		err := c.live(5+rng.IntN(20), 1+rng.IntN(5))
		if err != nil && c.fail == nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if c.fail == nil {
			c.once.Do(c.crash)
			fs = c.clone
		}
		r, err := recovered("/store", fs)
		if err != nil {
			return fmt.Errorf("round %d, after it ended: %w", round, err)
		}
		for i, cl := range clients {
			acked := cl.acked.Load()
			if c.fail == nil {
				acked = c.acked[i]
			}
			if err := cl.settle(r, acked, cl.begun.Load()); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return nil
}

func TestEveryAcknowledgedOperationSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(t)) {
		if err := life(seed, func(*rand.Rand) error { return nil }); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestEveryCallerLearnsTheRightOutcomeOfAFailingDisk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(t)) {
		err := life(seed, func(rng *rand.Rand) error {
			return []error{syscall.EIO, syscall.ENOSPC}[rng.IntN(2)]
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func seeds(t *testing.T) int {
	if testing.Short() {
		return 20
	}
	return 200
}
