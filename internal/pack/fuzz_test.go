package pack_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/eaba02dc/registrar/internal/pack"
)

// FuzzReader does the reads that script names, over any bytes: what they
// return lies within the bytes, and after an error nothing moves.
func FuzzReader(f *testing.F) {
	all := make([]byte, len(reads))
	for i := range all {
		all[i] = byte(i)
	}
	for _, src := range bombs {
		f.Add(all, src[:min(len(src), 64)])
	}
	f.Add([]byte{8, 8, 8}, append(nested(6), nested(7)...))
	f.Add([]byte{0, 1, 2, 3, 6, 7, 9}, written(func(w *pack.Writer) {
		w.Uint(300)
		w.Int(-300)
		w.Bool(true)
		w.Float(0.5)
		w.Str("a")
		w.Bin([]byte("b"))
		w.Nil()
	}))
	f.Add([]byte{5, 5}, []byte{0xa1, 'a', 0xa2, 'b', 'c'})
	f.Add([]byte{7, 7}, []byte{0xc4, 1, 'a', 0xc4, 2, 'b', 'c'})
	f.Fuzz(func(t *testing.T, script, src []byte) {
		var r pack.Reader
		r.Reset(src)
		for _, b := range script {
			failed, at := r.Err(), r.Pos()
			c := reads[int(b)%len(reads)]
			c.read(&r)
			if r.Pos() < at || r.Pos() > len(src) || r.Pos()+len(r.Rest()) != len(src) {
				t.Fatalf("%s goes from byte %d to %d of %d", c.name, at, r.Pos(), len(src))
			}
			if failed != nil && (r.Err() != failed || r.Pos() != at) {
				t.Fatalf("%s after %v: %v, at byte %d, was %d", c.name, failed, r.Err(), r.Pos(), at)
			}
		}
		views(t, src)
		skipsAlike(t, src)
	})
}

// views reads src as nothing but strings or bytes, which are views of it.
func views(t *testing.T, src []byte) {
	for _, read := range []func(*pack.Reader) []byte{(*pack.Reader).Str, (*pack.Reader).Bin} {
		var r pack.Reader
		for r.Reset(src); r.More(); {
			v := read(&r)
			if at := r.Pos(); r.Err() == nil && (cap(v) != len(v) || !bytes.Equal(v, r.Span(at-len(v), at))) {
				t.Fatalf("%q, room for %d, is not what stands before byte %d", v, cap(v), at)
			}
		}
	}
}

// skipsAlike skips the first value of src alone and behind empty bytes, which
// Skip has another way to pass over.
func skipsAlike(t *testing.T, src []byte) {
	var alone, behind pack.Reader
	alone.Reset(src)
	alone.Skip(1)
	behind.Reset(append([]byte{0xc4, 0}, src...))
	behind.Skip(2)
	if (alone.Err() == nil) != (behind.Err() == nil) || alone.Err() == nil && behind.Pos() != 2+alone.Pos() {
		t.Fatalf("skipped alone: %d bytes, %v; behind others: %d, %v", alone.Pos(), alone.Err(), behind.Pos()-2, behind.Err())
	}
}

// FuzzWriter writes values of every kind: they are read back as they were, and
// can each be skipped.
func FuzzWriter(f *testing.F) {
	f.Add(uint64(0), int64(0), 0.0, false, "", []byte(nil))
	f.Add(uint64(math.MaxUint64), int64(math.MinInt64), math.NaN(), true, "größe", []byte{0xff})
	f.Add(uint64(127), int64(-32), -0.5, false, "a", []byte("b"))
	f.Add(uint64(128), int64(-33), math.Inf(-1), true, string(make([]byte, 256)), make([]byte, 1<<16))
	f.Fuzz(func(t *testing.T, u uint64, i int64, fl float64, b bool, s string, bin []byte) {
		s = string(bytes.ToValidUTF8([]byte(s), nil))
		src := written(func(w *pack.Writer) {
			w.Array(7)
			w.Uint(u)
			w.Int(i)
			w.Float(fl)
			w.Bool(b)
			w.Nil()
			w.Str(s)
			w.Bin(bin)
		})
		var r pack.Reader
		r.Reset(src)
		if n := r.Array(7); n != 7 {
			t.Fatalf("an array of %d, %v; want 7", n, r.Err())
		}
		if got := r.Uint(u); got != u {
			t.Errorf("number is %d, want %d", got, u)
		}
		if got := r.Int(); got != i {
			t.Errorf("number is %d, want %d", got, i)
		}
		if got := r.Float(); math.Float64bits(got) != math.Float64bits(fl) {
			t.Errorf("float is %v, want %v", got, fl)
		}
		if got := r.Bool(); got != b {
			t.Errorf("bool is %v, want %v", got, b)
		}
		if !r.Nil() {
			t.Error("nil is not read back")
		}
		if got := r.Text(); got != s {
			t.Errorf("string is %q, want %q", got, s)
		}
		if got := r.Bin(); !bytes.Equal(got, bin) {
			t.Errorf("bytes are %x, want %x", got, bin)
		}
		if err := r.End(); err != nil {
			t.Error(err)
		}
		r.Reset(src)
		if r.Skip(1); r.End() != nil {
			t.Errorf("skip %x: %v", src, r.Err())
		}
	})
}
