package registry_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/registry"
)

// rowOf is a group of one row: an admitted agent with this info, in its state
// since revision 1.
func rowOf(id string, info []byte) []byte {
	w := pack.NewWriter()
	w.Uint(1) // version of rows
	w.Uint(1) // since
	w.Uint(1) // table of agents
	w.Str(id)
	w.Bin(append([]byte{1, 0x91, byte(registry.Admitted)}, info...))
	return w.Bytes
}

// infoOf is an array of so many empty strings, the field at which replaced.
func infoOf(fields, at int, field ...byte) []byte {
	info := []byte{0x90 | byte(fields)}
	for i := range fields {
		if i == at {
			info = append(info, field...)
		} else {
			info = append(info, 0xa0)
		}
	}
	return info
}

func TestInfoWithoutReadableIncarnationIsCorrupt(t *testing.T) {
	for name, c := range map[string]struct {
		info []byte
		want string
	}{
		"no array":               {[]byte{0xa1, 'x'}, "at byte 3: want an array, have code 0xa1"},
		"11 fields":              {infoOf(11, 0, 0xa0), "at byte 4: an array of 11 items is too long here"},
		"announced only":         {[]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, "at byte 8: an array of 4294967295 items is too long here"},
		"cut before it":          {infoOf(8, 3, 0xcb), "at byte 7: the bytes end too early"},
		"a number":               {infoOf(8, 7, 1), "at byte 11: want a string, have code 0x1"},
		"not UTF-8":              {infoOf(8, 7, 0xa1, 0xff), "at byte 13: string is not valid UTF-8"},
		"a map before it":        {infoOf(8, 1, 0x80), "at byte 5: no value begins with code 0x80"},
		"a field 4 Gi long":      {infoOf(8, 1, 0xdd, 0xff, 0xff, 0xff, 0xff), "at byte 10: an array of 4294967295 items is too long here"},
		"a field 4 GiB long":     {infoOf(9, 6, 0xc6, 0xff, 0xff, 0xff, 0xff), "at byte 15: 4294967295 bytes announced, 2 left"},
		"a field a million deep": {infoOf(8, 1, bytes.Repeat([]byte{0x91}, 1<<20)...), "at byte 11: arrays nest deeper than 6"},
	} {
		err := registry.New().Draft().Redo(rowOf("a", c.info), 1)
		var corrupt *registry.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Key != "a" || corrupt.Err.Error() != c.want {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
	}
}

func TestIncarnationIsFoundInArraysOfEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		info []byte
		want string
	}{
		"nothing":                   {nil, ""},
		"no fields":                 {[]byte{0x90}, ""},
		"seven":                     {infoOf(7, 0, 0xa0), ""},
		"eight":                     {infoOf(8, 7, 0xa1, 'x'), "x"},
		"ten":                       {infoOf(10, 7, 0xa1, 'x'), "x"},
		"eight with a long length":  {append([]byte{0xdc, 0, 8}, infoOf(8, 7, 0xa1, 'x')[1:]...), "x"},
		"seven with a long length":  {append([]byte{0xdc, 0, 7}, infoOf(7, 0, 0xa0)[1:]...), ""},
		"three with a long length":  {[]byte{0xdc, 0, 3, 0xa0, 0xa0, 0xa0}, ""},
		"three with a longer still": {[]byte{0xdd, 0, 0, 0, 3, 0xa0, 0xa0, 0xa0}, ""},
	} {
		d := registry.New().Draft()
		if err := d.Redo(rowOf("a", c.info), 1); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e, _ := d.Entry("a"); e.Incarnation() != c.want {
			t.Errorf("%s: incarnation is %q, want %q", name, e.Incarnation(), c.want)
		}
	}
}

func TestRowsWithUnacceptableIDsAreCorrupt(t *testing.T) {
	for _, id := range []string{"", ".", "..", "a/b", `a\b`, "a\n", "a\x7f", strings.Repeat("x", 256)} {
		d := registry.New().Draft()
		err := d.Redo(rowOf(id, []byte{0x91, 0xa1, 'h'}), 1)
		var corrupt *registry.CorruptError
		var field *registry.FieldError
		if !errors.As(err, &corrupt) || corrupt.Key != id || !errors.As(err, &field) || field.Field != "id" {
			t.Errorf("%q: error is %v", id, err)
		}
		d.Expect([]registry.AgentID{registry.AgentID(id)}) // must not meet it
	}
}

func TestRowsFromAfterTheRevisionAreCorrupt(t *testing.T) {
	for name, row := range map[string][]byte{
		"agent":    {1, 3, 1, 0xa1, 'a', 0xc4, 3, 1, 0x91, 1},
		"deletion": {1, 1, 1, 0xa1, 'a', 0xc4, 3, 1, 0x91, 1, 3, 1, 0xa1, 'a', 0xc0},
		"master":   {1, 3, 2, 0xa0, 0xc4, 12, 1, 0x99, 0xa1, 'm', 0xa0, 0, 0xa0, 0xa0, 0xa0, 0xa0, 0xa0, 0x90},
	} {
		if err := registry.New().Draft().Redo(row, 3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		err := registry.New().Draft().Redo(row, 2)
		var corrupt *registry.CorruptError
		if !errors.As(err, &corrupt) || !strings.HasSuffix(err.Error(), ": changed at revision 3, which is after 2") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// FuzzInfo holds any bytes to be what an agent says of itself: what Redo takes
// has an incarnation that decoding agrees with.
func FuzzInfo(f *testing.F) {
	a := full()
	a.ID = "a"
	e, err := registry.Encode(a)
	if err != nil {
		f.Fatal(err)
	}
	d := registry.New().Draft()
	d.PutEncoded(e, registry.Status{State: registry.Admitted})
	_, info, _ := bytes.Cut(d.Rows(), []byte{1, 0x91, byte(registry.Admitted)})
	f.Add(bytes.Clone(info))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xc6, 0xff, 0xff, 0xff, 0xff})
	f.Add(infoOf(8, 1, 0xdd, 0xff, 0xff, 0xff, 0xff))
	f.Add(infoOf(8, 1, 0xc6, 0xff, 0xff, 0xff, 0xff))
	f.Add(infoOf(8, 1, bytes.Repeat([]byte{0x91}, 100)...))
	f.Add(infoOf(8, 7, 0xa1, 'x'))
	f.Add([]byte{0xdc, 0, 8, 0xa0, 0x90, 0x90, 0, 0xc2, 0xa0, 0xa0, 0xa1, 'x'})
	f.Fuzz(func(t *testing.T, info []byte) {
		d := registry.New().Draft()
		if err := d.Redo(rowOf("a", info), 1); err != nil {
			var corrupt *registry.CorruptError
			if !errors.As(err, &corrupt) {
				t.Errorf("error is %v", err)
			}
			return
		}
		d.Expect([]registry.AgentID{"a"})
		e, _ := d.Entry("a")
		incarnation := e.Incarnation()
		if a, err := e.Agent(); err == nil && a.Incarnation != incarnation {
			t.Errorf("incarnation is %q, decoded %q", incarnation, a.Incarnation)
		}
	})
}
