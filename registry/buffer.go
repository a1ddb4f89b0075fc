package registry

import "github.com/vmihailenco/msgpack/v5"

// buffer is bytes that msgpack's Encoder appends to. It never fails, so the
// errors of the calls below are always nil and are dropped here, once.
type buffer struct {
	bytes []byte
	enc   *msgpack.Encoder
}

func newBuffer() *buffer {
	b := &buffer{}
	b.enc = msgpack.NewEncoder(b)
	return b
}

// Write and WriteByte make buffer what msgpack.Encoder writes to.
func (b *buffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

func (b *buffer) WriteByte(c byte) error {
	b.bytes = append(b.bytes, c)
	return nil
}

// EncodeUint and EncodeInt take the shortest form; a value has one encoding.
func (b *buffer) uint(n uint64)   { _ = b.enc.EncodeUint(n) }
func (b *buffer) int(n int64)     { _ = b.enc.EncodeInt(n) }
func (b *buffer) str(s string)    { _ = b.enc.EncodeString(s) }
func (b *buffer) bool(v bool)     { _ = b.enc.EncodeBool(v) }
func (b *buffer) null()           { _ = b.enc.EncodeNil() }
func (b *buffer) float(f float64) { _ = b.enc.EncodeFloat64(f) }
func (b *buffer) array(n int)     { _ = b.enc.EncodeArrayLen(n) }
func (b *buffer) binLen(n int)    { _ = b.enc.EncodeBytesLen(n) }
func (b *buffer) reset()          { b.bytes = b.bytes[:0] }
