package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// An agent is admitted, and is there after a restart.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "registrar-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "registry")

	l, err := wal.Create(dir, wal.Options{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := registrar.Open(ctx, l, registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Apply(ctx, ops.Admit{Agent: registry.Agent{ID: "a1", Hostname: "host-1"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed:", result.Changed, "revision:", result.Revision)
	if err := r.Close(); err != nil { // closes l too
		log.Fatal(err)
	}

	if l, err = wal.Open(dir, wal.Options{}); err != nil {
		log.Fatal(err)
	}
	if r, err = registrar.Open(ctx, l, registrar.Options{}); err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	entry, known := r.Snapshot().Entry("a1")
	fmt.Println("known:", known, "state:", entry.State())
	// Output:
	// changed: true revision: 1
	// known: true state: admitted
}

// A storm of operations shares a few records: submit them all, then wait for
// each. They are decided in the order in which they were submitted.
func ExampleRegistrar_Submit() {
	ctx := context.Background()
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	var pending []*registrar.Pending
	for i := range 1000 {
		id := registry.AgentID(fmt.Sprintf("a%d", i))
		p, err := r.Submit(ops.Admit{Agent: registry.Agent{ID: id}})
		if err != nil {
			log.Fatal(err) // the queue is full, or the agent not acceptable: not applied
		}
		pending = append(pending, p)
	}
	for _, p := range pending {
		if _, err := p.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(r.Snapshot().Len(registry.Admitted), "agents are durable")
	// Output:
	// 1000 agents are durable
}

// A snapshot never changes, whatever is applied after it was taken.
func ExampleRegistrar_Snapshot() {
	ctx := context.Background()
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, id := range []registry.AgentID{"a1", "a2", "a3"} {
		if _, err := r.Apply(ctx, ops.Admit{Agent: registry.Agent{ID: id}}); err != nil {
			log.Fatal(err)
		}
	}
	before := r.Snapshot()
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	if _, err := r.Apply(ctx, ops.MarkUnreachable{ID: "a2", At: at}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("before:", before.Len(registry.Admitted), "admitted")
	for e := range r.Snapshot().Entries(registry.Unreachable) {
		fmt.Println("now:", e.ID(), "unreachable since", e.Status().At.Format(time.TimeOnly))
	}
	// Output:
	// before: 3 admitted
	// now: a2 unreachable since 15:04:05
}

// brokenDisk is a store that fails once it is broken.
type brokenDisk struct {
	store.Store
	broken bool
}

func (d *brokenDisk) Append(rec store.Record) (func() error, error) {
	if d.broken {
		return func() error { return errors.New("input/output error") }, nil
	}
	return d.Store.Append(rec)
}

// An operation ends in one of three ways, and a caller can tell them apart.
func Example_outcomes() {
	ctx := context.Background()
	disk := &brokenDisk{Store: store.NewMemory()}
	r, err := registrar.Open(ctx, disk, registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	try := func(op ops.Operation) {
		result, err := r.Apply(ctx, op)
		var refused *ops.Error
		var field *registry.FieldError
		switch {
		case err == nil:
			fmt.Println("durable; changed:", result.Changed)
		case errors.Is(err, ops.ErrAdmitted):
			fmt.Println("refused: somebody was faster")
		case errors.As(err, &field):
			fmt.Println("refused: bad field", field.Field)
		case errors.As(err, &refused):
			fmt.Println("refused:", refused.Err)
		case errors.Is(err, registrar.ErrNotApplied):
			fmt.Println("not applied; stopped:", errors.Is(err, registrar.ErrFailed))
		case errors.Is(err, registrar.ErrUnknown):
			fmt.Println("unknown: it may be there after a restart")
		}
	}
	agent := registry.Agent{ID: "a1", Hostname: "host-1"}
	try(ops.Admit{Agent: agent})
	try(ops.Readmit{Agent: agent})
	try(ops.Admit{Agent: agent})
	try(ops.Admit{Agent: registry.Agent{ID: "not/an/id"}})
	try(ops.Remove{ID: "a2"})
	disk.broken = true
	try(ops.Remove{ID: "a1"})
	try(ops.Remove{ID: "a1"})
	fmt.Println("readers still see", r.Snapshot().Len(registry.Admitted), "agent")
	fmt.Println("close:", r.Close() != nil)
	// Output:
	// durable; changed: true
	// durable; changed: false
	// refused: somebody was faster
	// refused: bad field id
	// refused: agent is not admitted: it is not known
	// unknown: it may be there after a restart
	// not applied; stopped: true
	// readers still see 1 agent
	// close: true
}

// A Request says who asks and why. It is written down with what it changed.
func ExampleRequest() {
	ctx := context.Background()
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	result, err := r.Apply(ctx, registrar.Request{
		Operation: ops.Admit{Agent: registry.Agent{ID: "a1"}},
		ID:        "7d0f2c",
		Principal: "operator@example.com",
		Reason:    "new rack",
	})
	fmt.Println(result.Changed, err)
	// Output:
	// true <nil>
}

// DrainAll drains agents in one revision: all of them or none.
type DrainAll []registry.AgentID

// Apply implements ops.Operation.
func (ids DrainAll) Apply(d *registry.Draft) error {
	for _, id := range ids {
		if err := (ops.Drain{ID: id}).Apply(d); err != nil {
			return fmt.Errorf("drain all: %w", err) // takes back the drains before it
		}
	}
	return nil
}

// An embedder adds operations of its own: any type with Apply.
func Example_ownOperation() {
	ctx := context.Background()
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, id := range []registry.AgentID{"a1", "a2", "a3"} {
		if _, err := r.Apply(ctx, ops.Admit{Agent: registry.Agent{ID: id}}); err != nil {
			log.Fatal(err)
		}
	}
	result, err := r.Apply(ctx, DrainAll{"a1", "a2"})
	fmt.Println("revision", result.Revision, err)
	_, err = r.Apply(ctx, DrainAll{"a3", "a9"})
	fmt.Println(err)
	for e := range r.Snapshot().Entries() {
		fmt.Println(e.ID(), e.Status().Drain.State)
	}
	// Output:
	// revision 4 <nil>
	// drain all: drain agent "a9": agent is not known
	// a1 DRAINING
	// a2 DRAINING
	// a3 none
}
