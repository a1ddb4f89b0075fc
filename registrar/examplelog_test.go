package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// A caller that does not know what became of its request sends it again, with
// the same ID: it is decided once.
func ExampleRegistrar_Outcome() {
	ctx := context.Background()
	m := store.NewMemory()
	r, err := registrar.Open(ctx, m, registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	admit := registrar.Request{
		Operation: ops.Admit{Agent: registry.Agent{ID: "a1"}},
		ID:        "7f9c24e8", Principal: "ann", Reason: "new rack",
	}
	first, err := r.Apply(ctx, admit)
	fmt.Println(first.Revision, err)
	r.Close()

	if r, err = registrar.Open(ctx, m.Reopen(), registrar.Options{}); err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	again, err := r.Apply(ctx, admit) // without its ID it would be refused: a1 is known
	fmt.Println(again.Revision, err)
	_, err = r.Outcome("another")
	fmt.Println(errors.Is(err, registrar.ErrNoRequest))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// true
}

// A watcher builds a registry of its own, and could go on from any position
// after a restart.
func ExampleRegistrar_Watch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
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
	own := registry.New().Draft()
	start := registrar.Position{History: r.Recovery().Identity.History, Revision: 0}
	for event, err := range r.Watch(ctx, start) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Resync != nil { // in place of all that was built
			own = event.Resync.Draft()
		} else if err := own.Redo(event.Operation.Rows, event.Revision); err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Revision, own.Count())
		if event.Revision == 3 {
			break
		}
	}
	// Output:
	// 1 1
	// 2 2
	// 3 3
}

// Who changed what, and how things were before.
func ExampleLoadAt() {
	ctx := context.Background()
	m := store.NewMemory()
	r, err := registrar.Open(ctx, m, registrar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, op := range []ops.Operation{
		ops.Admit{Agent: registry.Agent{ID: "a1"}},
		registrar.Request{Operation: ops.Remove{ID: "a1"}, Principal: "ann", Reason: "sold"},
	} {
		if _, err := r.Apply(ctx, op); err != nil {
			log.Fatal(err)
		}
	}
	for o, err := range r.Log(ctx, 2) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("revision", o.Revision, "by", o.Principal, "because:", o.Reason)
	}
	before, _, err := registrar.LoadAt(ctx, m, 1)
	if err != nil {
		log.Fatal(err)
	}
	_, known := before.Entry("a1")
	fmt.Println("a1 was known at revision 1:", known)
	// Output:
	// revision 2 by ann because: sold
	// a1 was known at revision 1: true
}
