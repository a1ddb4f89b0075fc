package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// plain decides an operation on a map from ID to state, as the table of
// operations says.
func plain(m map[registry.AgentID]registry.State, op ops.Operation) (refused bool) {
	switch o := op.(type) {
	case ops.Admit:
		if m[o.Agent.ID] != 0 {
			return true
		}
		m[o.Agent.ID] = registry.Admitted
	case ops.Readmit:
		if m[o.Agent.ID] == registry.Gone {
			return true
		}
		m[o.Agent.ID] = registry.Admitted
	case ops.MarkUnreachable:
		if m[o.ID] != registry.Admitted {
			return true
		}
		m[o.ID] = registry.Unreachable
	case ops.MarkGone:
		if m[o.ID] == 0 {
			return true
		}
		m[o.ID] = registry.Gone
	case ops.Remove:
		if m[o.ID] != registry.Admitted {
			return true
		}
		delete(m, o.ID)
	case ops.Prune:
		for _, id := range o.Gone {
			if m[id] == registry.Gone {
				delete(m, id)
			}
		}
	}
	return false
}

func drawOperation(t *rapid.T) ops.Operation {
	id := registry.AgentID(fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "id")))
	at := time.Unix(1, 0)
	return rapid.SampledFrom([]ops.Operation{
		ops.Admit{Agent: registry.Agent{ID: id}}, ops.Readmit{Agent: registry.Agent{ID: id}},
		ops.MarkUnreachable{ID: id, At: at}, ops.MarkGone{ID: id, At: at}, ops.Remove{ID: id},
		ops.Prune{Gone: []registry.AgentID{id}},
	}).Draw(t, "operation")
}

func TestEngineDoesWhatAPlainMapDoesAcrossReopenings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := store.NewMemory()
		model := map[registry.AgentID]registry.State{}
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			r, err := registrar.Open(context.Background(), m, registrar.Options{
				Logger: quiet, MaxBatch: rapid.IntRange(1, 5).Draw(t, "batch"),
			})
			if err != nil {
				t.Fatal(err)
			}
			var all []*registrar.Pending
			var refusals []bool
			checkpoint := rapid.IntRange(0, 30).Draw(t, "checkpoint before")
			for i := range rapid.IntRange(0, 30).Draw(t, "operations") {
				if i == checkpoint {
					if err := r.Checkpoint(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				op := drawOperation(t)
				p, err := r.Submit(op)
				if err != nil {
					t.Fatal(err)
				}
				all, refusals = append(all, p), append(refusals, plain(model, op))
			}
			for i, p := range all {
				var refused *ops.Error
				if _, err := p.Wait(context.Background()); errors.As(err, &refused) != refusals[i] || err != nil && refused == nil {
					t.Fatalf("operation %d ended with %v; refused in the model: %v", i, err, refusals[i])
				}
			}
			compare(t, r.Snapshot(), model)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			m = m.Reopen()
		}
		reg, _, err := registrar.Load(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, reg, model)
	})
}

func compare(t *rapid.T, r *registry.Registry, model map[registry.AgentID]registry.State) {
	if int(r.Count()) != len(model) {
		t.Fatalf("registry holds %v, want %v", agents(r), model)
	}
	for id, state := range model {
		if e, ok := r.Entry(id); !ok || e.State() != state {
			t.Fatalf("registry holds %v, want %v", agents(r), model)
		}
	}
	if errs := r.Check(); errs != nil {
		t.Fatal(errs)
	}
}

func TestReadersSeeOnlyWholeRegistriesInOrder(t *testing.T) {
	r := open(t, store.NewMemory(), registrar.Options{MaxBatch: 7})
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			last := uint64(0)
			for {
				s := r.Snapshot()
				if s.Revision() < last || int(s.Revision()) != s.Len(registry.Admitted)+2*s.Len(registry.Gone) {
					t.Errorf("revision %d after %d, with %d admitted and %d gone", s.Revision(), last, s.Len(registry.Admitted), s.Len(registry.Gone))
				}
				last = s.Revision()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	const each = 300
	for w := range 4 {
		writers.Go(func() {
			for i := range each {
				id := fmt.Sprint(w, "-", i)
				if got := apply(t, r, admit(id)); r.Snapshot().Revision() < got.Revision {
					t.Errorf("revision %d was acknowledged and is not visible", got.Revision)
				}
				if i%2 == 0 {
					apply(t, r, ops.MarkGone{ID: registry.AgentID(id), At: time.Unix(1, 0)})
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if got := r.Snapshot(); got.Len(registry.Admitted) != 4*each/2 || got.Len(registry.Gone) != 4*each/2 {
		t.Errorf("%d admitted, %d gone", got.Len(registry.Admitted), got.Len(registry.Gone))
	}
}
