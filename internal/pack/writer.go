// Package pack writes and reads the project's binary values: msgpack, by the
// low-level calls of the library alone, in one canonical form, with every
// length and range held against a bound before anything is allocated.
package pack

import "github.com/vmihailenco/msgpack/v5"

// Writer appends values to Bytes. It never fails, so the errors of the
// library's calls are always nil and are dropped here, once. Make one with
// [NewWriter].
type Writer struct {
	Bytes []byte
	enc   *msgpack.Encoder
}

// NewWriter returns an empty Writer.
func NewWriter() *Writer {
	w := &Writer{}
	w.enc = msgpack.NewEncoder(w)
	return w
}

// Write appends p as it is; it makes Writer what msgpack.Encoder writes to.
func (w *Writer) Write(p []byte) (int, error) {
	w.Bytes = append(w.Bytes, p...)
	return len(p), nil
}

// WriteByte appends c as it is.
func (w *Writer) WriteByte(c byte) error {
	w.Bytes = append(w.Bytes, c)
	return nil
}

// Reset empties the Writer and keeps its memory.
func (w *Writer) Reset() { w.Bytes = w.Bytes[:0] }

// Uint appends a number in its shortest form, as Int does: a value has one
// encoding.
func (w *Writer) Uint(n uint64) { _ = w.enc.EncodeUint(n) }

// Int appends a whole number.
func (w *Writer) Int(n int64) { _ = w.enc.EncodeInt(n) }

// Float appends a 64-bit float.
func (w *Writer) Float(f float64) { _ = w.enc.EncodeFloat64(f) }

// Bool appends true or false.
func (w *Writer) Bool(v bool) { _ = w.enc.EncodeBool(v) }

// Nil appends a nil.
func (w *Writer) Nil() { _ = w.enc.EncodeNil() }

// Str appends a string.
func (w *Writer) Str(s string) { _ = w.enc.EncodeString(s) }

// Bin appends bytes.
func (w *Writer) Bin(b []byte) {
	w.BinLen(len(b))
	w.Bytes = append(w.Bytes, b...)
}

// BinLen announces n bytes, which the caller appends.
func (w *Writer) BinLen(n int) { _ = w.enc.EncodeBytesLen(n) }

// Array announces n items.
func (w *Writer) Array(n int) { _ = w.enc.EncodeArrayLen(n) }
