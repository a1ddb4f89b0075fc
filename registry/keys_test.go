package registry_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/registry"
)

// shelves is user tables as a plain map, from {table, key}.
type shelves map[[2]string]registry.Item

// TestUserTablesAgreeWithAPlainMap puts and deletes at random, takes a third of
// it back, and after each operation holds the registry, its copies by way of
// rows and of chunks, and an older snapshot against plain maps.
func TestUserTablesAgreeWithAPlainMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, revision := shelves{}, uint64(0)
		r, logged := registry.New(), registry.New().Draft()
		for range rapid.IntRange(1, 30).Draw(t, "operations") {
			before, held := r, want
			d := r.Draft()
			want, revision = changeKeys(t, d, want, revision)
			if err := logged.Redo(d.Rows(), d.Revision()); err != nil {
				t.Fatalf("redo: %v", err)
			}
			r = d.Freeze()
			want.holds(t, r)
			want.holds(t, logged.Freeze())
			want.holds(t, reloaded(t, r))
			held.holds(t, before) // does not notice
			if r.Revision() != revision || logged.Digest() != r.Digest() || want.registry(t).Digest() != r.Digest() {
				t.Fatalf("revision %d, digest %v; redone %v, made anew %v; want revision %d and equal digests",
					r.Revision(), r.Digest(), logged.Digest(), want.registry(t).Digest(), revision)
			}
		}
	})
}

// changeKeys does one operation, and returns what should be there then.
func changeKeys(t *rapid.T, d *registry.Draft, before shelves, revision uint64) (shelves, uint64) {
	after, changes := maps.Clone(before), 0
	fails := rapid.IntRange(0, 2).Draw(t, "fails") == 0
	changed, err := d.Try(func(d *registry.Draft) error {
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			changes += after.change(t, d, revision+1)
		}
		if fails {
			return errAgain
		}
		return nil
	})
	if fails != errors.Is(err, errAgain) || changed != (!fails && changes > 0) {
		t.Fatalf("the operation ended with %v, %v after %d changes", changed, err, changes)
	}
	if !changed {
		return before, revision
	}
	return after, revision + 1
}

// change does the same to s and d, and returns how many rows that changed.
func (s shelves) change(t *rapid.T, d *registry.Draft, revision uint64) int {
	at := [2]string{
		rapid.SampledFrom([]string{"a", "a\x01", "ab", "ü"}).Draw(t, "table"),
		rapid.SampledFrom([]string{"\x00", "k", "k\x00", "k\xff", "\xff\xff"}).Draw(t, "key"),
	}
	old, known := s[at]
	if got, ok := d.Key(at[0], at[1]); ok != known || got != old {
		t.Fatalf("the draft has %+v, %v under %q, want %+v, %v", got, ok, at, old, known)
	}
	if rapid.Bool().Draw(t, "delete") {
		if got := d.DeleteKey(at[0], at[1]); got != known {
			t.Fatalf("deleting %q says %v, want %v", at, got, known)
		}
		delete(s, at)
		if !known {
			return 0
		}
		return 1
	}
	value := rapid.SampledFrom([]string{"", "v", "\xff\x00"}).Draw(t, "value")
	if err := d.PutKey(at[0], at[1], value); err != nil {
		t.Fatalf("putting %q: %v", at, err)
	}
	if known && old.Value == value {
		return 0
	}
	s[at] = registry.Item{Value: value, Revision: revision}
	return 1
}

func (s shelves) holds(t *rapid.T, r *registry.Registry) {
	got, counts := shelves{}, map[string]int{}
	for at := range s {
		counts[at[0]]++
	}
	var names []string
	for table, n := range r.Tables() {
		names = append(names, table)
		if n != counts[table] {
			t.Fatalf("table %q has %d keys, want %d", table, n, counts[table])
		}
		var keys []string
		for key, item := range r.Keys(table, "") {
			keys = append(keys, key)
			got[[2]string{table, key}] = item
		}
		if !slices.IsSorted(keys) {
			t.Fatalf("keys of table %q are out of order: %q", table, keys)
		}
		s.holdsPrefixes(t, r, table)
	}
	if !maps.Equal(got, s) || r.Count() != uint64(len(s)) || !slices.IsSorted(names) {
		t.Fatalf("tables %q hold %+v, want %+v", names, got, s)
	}
	if errs := r.Check(); len(errs) > 0 {
		t.Fatalf("broken invariants: %v", errs)
	}
}

func (s shelves) holdsPrefixes(t *rapid.T, r *registry.Registry, table string) {
	for _, prefix := range []string{"k", "k\x00", "\xff", "\xff\xff\xff"} {
		want := 0
		for at := range s {
			if at[0] == table && strings.HasPrefix(at[1], prefix) {
				want++
			}
		}
		for key := range r.Keys(table, prefix) {
			if want--; !strings.HasPrefix(key, prefix) {
				t.Fatalf("key %q of table %q does not begin with %q", key, table, prefix)
			}
		}
		if want != 0 {
			t.Fatalf("%d keys of table %q that begin with %q are missing", want, table, prefix)
		}
	}
}

// registry holds the same, by another history.
func (s shelves) registry(t *rapid.T) *registry.Registry {
	d := registry.New().Draft()
	for at, item := range s {
		for _, value := range []string{item.Value + "before", item.Value} {
			if err := d.PutKey(at[0], at[1], value); err != nil {
				t.Fatalf("putting %q: %v", at, err)
			}
		}
	}
	return d.Freeze()
}

func TestLargestAndOddestKeysComeBack(t *testing.T) {
	var every []byte
	for c := range 256 {
		every = append(every, byte(c))
	}
	for name, c := range map[string]struct{ table, key, value string }{
		"largest":    {strings.Repeat("t", registry.MaxTable), strings.Repeat("\xff", registry.MaxKey), strings.Repeat("\x00", registry.MaxValue)},
		"smallest":   {"t", "\x00", ""},
		"every byte": {"\x01\x7f ü", string(every), string(every)},
	} {
		d := registry.New().Draft()
		if _, err := d.Try(func(d *registry.Draft) error { return d.PutKey(c.table, c.key, c.value) }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, ok := reloaded(t, d.Freeze()).Key(c.table, c.key)
		if want := (registry.Item{Value: c.value, Revision: 1}); !ok || got != want {
			t.Errorf("%s: value of %d bytes at revision %d, %v", name, len(got.Value), got.Revision, ok)
		}
	}
}

// A table ends with its last key, however many there were.
func TestTablesCountKeysAndEndWithTheLast(t *testing.T) {
	d := registry.New().Draft()
	if err := d.SetMaster(registry.Master{ID: "m"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a": 700, "b": 1, "c": 300}
	for table, n := range want {
		for i := range n {
			if err := d.PutKey(table, fmt.Sprint(i), ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := maps.Collect(d.Freeze().Tables()); !maps.Equal(got, want) {
		t.Errorf("tables are %v, want %v", got, want)
	}
	d.DeleteKey("b", "0")
	delete(want, "b")
	r := d.Freeze()
	if got := maps.Collect(r.Tables()); !maps.Equal(got, want) {
		t.Errorf("after the last key of b, tables are %v, want %v", got, want)
	}
	for table := range r.Tables() {
		if table != "a" {
			t.Errorf("the first table is %q", table)
		}
		break // asks for no more
	}
}

func TestUnacceptableKeysAreRefusedByField(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n+1) }
	for name, c := range map[string]struct{ table, key, value, want string }{
		"no table":   {"", "k", "", "table: is empty"},
		"long table": {long(registry.MaxTable), "k", "", "table: has 65 bytes, at most 64 are allowed"},
		"not UTF-8":  {"\xff", "k", "", "table: is not valid UTF-8"},
		"NUL":        {"a\x00b", "k", "", `table: contains the character '\x00'`},
		"no key":     {"t", "", "", "key: is empty"},
		"long key":   {"t", long(registry.MaxKey), "", "key: has 1025 bytes, at most 1024 are allowed"},
		"long value": {"t", "k", long(registry.MaxValue), "value: has 1048577 bytes, at most 1048576 are allowed"},
	} {
		d := registry.New().Draft()
		var got *registry.FieldError
		if err := d.PutKey(c.table, c.key, c.value); !errors.As(err, &got) || got.Error() != c.want {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
		if d.Changes() != 0 || d.Count() != 0 {
			t.Errorf("%s: something was written", name)
		}
	}
}

// The name of a table ends at a NUL in a row's key; a name with one in it must
// not lead into another table.
func TestNamesWithNULLeadNowhere(t *testing.T) {
	d := registry.New().Draft()
	if err := d.PutKey("a", "b\x00c", "v"); err != nil {
		t.Fatal(err)
	}
	_, found := d.Key("a\x00b", "c")
	listed := maps.Collect(d.Freeze().Keys("a\x00b", ""))
	if deleted := d.DeleteKey("a\x00b", "c"); found || deleted || len(listed) > 0 {
		t.Errorf("through another name: found %v, deleted %v, listed %v", found, deleted, listed)
	}
}

// keyRow is a group of one row of user tables; a nil body deletes.
func keyRow(key string, body []byte) []byte {
	w := pack.NewWriter()
	w.Uint(1) // version of rows
	w.Uint(1) // since
	w.Uint(3) // table of keys
	w.Bin([]byte(key))
	if body == nil {
		w.Nil()
	} else {
		w.Bin(body)
	}
	return w.Bytes
}

func TestMalformedRowsOfKeysAreCorrupt(t *testing.T) {
	fine := []byte("\x01v")
	if err := registry.New().Draft().Redo(keyRow("t\x00k", fine), 1); err != nil {
		t.Fatalf("a row that is fine: %v", err)
	}
	for want, row := range map[string][]byte{
		"a key without a table":          keyRow("tk", fine),
		"table: is empty":                keyRow("\x00k", fine),
		"table: has 65 bytes":            keyRow(strings.Repeat("t", 65)+"\x00k", fine),
		"table: is not valid UTF-8":      keyRow("\xff\x00k", fine),
		"key: is empty":                  keyRow("t\x00", fine),
		"key: has 1025 bytes":            keyRow("t\x00"+strings.Repeat("k", 1025), fine),
		"value: has 1048577 bytes":       keyRow("t\x00k", append([]byte{1}, make([]byte, registry.MaxValue+1)...)),
		"the bytes end too early":        keyRow("t\x00k", []byte{}),
		"want a number":                  keyRow("t\x00k", []byte{0xa0}),
		"key of version 0":               keyRow("t\x00k", []byte{0}),
		"its version takes 2 bytes":      keyRow("t\x00k", []byte{0xcc, 1, 'v'}),
		"a deletion in table keys":       keyRow("t\x00k", nil),
		"text: false, this one: true":    {1, 1, 3, 0xa3, 't', 0, 'k', 0xc4, 1, 1},
		"keys of table 2 are text: true": {1, 1, 2, 0xc4, 0, 0xc4, 2, 1, 0x90},
		"keys of table 1 are text: true": {1, 1, 1, 0xc4, 1, 'a', 0xc4, 3, 1, 0x91, 1},
	} {
		err := registry.New().Draft().Redo(row, 1)
		var corrupt *registry.CorruptError
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want a *CorruptError with %q", err, want)
		}
	}
}

func TestKeysOfNewerVersionsSayUpgradeNotCorrupt(t *testing.T) {
	for name, row := range map[string][]byte{
		"body":               keyRow("t\x00k", []byte{2, 'v'}),
		"table of byte keys": {1, 1, 99, 0xc4, 1, 0xff, 0xc4, 0},
	} {
		err := registry.New().Draft().Redo(row, 1)
		var corrupt *registry.CorruptError
		if !errors.Is(err, registry.ErrVersion) || errors.As(err, &corrupt) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// FuzzKeyRow holds any bytes to be a row of user tables: what Redo takes is what
// PutKey writes.
func FuzzKeyRow(f *testing.F) {
	f.Add("t\x00k", []byte("\x01v"))
	f.Add("t\x00\x00", []byte("\x01"))
	f.Add("t", []byte("\x02"))
	f.Add("\xff\x00k", []byte("\xcc\x01"))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		redone := registry.New().Draft()
		if redone.Redo(keyRow(path, append([]byte{}, body...)), 1) != nil {
			return
		}
		r := redone.Freeze()
		if errs := r.Check(); len(errs) > 0 {
			t.Fatalf("redone, it breaks %v", errs)
		}
		table, key, _ := strings.Cut(path, "\x00")
		item, ok := r.Key(table, key)
		put := registry.New().Draft()
		err := put.PutKey(table, key, item.Value)
		if !ok || err != nil || put.Digest() != r.Digest() || !bytes.Equal(body, []byte("\x01"+item.Value)) {
			t.Errorf("redone it is %+v, %v; put anew: %v, digest %v, want %v", item, ok, err, put.Digest(), r.Digest())
		}
	})
}
