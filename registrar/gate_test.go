package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDisk = errors.New("the disk is on fire")

// gate is a store whose disk the test holds in its hand.
type gate struct {
	store.Store

	mu      sync.Mutex
	held    chan struct{} // while not nil, records wait for it to be closed
	sync    error         // what durable answers once it is let go
	append  error         // what Append answers
	compact error         // what Compact answers
	records []store.Record
	covers  []uint64 // of the checkpoints, and what was kept
	kept    []uint64
}

func (g *gate) Append(r store.Record) (func() error, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.append != nil {
		return nil, g.append
	}
	r.Data = slices.Clone(r.Data)
	g.records = append(g.records, r)
	held := g.held
	return func() error {
		if held != nil {
			<-held
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.sync != nil {
			return g.sync
		}
		wait, err := g.Store.Append(r)
		if err != nil {
			return err
		}
		return wait()
	}, nil
}

func (g *gate) Compact(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte], keepAfter uint64) error {
	if g.compact != nil {
		return g.compact
	}
	g.mu.Lock()
	g.covers, g.kept = append(g.covers, covers.Seq), append(g.kept, keepAfter)
	g.mu.Unlock()
	return g.Store.Compact(ctx, covers, chunks, keepAfter)
}

// hold makes records wait until release, which lets them end with err.
func (g *gate) hold() (release func(err error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := make(chan struct{})
	g.held = held
	return func(err error) {
		g.mu.Lock()
		g.held, g.sync = nil, err
		g.mu.Unlock()
		close(held)
	}
}

func (g *gate) appended() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.records)
}

// quiet keeps the engine's log out of the tests' output.
var quiet = slog.New(slog.DiscardHandler)

// open starts a registrar on s and closes it with the test.
func open(t testing.TB, s store.Store, o registrar.Options) *registrar.Registrar {
	t.Helper()
	o.Logger = quiet
	r, err := registrar.Open(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func admit(id string) ops.Admit {
	return ops.Admit{Agent: registry.Agent{ID: registry.AgentID(id), Hostname: "h-" + id}}
}

func submit(t testing.TB, r *registrar.Registrar, op ops.Operation) *registrar.Pending {
	t.Helper()
	p, err := r.Submit(op)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func apply(t testing.TB, r *registrar.Registrar, op ops.Operation) registrar.Result {
	t.Helper()
	result, err := r.Apply(context.Background(), op)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// agents is the IDs and states of a registry, in order of arrival.
func agents(r *registry.Registry) (list []string) {
	for e := range r.Entries() {
		list = append(list, fmt.Sprint(e.ID(), " ", e.State()))
	}
	return list
}

func wantAgents(t testing.TB, r *registry.Registry, want ...string) {
	t.Helper()
	if got := agents(r); !slices.Equal(got, want) {
		t.Errorf("registry holds %v, want %v", got, want)
	}
	if errs := r.Check(); errs != nil {
		t.Errorf("broken invariants: %v", errs)
	}
}
