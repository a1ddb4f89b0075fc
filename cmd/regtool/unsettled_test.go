package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// lateToFail is a store that takes everything, and has bad news when it is
// closed, as after a background compaction that met a bad block.
type lateToFail struct{ *store.Memory }

func (s lateToFail) Close() error {
	return errors.Join(s.Memory.Close(), errors.New("block 7: checksum mismatch"), errors.New("leaked iterators"))
}

func openLateToFail(t *testing.T, m *store.Memory) *registrar.Registrar {
	t.Helper()
	r, err := registrar.Open(t.Context(), lateToFail{m}, registrar.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// putting puts a key in a store that fails to close, as the command put does.
func putting(t *testing.T, m *store.Memory, out io.Writer, asJSON bool, condition ops.Condition) error {
	t.Helper()
	cmd := newPutCommand()
	cmd.SetContext(t.Context())
	cmd.SetOut(out)
	reason, name := "test", toKeyName("t", "k")
	f := &applyFlags{reason: &reason, json: &asJSON}
	return f.applyTo(cmd, openLateToFail(t, m), outcome{Operation: "put", keyName: &name},
		always(ops.Put{Table: "t", Key: "k", Value: "v", If: condition}))
}

func TestWhatWasAppliedIsSaidToBeAlsoWhenClosingFails(t *testing.T) {
	m := store.NewMemory()
	const trouble = "closing the store failed: block 7: checksum mismatch; leaked iterators"
	var out bytes.Buffer
	err := putting(t, m, &out, true, ops.Condition{})
	if want := "applied at revision 1, but " + trouble; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	want := `{
  "operation": "put",
  "table": "t",
  "key": "k",
  "changed": true,
  "revision": 1,
  "close_error": "block 7: checksum mismatch; leaked iterators"
}
`
	if out.String() != want {
		t.Errorf("stdout is %s, want %s", out.String(), want)
	}
	out.Reset()
	err = putting(t, m.Reopen(), &out, false, ops.Condition{})
	if want := "nothing to change at revision 1, but " + trouble; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if want := "put t k: unchanged, revision 1\n"; out.String() != want {
		t.Errorf("stdout is %q, want %q", out.String(), want)
	}
	_, closed := io.Pipe()
	closed.Close()
	err = putting(t, m.Reopen(), closed, false, ops.Condition{})
	if want := "nothing to change at revision 1, but " + trouble + ", and the report could not be written: io: read/write on closed pipe"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	out.Reset()
	err = putting(t, m.Reopen(), &out, true, ops.AtRevision(7))
	if err == nil || strings.Contains(err.Error(), "applied at") || out.Len() != 0 {
		t.Errorf("refused, it prints %s and %v", out.String(), err)
	}
}

func TestWhatWasImportedIsSaidToBeAlsoWhenClosingFails(t *testing.T) {
	m := store.NewMemory()
	im := &importer{dir: "D", in: spoolOf(t, oneAgent)}
	end, err := im.extendIn(t.Context(), openLateToFail(t, m), registry.New())
	if err != nil || end.Revision() != 1 {
		t.Fatalf("%v, %v", end, err)
	}
	out := im.outcome("f", "D", false, end)
	if want := "block 7: checksum mismatch; leaked iterators"; out.CloseError != want {
		t.Errorf("the outcome tells of %q, want %q", out.CloseError, want)
	}
	got := unsettled("imported: D is", out.Revision, out.CloseError, nil)
	if want := "imported: D is at revision 1, but closing the store failed: block 7: checksum mismatch; leaked iterators"; got == nil || got.Error() != want {
		t.Errorf("error is %v, want %s", got, want)
	}
}
