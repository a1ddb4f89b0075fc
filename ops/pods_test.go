package ops_test

import (
	"errors"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

func TestOperationsOnPodsSayWhatTheyHold(t *testing.T) {
	for want, op := range map[int]ops.Sized{
		2 + 11: ops.PutPod{Pod: pod("/a")},
		2:      ops.RemovePod{ID: "/a"},
	} {
		if got := op.Size(); got != want {
			t.Errorf("%T says it holds %d bytes, want %d", op, got, want)
		}
	}
}

func TestUnacceptablePodIsRefusedWithoutADraft(t *testing.T) {
	_, err := ops.PutPod{Pod: registry.Pod{ID: "/a"}, New: true}.Prepare()
	var refusal *ops.PodError
	var field *registry.FieldError
	if !errors.As(err, &refusal) || refusal.Op != "put" || refusal.Pod != "/a" || !errors.As(err, &field) || field.Field != "definition" {
		t.Errorf("error is %v, want a refusal of pod /a for its definition", err)
	}
}

func TestPreparedPodKeepsNothingOfTheDefinition(t *testing.T) {
	given := registry.Pod{ID: "/a", Definition: []byte("before")}
	op, err := ops.PutPod{Pod: given}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	copy(given.Definition, "after!")
	d := registry.New().Draft()
	if err := op.Apply(d); err != nil {
		t.Fatal(err)
	}
	if got, _ := d.Pod("/a"); string(got.Definition) != "before" {
		t.Errorf("the definition is %q; want it as it was when prepared", got.Definition)
	}
}
