package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// does is an operation of an embedder.
type does func(*registry.Draft) error

func (f does) Apply(d *registry.Draft) error { return f(d) }

// aims is one that says what it is about, or fails to.
type aims struct {
	does
	target func() registry.AgentID
}

func (a aims) Target() registry.AgentID { return a.target() }

func TestOperationThatPanicsIsRefusedAndHarmsNobody(t *testing.T) {
	var (
		request *registrar.Request
		admits  *ops.Admit
		removes *ops.Remove
	)
	r := open(t, store.NewMemory(), registrar.Options{})
	for name, c := range map[string]struct {
		op   ops.Operation
		want string
	}{
		"nothing":                        {nil, "operation was not applied: there is no operation"},
		"a request for nothing":          {registrar.Request{}, "operation was not applied: there is no operation"},
		"no request":                     {request, "operation was not applied: there is no operation"},
		"no operation that prepares":     {admits, "operation was not applied: operation panicked: "},
		"no operation that has a target": {removes, "operation was not applied: operation panicked: "},
		"a target that panics":           {aims{does(nil), func() registry.AgentID { panic("target") }}, "operation was not applied: operation panicked: target"},
		"a decision that panics":         {does(func(*registry.Draft) error { panic("decision") }), "operation panicked: decision"},
	} {
		if _, err := r.Apply(t.Context(), c.op); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: ended with %v, want %s", name, err, c.want)
		}
	}
	apply(t, r, admit("a"))
}

// TestOperationIsNotReadOnceItWasAnswered changes an operation after it was
// taken out; the race detector watches.
func TestOperationIsNotReadOnceItWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, store.NewMemory(), registrar.Options{})
		decide := make(chan struct{})
		first := submit(t, r, does(func(*registry.Draft) error { <-decide; return nil }))
		remove := &ops.Remove{ID: "a"}
		p := submit(t, r, remove)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := p.Wait(ctx); !errors.Is(err, registrar.ErrNotApplied) {
			t.Fatal(err)
		}
		close(decide)
		remove.ID = "b"
		first.Wait(t.Context())
		r.Close()
	})
}

func TestOperationThatEndsTheWritersGoroutineFailsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, store.NewMemory(), registrar.Options{MaxBatch: 2})
		decide := make(chan struct{})
		all := []*registrar.Pending{submit(t, r, does(func(*registry.Draft) error { <-decide; return nil }))}
		synctest.Wait() // it is being decided; the others are one group
		for i := range 7 {
			op := ops.Operation(admit(fmt.Sprint(i)))
			if i == 3 {
				op = does(func(*registry.Draft) error { runtime.Goexit(); return nil })
			}
			all = append(all, submit(t, r, op))
		}
		close(decide)
		for i, p := range all {
			_, err := p.Wait(t.Context())
			if i < 3 && err != nil || i > 2 && !errors.Is(err, registrar.ErrNotApplied) {
				t.Errorf("operation %d ended with %v", i, err)
			}
		}
		wantAgents(t, r.Snapshot(), "0 admitted", "1 admitted")
		if _, err := r.Submit(admit("late")); !errors.Is(err, registrar.ErrFailed) {
			t.Errorf("a later operation ended with %v", err)
		}
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), "Goexit") {
			t.Errorf("close says %v", err)
		}
	})
}
