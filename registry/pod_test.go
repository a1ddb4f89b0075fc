package registry_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/registry"
)

var podTime = time.Date(2026, 1, 2, 15, 4, 5, 678_000_001, time.UTC)

func pod(id, definition string) registry.Pod {
	return registry.Pod{ID: id, Version: podTime, Definition: []byte(definition)}
}

// TestPodsAgreeWithAPlainMap puts and deletes at random between rows of other
// tables, takes a third of it back, and after each operation holds the registry,
// its copies by way of rows and of chunks, and an older snapshot against maps.
func TestPodsAgreeWithAPlainMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]registry.Pod{}
		first := registry.New().Draft()
		if err := errors.Join(first.SetMaster(registry.Master{ID: "m"}), first.PutKey("t", "k", "v")); err != nil {
			t.Fatal(err)
		}
		logged := registry.New().Draft()
		if err := logged.Redo(first.Rows(), 0); err != nil {
			t.Fatal(err)
		}
		r := first.Freeze()
		for range rapid.IntRange(1, 30).Draw(t, "operations") {
			before, held := r, want
			d := r.Draft()
			want = changePods(t, d, want)
			if err := logged.Redo(d.Rows(), d.Revision()); err != nil {
				t.Fatalf("redo: %v", err)
			}
			r = d.Freeze()
			for name, have := range map[string]*registry.Registry{"registry": r, "from rows": logged.Freeze(), "from chunks": reloaded(t, r)} {
				holdsPods(t, name, have, want)
			}
			holdsPods(t, "snapshot before", before, held)
		}
	})
}

// changePods does one operation, and returns what should be there then.
func changePods(t *rapid.T, d *registry.Draft, before map[string]registry.Pod) map[string]registry.Pod {
	after := maps.Clone(before)
	fails := rapid.IntRange(0, 2).Draw(t, "fails") == 0
	revision := d.Revision() + 1
	_, err := d.Try(func(d *registry.Draft) error {
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			changePod(t, d, after, revision)
		}
		if fails {
			return errAgain
		}
		return nil
	})
	if fails != errors.Is(err, errAgain) {
		t.Fatalf("the operation ended with %v", err)
	}
	if fails {
		return before
	}
	return after
}

func changePod(t *rapid.T, d *registry.Draft, want map[string]registry.Pod, revision uint64) {
	id := rapid.SampledFrom([]string{"/", "/a", "/a/b", "/ab", "ü"}).Draw(t, "id")
	old, known := want[id]
	if got, ok := d.Pod(id); ok != known || !reflect.DeepEqual(got, old) || d.HasPod(id) != known {
		t.Fatalf("the draft has %+v, %v under %q, want %+v, %v", got, ok, id, old, known)
	}
	if rapid.Bool().Draw(t, "delete") {
		if got := d.DeletePod(id); got != known {
			t.Fatalf("deleting %q says %v, want %v", id, got, known)
		}
		delete(want, id)
		return
	}
	p := pod(id, rapid.SampledFrom([]string{"{}", "[1]"}).Draw(t, "definition"))
	if rapid.Bool().Draw(t, "no version") {
		p.Version = time.Time{}
	}
	p.Revision = 4711 // does not count
	if err := d.PutPod(p); err != nil {
		t.Fatal(err)
	}
	if p.Revision = revision; known && string(old.Definition) == string(p.Definition) && old.Version.Equal(p.Version) {
		p.Revision = old.Revision
	}
	want[id] = p
}

func holdsPods(t *rapid.T, name string, r *registry.Registry, want map[string]registry.Pod) {
	got := slices.Collect(r.Pods())
	var expected []registry.Pod
	for _, id := range slices.Sorted(maps.Keys(want)) {
		expected = append(expected, want[id])
		if p, ok := r.Pod(id); !ok || !reflect.DeepEqual(p, want[id]) {
			t.Fatalf("%s: the pod %q is %+v, %v, want %+v", name, id, p, ok, want[id])
		}
	}
	if !reflect.DeepEqual(got, expected) || r.PodsLen() != len(want) || r.Count() != uint64(len(want)+2) {
		t.Fatalf("%s: pods are %+v, %d of %d entries; want %+v", name, got, r.PodsLen(), r.Count(), expected)
	}
	if errs := r.Check(); len(errs) > 0 {
		t.Fatalf("%s: broken invariants: %v", name, errs)
	}
}

func TestPodsAreTheCallersToChange(t *testing.T) {
	d := registry.New().Draft()
	given := pod("/a", "before")
	if err := d.PutPod(given); err != nil {
		t.Fatal(err)
	}
	copy(given.Definition, "after!")
	r := d.Freeze()
	for p := range r.Pods() {
		copy(p.Definition, "after!")
	}
	if got, ok := r.Pod("/a"); !ok || string(got.Definition) != "before" {
		t.Errorf("the definition is %q, %v", got.Definition, ok)
	}
}

// Two of many pods are enough for who stops looking.
func TestPodsStopWhenAskedTo(t *testing.T) {
	d := registry.New().Draft()
	for i := range 1000 {
		if err := d.PutPod(pod(fmt.Sprintf("/%04d", i), "{}")); err != nil {
			t.Fatal(err)
		}
	}
	r := d.Freeze()
	var got []string
	for p := range r.Pods() {
		if got = append(got, p.ID); len(got) == 2 {
			break
		}
	}
	if !slices.Equal(got, []string{"/0000", "/0001"}) || r.PodsLen() != 1000 {
		t.Errorf("the first two of %d are %q", r.PodsLen(), got)
	}
}

func TestUnacceptablePodsAreRefusedByField(t *testing.T) {
	for want, p := range map[string]registry.Pod{
		"id: is empty": pod("", "{}"),
		"id: has 1025 bytes, at most 1024 are allowed":               pod(strings.Repeat("x", registry.MaxPodID+1), "{}"),
		"id: is not valid UTF-8":                                     pod("\xff", "{}"),
		`id: contains the character '\x00'`:                          pod("a\x00", "{}"),
		`id: contains the character '\u009b'`:                        pod("a\u009b", "{}"),
		"version: is out of range (years 1678 to 2262)":              {ID: "/a", Version: podTime.AddDate(1000, 0, 0), Definition: []byte("{}")},
		"definition: is empty":                                       pod("/a", ""),
		"definition: is not valid UTF-8":                             pod("/a", "\xff"),
		"definition: has 1048577 bytes, at most 1048576 are allowed": pod("/a", strings.Repeat("x", registry.MaxPod+1)),
	} {
		d := registry.New().Draft()
		var got *registry.FieldError
		if err := d.PutPod(p); !errors.As(err, &got) || got.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
		if d.Changes() != 0 || d.Count() != 0 {
			t.Errorf("%s: something was written", want)
		}
	}
}

func TestLargestPodComesBack(t *testing.T) {
	d := registry.New().Draft()
	want := pod(strings.Repeat("x", registry.MaxPodID), strings.Repeat("ü", registry.MaxPod/2))
	if err := d.PutPod(want); err != nil {
		t.Fatal(err)
	}
	if got, ok := reloaded(t, d.Freeze()).Pod(want.ID); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("a definition of %d bytes, version %v, %v", len(got.Definition), got.Version, ok)
	}
}

// podRow is a group of one row of pods; a nil body deletes.
func podRow(id string, body []byte) []byte {
	w := pack.NewWriter()
	w.Uint(1) // version of rows
	w.Uint(1) // since
	w.Uint(4) // table of pods
	w.Str(id)
	if body == nil {
		w.Nil()
	} else {
		w.Bin(body)
	}
	return w.Bytes
}

func TestMalformedRowsOfPodsAreCorrupt(t *testing.T) {
	if err := registry.New().Draft().Redo(podRow("/a", []byte{1, 0x92, 0, 0xc4, 1, 'x'}), 1); err != nil {
		t.Fatalf("a row that is fine: %v", err)
	}
	for want, row := range map[string][]byte{
		"id: is empty":                   podRow("", []byte{1, 0x92, 0, 0xc4, 1, 'x'}),
		"contains the character":         podRow("\x1b", []byte{1, 0x92, 0, 0xc4, 1, 'x'}),
		"definition: is empty":           podRow("/a", []byte{1, 0x92, 0, 0xc4, 0}),
		"definition: is not valid UTF-8": podRow("/a", []byte{1, 0x92, 0, 0xc4, 1, 0xff}),
		"pod of version 0":               podRow("/a", []byte{0, 0x92, 0, 0xc4, 1, 'x'}),
		"a pod of 1 fields":              podRow("/a", []byte{1, 0x91, 0}),
		"not the encoding":               podRow("/a", []byte{1, 0x92, 0, 0xc5, 0, 1, 'x'}),
		"1 bytes too many":               podRow("/a", []byte{1, 0x92, 0, 0xc4, 1, 'x', 0}),
		"9 bytes announced":              podRow("/a", []byte{1, 0x92, 0, 0xc4, 9, 'x'}),
		"a deletion in table pods":       podRow("/a", nil),
		"keys of table 4 are text: true": {1, 1, 4, 0xc4, 1, 'a', 0xc4, 1, 1},
	} {
		err := registry.New().Draft().Redo(row, 1)
		var corrupt *registry.CorruptError
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want a *CorruptError with %q", err, want)
		}
	}
	if err := registry.New().Draft().Redo(podRow("/a", []byte{2}), 1); !errors.Is(err, registry.ErrVersion) {
		t.Errorf("a pod of a newer version: %v", err)
	}
}

func TestChangeOfAPodSaysWhatItIsNow(t *testing.T) {
	d := registry.New().Draft()
	for _, op := range []func(*registry.Draft) error{
		func(d *registry.Draft) error { return d.PutPod(pod("/a", "{}")) },
		func(d *registry.Draft) error { d.DeletePod("/a"); return nil },
		func(d *registry.Draft) error { return d.PutKey("pods", "/a", "v") },
	} {
		if _, err := d.Try(op); err != nil {
			t.Fatal(err)
		}
	}
	want := pod("/a", "{}")
	want.Revision = 1
	var got []string
	for c, err := range registry.Changes(d.Rows()) {
		if err != nil {
			t.Fatal(err)
		}
		p, ok := c.Pod()
		if ok && !reflect.DeepEqual(p, want) {
			t.Errorf("the pod is %+v, want %+v", p, want)
		}
		got = append(got, fmt.Sprintf("%s %q deleted=%v pod=%v", c.Table, c.Key, c.Deleted, ok))
	}
	if want := []string{
		`pods "/a" deleted=false pod=true`, `pods "/a" deleted=true pod=false`, `keys "pods\x00/a" deleted=false pod=false`,
	}; !slices.Equal(got, want) {
		t.Errorf("changes are\n%q, want\n%q", got, want)
	}
}
