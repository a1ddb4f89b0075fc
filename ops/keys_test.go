package ops_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

func TestRevisionErrorHasBothRevisions(t *testing.T) {
	d := registry.New().Draft()
	if _, err := d.Try(ops.Put{Table: "jobs", Key: "j1"}.Apply); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		op   ops.Operation
		want ops.RevisionError
	}{
		{ops.Put{Table: "jobs", Key: "j1", If: ops.Absent()}, ops.RevisionError{Wanted: 0, Found: 1}},
		{ops.Put{Table: "jobs", Key: "j1", If: ops.AtRevision(7)}, ops.RevisionError{Wanted: 7, Found: 1}},
		{ops.Put{Table: "jobs", Key: "j2", If: ops.AtRevision(7)}, ops.RevisionError{Wanted: 7, Found: 0}},
		{ops.Delete{Table: "jobs", Key: "j1", If: ops.AtRevision(7)}, ops.RevisionError{Wanted: 7, Found: 1}},
	} {
		var got *ops.RevisionError
		if err := c.op.Apply(d); !errors.As(err, &got) || *got != c.want {
			t.Errorf("%+v: error is %v, want %+v", c.op, err, c.want)
		}
	}
}

// A key that was written outside of an operation has revision 0, and is there
// all the same.
func TestKeyOfRevision0IsNotAbsent(t *testing.T) {
	d := registry.New().Draft()
	if err := d.PutKey("jobs", "j1", "v"); err != nil {
		t.Fatal(err)
	}
	if err := (ops.Put{Table: "jobs", Key: "j1", If: ops.Absent()}).Apply(d); !errors.Is(err, ops.ErrRevision) {
		t.Errorf("error is %v", err)
	}
}

func TestOperationsOnKeysSayWhatTheyHold(t *testing.T) {
	value := strings.Repeat("v", 1000)
	for want, op := range map[int]ops.Preparer{
		4 + 2 + 1000: ops.Put{Table: "jobs", Key: "j1", Value: value},
		4 + 2:        ops.Delete{Table: "jobs", Key: "j1"},
	} {
		ready, err := op.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		if got := ready.(ops.Sized).Size(); got != want {
			t.Errorf("%T says it holds %d bytes, want %d", op, got, want)
		}
	}
}

func TestUnacceptableKeysAreRefusedWithoutADraft(t *testing.T) {
	for want, op := range map[string]ops.Preparer{
		"table": ops.Put{Key: "j1"},
		"key":   ops.Delete{Table: "jobs"},
		"value": ops.Put{Table: "jobs", Key: "j1", Value: strings.Repeat("v", registry.MaxValue+1)},
	} {
		_, err := op.Prepare()
		var refusal *ops.KeyError
		var field *registry.FieldError
		if !errors.As(err, &refusal) || !errors.As(err, &field) || field.Field != want {
			t.Errorf("%T: error is %v, want a refusal for field %s", op, err, want)
		}
	}
}
