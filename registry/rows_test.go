package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// shelf is a table with many keys, as later ones will be.
var shelf = newTable(255, "shelf", func(_ string, body []byte) error {
	_, err := strconv.Atoi(string(body))
	return err
})

// TestTableOfManyRowsAgreesWithAMap puts and deletes at random, takes a third
// of it back, and holds the table, the count, the digest, the rows logged and
// the chunks against a plain map after each operation.
func TestTableOfManyRowsAgreesWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]string{}
		r, logged := New(), New()
		for range rapid.IntRange(1, 30).Draw(t, "operations") {
			d := r.Draft()
			next := maps.Clone(want)
			before, held := r, want
			failed := errors.New("taken back")
			fails := rapid.IntRange(0, 2).Draw(t, "fails") == 0
			_, err := d.Try(func(d *Draft) error {
				for range rapid.IntRange(1, 3).Draw(t, "changes") {
					changeShelf(t, d, next)
				}
				if fails {
					return failed
				}
				return nil
			})
			if fails != errors.Is(err, failed) {
				t.Fatalf("the operation ended with %v", err)
			}
			if !fails {
				want = next
			}
			redo(t, &logged, d)
			r = d.Freeze()
			holdsShelf(t, r, want)
			holdsShelf(t, logged, want)
			holdsShelf(t, before, held) // does not notice
			if logged.Digest() != r.Digest() {
				t.Fatalf("the rows logged come to digest %v, want %v", logged.Digest(), r.Digest())
			}
		}
	})
}

func changeShelf(t *rapid.T, d *Draft, want map[string]string) {
	key := strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "key"))
	if rapid.Bool().Draw(t, "delete") {
		_, known := want[key]
		if got := d.deleteRow(shelf, key); got != known {
			t.Fatalf("deleting %q says %v, want %v", key, got, known)
		}
		delete(want, key)
		return
	}
	body := strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "body"))
	d.putRow(shelf, key, body)
	want[key] = body
}

// redo brings r to where d is, from the rows that d recorded.
func redo(t *rapid.T, r **Registry, d *Draft) {
	other := (*r).Draft()
	if err := other.Redo(d.Rows(), d.Revision()); err != nil {
		t.Fatalf("redo: %v", err)
	}
	*r = other.Freeze()
}

func holdsShelf(t *rapid.T, r *Registry, want map[string]string) {
	got := map[string]string{}
	r.rows.tree.Scan(func(_ rowKey, v *row) bool {
		got[v.key] = v.body
		return true
	})
	if fmt.Sprint(got) != fmt.Sprint(want) || r.Count() != uint64(len(want)) {
		t.Fatalf("the table holds %v (count %d), want %v", got, r.Count(), want)
	}
	if errs := r.Check(); len(errs) > 0 {
		t.Fatalf("broken invariants: %v", errs)
	}
	copied := New().Draft()
	for chunk := range r.Chunks(16) {
		if err := copied.Redo(chunk, r.Revision()); err != nil {
			t.Fatalf("redo of a chunk: %v", err)
		}
	}
	if copied.Digest() != r.Digest() {
		t.Fatalf("the chunks come to digest %v, want %v", copied.Digest(), r.Digest())
	}
}

func TestTablesEndWhereTheNextBegins(t *testing.T) {
	d := New().Draft()
	d.putRow(shelf, "1", "1")
	d.putRow(masterTable, "", "m")
	for _, key := range []string{"1", "2"} {
		if err := d.PutKey("t", key, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.PutPod(Pod{ID: "/a", Definition: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	r := d.Freeze()
	if got := maps.Collect(r.Tables()); !maps.Equal(got, map[string]int{"t": 2}) {
		t.Errorf("tables are %v", got)
	}
	if pods := slices.Collect(r.Pods()); len(pods) != 1 || pods[0].ID != "/a" || r.PodsLen() != 1 {
		t.Errorf("%d pods are %v", r.PodsLen(), pods)
	}
	for want, key := range []rowKey{masterTable.key(""), keyTable.key("t\x001"), keyTable.key("t\x002"), podTable.key("/a"), shelf.key("1"), shelf.key("2")} {
		if got := r.rows.rank(key); got != want {
			t.Errorf("%d rows stand before %q, want %d", got, key, want)
		}
	}
}
