package ops_test

import (
	"fmt"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

func TestPreparedOperationsDecideAsTheirOriginals(t *testing.T) {
	reg := everyState(t)
	ids := []registry.AgentID{"unknown"}
	for e := range reg.Entries() {
		ids = append(ids, e.ID())
	}
	for _, id := range ids {
		for _, op := range every(id) {
			original, ok := op.(ops.Preparer)
			if !ok {
				continue
			}
			plain, prepared := reg.Draft(), reg.Draft()
			_, want := plain.Try(original.Apply)
			ready, got := original.Prepare()
			if got == nil {
				_, got = prepared.Try(ready.Apply)
			}
			if text(got) != text(want) || content(plain) != content(prepared) {
				t.Errorf("%T of %q: prepared gives %v and digest %v, as it is %v and %v",
					op, id, got, prepared.Digest(), want, plain.Digest())
			}
		}
	}
}

// content is all there is to see of a draft.
func content(d *registry.Draft) string {
	r := d.Freeze()
	return fmt.Sprint(r.Revision(), r.Digest(), (&story{r}).show())
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestPreparedOperationKeepsNothingOfTheAgent(t *testing.T) {
	a := registry.Agent{ID: "a1", Payload: []byte("before"), Labels: map[string]string{"k": "before"}}
	op, err := ops.Admit{Agent: a}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	copy(a.Payload, "after!")
	a.Labels["k"] = "after"
	d := registry.New().Draft()
	if err := op.Apply(d); err != nil {
		t.Fatal(err)
	}
	e, _ := d.Entry("a1")
	got, err := e.Agent()
	if err != nil || string(got.Payload) != "before" || got.Labels["k"] != "before" {
		t.Errorf("the agent admitted is %+v, %v; want it as it was when prepared", got, err)
	}
}

func TestOperationsOfStormsSayWhichAgentTheyAreAbout(t *testing.T) {
	agent := registry.Agent{ID: "a1", Payload: make([]byte, 1000)}
	for _, op := range []ops.Operation{
		ops.Admit{Agent: agent}, ops.Update{Agent: agent}, ops.Readmit{Agent: agent},
		ops.MarkUnreachable{ID: "a1"}, ops.MarkGone{ID: "a1"}, ops.Remove{ID: "a1"},
	} {
		if p, ok := op.(ops.Preparer); ok {
			var err error
			if op, err = p.Prepare(); err != nil {
				t.Fatal(err)
			}
			if size := op.(ops.Sized).Size(); size < 1000 {
				t.Errorf("%T says it holds %d bytes; its payload alone has 1000", op, size)
			}
		}
		if id := op.(ops.Targeted).Target(); id != "a1" {
			t.Errorf("%T says it is about %q", op, id)
		}
	}
	few, many := ops.Prune{Gone: make([]registry.AgentID, 1)}, ops.Prune{Gone: make([]registry.AgentID, 100)}
	if few.Size() >= many.Size() {
		t.Errorf("a prune of 1 holds %d bytes, one of 100 holds %d", few.Size(), many.Size())
	}
}
