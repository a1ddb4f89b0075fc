package pack_test

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/pack"
)

// written is what write appends.
func written(write func(w *pack.Writer)) []byte {
	w := pack.NewWriter()
	write(w)
	return w.Bytes
}

// nested is a number inside so many arrays.
func nested(arrays int) []byte { return append(bytes.Repeat([]byte{0x91}, arrays), 7) }

// Values that announce far more than there is.
var bombs = map[string][]byte{
	"array":           {0xdd, 0xff, 0xff, 0xff, 0xff},
	"string":          {0xdb, 0xff, 0xff, 0xff, 0xff},
	"bytes":           {0xc6, 0xff, 0xff, 0xff, 0xff},
	"map":             {0xdf, 0xff, 0xff, 0xff, 0xff},
	"extension":       {0xc9, 0xff, 0xff, 0xff, 0xff, 1},
	"nested arrays":   bytes.Repeat([]byte{0x91}, 1<<20),
	"nested maps":     bytes.Repeat([]byte{0x81, 0xa0}, 1<<20),
	"array of arrays": bytes.Repeat([]byte{0xdd, 0, 0, 0xff, 0xff}, 1000),
}

// reads has every way to read a value.
var reads = []struct {
	name string
	read func(r *pack.Reader)
}{
	{"Uint", func(r *pack.Reader) { r.Uint(math.MaxUint64) }},
	{"Int", func(r *pack.Reader) { r.Int() }},
	{"Bool", func(r *pack.Reader) { r.Bool() }},
	{"Float", func(r *pack.Reader) { r.Float() }},
	{"Array", func(r *pack.Reader) { r.Array(math.MaxInt32) }},
	{"Str", func(r *pack.Reader) { r.Str() }},
	{"Text", func(r *pack.Reader) { _ = r.Text() }},
	{"Bin", func(r *pack.Reader) { r.Bin() }},
	{"Skip", func(r *pack.Reader) { r.Skip(1) }},
	{"Nil", func(r *pack.Reader) { r.Nil() }},
	{"IsUint", func(r *pack.Reader) { r.IsUint() }},
	{"IsBin", func(r *pack.Reader) { r.IsBin() }},
}

func TestValuesThatDoNotFitAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		src  []byte
		read func(r *pack.Reader)
		want string
	}{
		"negative as Uint": {written(func(w *pack.Writer) { w.Int(-1) }), func(r *pack.Reader) { r.Uint(9) },
			"at byte 0: want a number from 0, have code 0xff"},
		"above the limit": {written(func(w *pack.Writer) { w.Uint(256) }), func(r *pack.Reader) { r.Uint(255) },
			"at byte 3: number 256 is above 255"},
		"above an int64": {written(func(w *pack.Writer) { w.Uint(math.MaxUint64) }), func(r *pack.Reader) { r.Int() },
			"at byte 9: number 18446744073709551615 is above 9223372036854775807"},
		"number as Bool": {[]byte{1}, func(r *pack.Reader) { r.Bool() }, "at byte 0: want true or false, have code 0x1"},
		"number as Float": {[]byte{1}, func(r *pack.Reader) { r.Float() },
			"at byte 0: want a 64-bit float, have code 0x1"},
		"32-bit float": {[]byte{0xca, 0, 0, 0, 0}, func(r *pack.Reader) { r.Float() },
			"at byte 0: want a 64-bit float, have code 0xca"},
		"nil as array":  {[]byte{0xc0}, func(r *pack.Reader) { r.Array(1) }, "at byte 0: want an array, have code 0xc0"},
		"nil as string": {[]byte{0xc0}, func(r *pack.Reader) { r.Str() }, "at byte 0: want a string, have code 0xc0"},
		"string as bytes": {[]byte{0xa1, 'a'}, func(r *pack.Reader) { r.Bin() },
			"at byte 0: want bytes, have code 0xa1"},
		"bytes as string": {[]byte{0xc4, 1, 'a'}, func(r *pack.Reader) { r.Str() },
			"at byte 0: want a string, have code 0xc4"},
		"more items than allowed": {[]byte{0x93, 1, 2, 3}, func(r *pack.Reader) { r.Array(2) },
			"at byte 1: an array of 3 items is too long here"},
		"more items than bytes": {[]byte{0x93, 1, 2}, func(r *pack.Reader) { r.Array(3) },
			"at byte 1: an array of 3 items is too long here"},
		"string longer than the rest": {[]byte{0xa2, 'a'}, func(r *pack.Reader) { r.Str() },
			"at byte 1: 2 bytes announced, 1 left"},
		"bytes longer than the rest": {[]byte{0xc4, 2, 'a'}, func(r *pack.Reader) { r.Bin() },
			"at byte 2: 2 bytes announced, 1 left"},
		"not UTF-8":      {[]byte{0xa1, 0xff}, func(r *pack.Reader) { r.Str() }, "at byte 2: string is not valid UTF-8"},
		"cut number":     {[]byte{0xcd, 1}, func(r *pack.Reader) { r.Uint(9) }, "at byte 2: the bytes end too early"},
		"nothing":        {nil, func(r *pack.Reader) { r.Nil() }, "at byte 0: the bytes end too early"},
		"trailing bytes": {[]byte{1, 2, 3}, func(r *pack.Reader) { r.Uint(9) }, "at byte 1: 2 bytes too many"},
	} {
		var r pack.Reader
		r.Reset(c.src)
		c.read(&r)
		if err := r.End(); err == nil || err.Error() != c.want {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
	}
}

func TestFirstErrorSticksAndNothingIsReadAfterIt(t *testing.T) {
	var r pack.Reader
	r.Reset([]byte{0xff, 1, 0xa1, 'a'})
	r.Uint(9)
	first := r.Err()
	for _, c := range reads {
		if c.read(&r); r.Err() != first || r.Pos() != 0 {
			t.Errorf("%s: error is %v at byte %d, want %v at byte 0", c.name, r.Err(), r.Pos(), first)
		}
	}
	if first == nil || r.More() || r.End() != first {
		t.Errorf("first error is %v, End says %v", first, r.End())
	}
}

func TestSkipPassesOverExactlyOneValue(t *testing.T) {
	for name, write := range map[string]func(w *pack.Writer){
		"small number":    func(w *pack.Writer) { w.Uint(7) },
		"large number":    func(w *pack.Writer) { w.Uint(math.MaxUint64) },
		"negative number": func(w *pack.Writer) { w.Int(math.MinInt64) },
		"float":           func(w *pack.Writer) { w.Float(0.5) },
		"true":            func(w *pack.Writer) { w.Bool(true) },
		"nil":             func(w *pack.Writer) { w.Nil() },
		"string":          func(w *pack.Writer) { w.Str("größe") },
		"long string":     func(w *pack.Writer) { w.Str(strings.Repeat("x", 70000)) },
		"bytes":           func(w *pack.Writer) { w.Bin([]byte{0xff, 0xc1}) },
		"no items":        func(w *pack.Writer) { w.Array(0) },
		"items": func(w *pack.Writer) {
			w.Array(3)
			w.Array(2)
			w.Str("a")
			w.Float(1)
			w.Nil()
			w.Bin(nil)
		},
		"six arrays deep": func(w *pack.Writer) { w.Write(nested(6)) },
	} {
		src := written(write)
		var r pack.Reader
		r.Reset(append(src[:len(src):len(src)], 9))
		if r.Skip(1); r.Pos() != len(src) || r.Uint(9) != 9 || r.End() != nil {
			t.Errorf("%s: %d bytes skipped, %v; want %d", name, r.Pos(), r.Err(), len(src))
		}
	}
}

func TestSkipPassesOverAsManyValuesAsAsked(t *testing.T) {
	for name, src := range map[string][]byte{
		"short": {1, 0x92, 2, 3, 0xa1, 'a', 9},
		"long":  {1, 0xdc, 0, 2, 2, 3, 0xd9, 1, 'a', 9},
	} {
		var r pack.Reader
		r.Reset(src)
		r.Skip(0)
		if r.Skip(3); r.Uint(9) != 9 || r.End() != nil {
			t.Errorf("%s: skipped to byte %d, %v", name, r.Pos(), r.Err())
		}
		r.Reset(src)
		if r.Skip(5); r.Err() == nil {
			t.Errorf("%s: five of four values are skipped", name)
		}
	}
}

func TestSkipRefusesWhatNobodyWrites(t *testing.T) {
	for name, c := range map[string]struct {
		src  []byte
		want string
	}{
		"seven arrays deep": {nested(7), "at byte 6: arrays nest deeper than 6"},
		"map":               {[]byte{0x81, 1, 1}, "at byte 0: no value begins with code 0x81"},
		"long map":          {[]byte{0xde, 0, 0}, "at byte 0: no value begins with code 0xde"},
		"extension":         {[]byte{0xd4, 1, 1}, "at byte 0: no value begins with code 0xd4"},
		"32-bit float":      {[]byte{0xca, 0, 0, 0, 0}, "at byte 0: no value begins with code 0xca"},
		"unused code":       {[]byte{0xc1}, "at byte 0: no value begins with code 0xc1"},
		"map in an array":   {[]byte{0x91, 0x80}, "at byte 1: no value begins with code 0x80"},
		"cut float":         {[]byte{0xcb, 0, 0}, "at byte 0: the bytes end too early"},
		"cut array":         {[]byte{0x92, 0xa1, 'a'}, "at byte 3: the bytes end too early"},
		"cut string":        {[]byte{0xa2, 'a'}, "at byte 1: 2 bytes announced, 1 left"},
		"cut long string":   {[]byte{0xd9, 2, 'a'}, "at byte 2: 2 bytes announced, 1 left"},
		"nothing":           {nil, "at byte 0: the bytes end too early"},
	} {
		var r pack.Reader
		r.Reset(c.src)
		r.Skip(1)
		if err := r.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
	}
}

func TestAnnouncedLengthsCostNoMemory(t *testing.T) {
	const most = 64 << 10 // for messages and the Reader itself
	for name, src := range bombs {
		for _, c := range reads {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var r pack.Reader
			r.Reset(src)
			c.read(&r)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("%s: %s of %d bytes takes %d bytes of memory, want at most %d", name, c.name, len(src), took, most)
			}
		}
	}
}
