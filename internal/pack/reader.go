package pack

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Reader reads what [Writer] wrote, and trusts nothing. The library narrows
// integers in silence and allocates what a length asks for; so each code is
// looked at before the library decodes it, and each length is held against the
// bytes that are left. The first error sticks; after it every call returns
// zero values, so that callers check Err or End once. The zero value is ready
// for Reset.
type Reader struct {
	src []byte
	in  bytes.Reader
	dec *msgpack.Decoder
	err error
}

// Reset starts over on src, which must not change while it is read.
func (r *Reader) Reset(src []byte) {
	if r.dec == nil {
		r.dec = msgpack.NewDecoder(&r.in)
	}
	r.src, r.err = src, nil
	r.in.Reset(src)
}

// Pos is how many bytes were read.
func (r *Reader) Pos() int { return len(r.src) - r.in.Len() }

// Span is a view of the source from one position to another.
func (r *Reader) Span(from, to int) []byte { return r.src[from:to:to] }

// Rest is a view of all that was not read yet.
func (r *Reader) Rest() []byte { return r.src[r.Pos():] }

// More reports whether something is left to read.
func (r *Reader) More() bool { return r.err == nil && r.in.Len() > 0 }

// Err is the first error, with the position where it was met.
func (r *Reader) Err() error { return r.err }

// Fail makes this the error, unless there is one already.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: "+format, append([]any{r.Pos()}, args...)...)
	}
}

func (r *Reader) note(err error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		r.Fail("the bytes end too early")
	} else if err != nil {
		r.Fail("%w", err)
	}
}

// code is the type of the next value; 0xc1, which msgpack never uses, at the end.
func (r *Reader) code() byte {
	if r.err != nil {
		return 0xc1
	}
	if r.in.Len() == 0 {
		r.Fail("the bytes end too early")
		return 0xc1
	}
	return r.src[r.Pos()]
}

// IsUint reports whether the next value is a number from 0.
func (r *Reader) IsUint() bool { return isUint(r.code()) }

// IsBin reports whether the next value is bytes.
func (r *Reader) IsBin() bool { return isBin(r.code()) }

func isUint(c byte) bool {
	return c <= msgpcode.PosFixedNumHigh || c >= msgpcode.Uint8 && c <= msgpcode.Uint64
}

func isInt(c byte) bool {
	return isUint(c) || c >= msgpcode.NegFixedNumLow || c >= msgpcode.Int8 && c <= msgpcode.Int64
}

func isStr(c byte) bool {
	return msgpcode.IsFixedString(c) || c == msgpcode.Str8 || c == msgpcode.Str16 || c == msgpcode.Str32
}

func isBin(c byte) bool { return c == msgpcode.Bin8 || c == msgpcode.Bin16 || c == msgpcode.Bin32 }

func isArray(c byte) bool {
	return c >= msgpcode.FixedArrayLow && c <= msgpcode.FixedArrayHigh || c == msgpcode.Array16 || c == msgpcode.Array32
}

// Uint is a number of at most limit.
func (r *Reader) Uint(limit uint64) uint64 {
	if c := r.code(); !isUint(c) {
		r.Fail("want a number from 0, have code %#x", c)
		return 0
	}
	n, err := r.dec.DecodeUint64()
	r.note(err)
	if n > limit {
		r.Fail("number %d is above %d", n, limit)
		return 0
	}
	return n
}

// Int is a whole number that fits into an int64.
func (r *Reader) Int() int64 {
	c := r.code()
	if !isInt(c) {
		r.Fail("want a whole number, have code %#x", c)
		return 0
	}
	n, err := r.dec.DecodeInt64()
	r.note(err)
	if c == msgpcode.Uint64 && n < 0 {
		r.Fail("number %d is above %d", uint64(n), int64(math.MaxInt64))
		return 0
	}
	return n
}

// Bool is true or false.
func (r *Reader) Bool() bool {
	if c := r.code(); c != msgpcode.True && c != msgpcode.False {
		r.Fail("want true or false, have code %#x", c)
		return false
	}
	v, err := r.dec.DecodeBool()
	r.note(err)
	return v
}

// Float is a 64-bit float.
func (r *Reader) Float() float64 {
	if c := r.code(); c != msgpcode.Double {
		r.Fail("want a 64-bit float, have code %#x", c)
		return 0
	}
	f, err := r.dec.DecodeFloat64()
	r.note(err)
	return f
}

// Array is the length of an array of at most so many items, which take at least
// one byte each.
func (r *Reader) Array(most int) int {
	if c := r.code(); !isArray(c) {
		r.Fail("want an array, have code %#x", c)
		return 0
	}
	n, err := r.dec.DecodeArrayLen()
	r.note(err)
	if n > most || n > r.in.Len() {
		r.Fail("an array of %d items is too long here", n)
		return 0
	}
	return n
}

// view takes n bytes without copying them.
func (r *Reader) view(n int, err error) []byte {
	r.note(err)
	if r.err != nil {
		return nil
	}
	if n > r.in.Len() {
		r.Fail("%d bytes announced, %d left", n, r.in.Len())
		return nil
	}
	at := r.Pos()
	_, err = r.in.Seek(int64(n), io.SeekCurrent)
	r.note(err)
	return r.src[at : at+n : at+n]
}

// Str is a string of valid UTF-8, as a view of the source.
func (r *Reader) Str() []byte {
	if c := r.code(); !isStr(c) {
		r.Fail("want a string, have code %#x", c)
		return nil
	}
	s := r.view(r.dec.DecodeBytesLen())
	if !utf8.Valid(s) {
		r.Fail("string is not valid UTF-8")
		return nil
	}
	return s
}

// Text is a string as a copy.
func (r *Reader) Text() string { return string(r.Str()) }

// Bin is bytes as a view of the source.
func (r *Reader) Bin() []byte {
	if c := r.code(); !isBin(c) {
		r.Fail("want bytes, have code %#x", c)
		return nil
	}
	return r.view(r.dec.DecodeBytesLen())
}

// Nil takes a nil if one is next.
func (r *Reader) Nil() bool {
	if r.code() != msgpcode.Nil {
		return false
	}
	r.note(r.dec.DecodeNil())
	return true
}

// End is the first error, which something left to read is too.
func (r *Reader) End() error {
	if r.err == nil && r.in.Len() > 0 {
		r.Fail("%d bytes too many", r.in.Len())
	}
	return r.err
}
