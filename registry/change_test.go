package registry_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

// threeOperations is a group of rows of an admission, a departure with a new
// master, and a deletion: 1, 2 and 1 rows.
func threeOperations(t testing.TB) (group []byte, counts []uint64) {
	t.Helper()
	d := registry.New().Draft()
	for _, op := range []func(*registry.Draft) error{
		func(d *registry.Draft) error { return d.PutAgent(full(), registry.Status{State: registry.Admitted}) },
		func(d *registry.Draft) error {
			return errors.Join(d.PutStatus("b", registry.Status{State: registry.Gone}), d.SetMaster(registry.Master{ID: "m"}))
		},
		func(d *registry.Draft) error { d.DeleteAgent("b"); return nil },
	} {
		before := d.Changes()
		if _, err := d.Try(op); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, uint64(d.Changes()-before))
	}
	return bytes.Clone(d.Rows()), counts
}

func TestChangesSayWhatBecameOfEachEntry(t *testing.T) {
	group, _ := threeOperations(t)
	var got []string
	for c, err := range registry.Changes(group) {
		if err != nil {
			t.Fatal(err)
		}
		state := "-"
		if c.Agent != (registry.Entry{}) {
			state = fmt.Sprint(c.Agent.State(), " since ", c.Agent.Since())
			if a, err := c.Agent.Agent(); err != nil || string(a.ID) != c.Key {
				t.Errorf("agent of %q is %+v, %v", c.Key, a, err)
			}
		}
		got = append(got, fmt.Sprintf("%s %q deleted=%v %s", c.Table, c.Key, c.Deleted, state))
	}
	want := []string{
		fmt.Sprintf("agents %q deleted=false admitted since 1", full().ID),
		`agents "b" deleted=false gone since 2`, `master "" deleted=false -`, `agents "b" deleted=true -`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes are\n%q, want\n%q", got, want)
	}
}

func TestRowsAreTakenApartByOperation(t *testing.T) {
	group, counts := threeOperations(t)
	rows, err := registry.ReadRows(group)
	if err != nil {
		t.Fatal(err)
	}
	whole, parts := registry.New().Draft(), registry.New().Draft()
	for i, n := range counts {
		part, err := rows.Take(n)
		if err == nil {
			err = parts.Redo(part, uint64(i+1))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(rows.End(), whole.Redo(group, 3)); err != nil {
		t.Fatal(err)
	}
	if whole.Digest() != parts.Digest() || whole.Count() != parts.Count() {
		t.Errorf("redone in parts the digest is %v, at once %v", parts.Digest(), whole.Digest())
	}
}

func TestCountsThatAreNotThoseOfTheRowsAreRefused(t *testing.T) {
	group, _ := threeOperations(t)
	var corrupt *registry.CorruptError
	rows, _ := registry.ReadRows(group)
	if _, err := rows.Take(5); !errors.As(err, &corrupt) {
		t.Errorf("more rows than there are: %v", err)
	}
	rows, _ = registry.ReadRows(group)
	rows.Take(3)
	if err := rows.End(); !errors.As(err, &corrupt) {
		t.Errorf("a row left over: %v", err)
	}
	if _, err := registry.ReadRows([]byte{2}); !errors.Is(err, registry.ErrVersion) {
		t.Errorf("a newer version: %v", err)
	}
}

// FuzzChanges reads any bytes as changes, all of them and one after another,
// which must come to the same, and to what Redo makes of them.
func FuzzChanges(f *testing.F) {
	group, _ := threeOperations(f)
	f.Add(group)
	f.Add([]byte{1, 1, 1, 0xa1, 'a', 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{1, 1, 1, 0xa1, 'a', 0xc6, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, group []byte) {
		n, failed := 0, error(nil)
		for _, err := range registry.Changes(group) {
			if failed = err; err == nil {
				n++
			}
		}
		if failed != nil {
			if registry.New().Draft().Redo(group, 1<<64-1) == nil {
				t.Errorf("redo takes what has no changes: %v", failed)
			}
			return
		}
		rows, err := registry.ReadRows(group)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if _, err := rows.Take(1); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.End(); err != nil {
			t.Errorf("behind %d changes: %v", n, err)
		}
	})
}
