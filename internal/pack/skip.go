package pack

import (
	"io"
	"math"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// maxDepth is how deep arrays nest in a value: the labels of a reservation of a
// resource are the deepest there are.
const maxDepth = 6

// sizes has how many bytes a value takes whose code tells it, and 0 for others.
var sizes = func() (t [256]uint8) {
	for c := range t {
		switch c := byte(c); {
		case msgpcode.IsFixedNum(c), c == msgpcode.Nil, c == msgpcode.False, c == msgpcode.True:
			t[c] = 1
		case msgpcode.IsFixedString(c):
			t[c] = 1 + c&msgpcode.FixedStrMask
		}
	}
	t[msgpcode.Uint8], t[msgpcode.Int8] = 2, 2
	t[msgpcode.Uint16], t[msgpcode.Int16] = 3, 3
	t[msgpcode.Uint32], t[msgpcode.Int32] = 5, 5
	t[msgpcode.Uint64], t[msgpcode.Int64], t[msgpcode.Double] = 9, 9, 9
	return t
}()

// Skip passes over n values, at most 255, of any kind that [Writer] has. Other
// kinds are errors, and so are arrays more than six deep: skip calls itself for
// each depth, and bytes must not decide how often.
//
// Every agent with an incarnation is skipped through when a store is opened. By
// calls of the library that would take twice as long as all the rest; so what
// most values are is passed over at once, and the others with care.
func (r *Reader) Skip(n byte) {
	if r.err != nil || n == 0 {
		return
	}
	if size := short(r.Rest(), n); size > 0 {
		r.pass(size)
		return
	}
	for ; n > 0 && r.err == nil; n-- {
		r.skip(maxDepth)
	}
}

// short is how many bytes the n values take that b begins with. It is 0 if any
// length in them does not stand in a code, or skip would refuse them.
func short(b []byte, n byte) int {
	var left [maxDepth + 1]byte // items still to come, by depth
	left[0] = n
	at, depth := 0, 0
	for left[depth] > 0 {
		if at >= len(b) {
			return 0
		}
		c := b[at]
		left[depth]--
		switch {
		case sizes[c] > 0:
			at += int(sizes[c])
		case msgpcode.IsFixedArray(c) && depth < maxDepth:
			at++
			depth++
			left[depth] = c & msgpcode.FixedArrayMask
		default:
			return 0
		}
		for depth > 0 && left[depth] == 0 {
			depth--
		}
	}
	if at > len(b) {
		return 0
	}
	return at
}

func (r *Reader) skip(depth int) {
	switch c := r.code(); {
	case isStr(c), isBin(c):
		r.view(r.dec.DecodeBytesLen())
	case isArray(c):
		r.skipItems(depth)
	case sizes[c] > 0:
		r.pass(int(sizes[c]))
	default:
		r.Fail("no value begins with code %#x", c)
	}
}

func (r *Reader) skipItems(depth int) {
	if depth == 0 {
		r.Fail("arrays nest deeper than %d", maxDepth)
		return
	}
	for n := r.Array(math.MaxInt32); n > 0 && r.err == nil; n-- {
		r.skip(depth - 1)
	}
}

func (r *Reader) pass(n int) {
	if n > r.in.Len() {
		r.note(io.ErrUnexpectedEOF)
		return
	}
	_, err := r.in.Seek(int64(n), io.SeekCurrent)
	r.note(err)
}
