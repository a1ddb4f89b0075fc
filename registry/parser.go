package registry

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// parser reads what buffer wrote, and trusts nothing. The library narrows
// integers in silence and allocates what a length asks for; so each code is
// looked at before the library decodes it, and each length is held against the
// bytes that are left. The first error sticks; after it every call returns
// zero values, so that callers check once.
type parser struct {
	src []byte
	in  bytes.Reader
	dec *msgpack.Decoder
	err error
}

func (p *parser) reset(src []byte) {
	if p.dec == nil {
		p.dec = msgpack.NewDecoder(&p.in)
	}
	p.src, p.err = src, nil
	p.in.Reset(src)
}

func (p *parser) pos() int   { return len(p.src) - p.in.Len() }
func (p *parser) more() bool { return p.err == nil && p.in.Len() > 0 }

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("at byte %d: "+format, append([]any{p.pos()}, args...)...)
	}
}

func (p *parser) note(err error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		p.fail("the bytes end too early")
	} else if err != nil {
		p.fail("%w", err)
	}
}

// code is the type of the next value; 0xc1, which msgpack never uses, at the end.
func (p *parser) code() byte {
	if p.err != nil {
		return 0xc1
	}
	if p.in.Len() == 0 {
		p.fail("the bytes end too early")
		return 0xc1
	}
	return p.src[p.pos()]
}

func isUint(c byte) bool {
	return c <= msgpcode.PosFixedNumHigh || c >= msgpcode.Uint8 && c <= msgpcode.Uint64
}

func isInt(c byte) bool {
	return isUint(c) || c >= msgpcode.NegFixedNumLow || c >= msgpcode.Int8 && c <= msgpcode.Int64
}

func (p *parser) uint(limit uint64) uint64 {
	if c := p.code(); !isUint(c) {
		p.fail("want a number from 0, have code %#x", c)
		return 0
	}
	n, err := p.dec.DecodeUint64()
	p.note(err)
	if n > limit {
		p.fail("number %d is above %d", n, limit)
		return 0
	}
	return n
}

func (p *parser) int() int64 {
	c := p.code()
	if !isInt(c) {
		p.fail("want a whole number, have code %#x", c)
		return 0
	}
	n, err := p.dec.DecodeInt64()
	p.note(err)
	if c == msgpcode.Uint64 && n < 0 {
		p.fail("number %d is above %d", uint64(n), int64(math.MaxInt64))
		return 0
	}
	return n
}

func (p *parser) bool() bool {
	if c := p.code(); c != msgpcode.True && c != msgpcode.False {
		p.fail("want true or false, have code %#x", c)
		return false
	}
	v, err := p.dec.DecodeBool()
	p.note(err)
	return v
}

func (p *parser) float() float64 {
	if c := p.code(); c != msgpcode.Double {
		p.fail("want a 64-bit float, have code %#x", c)
		return 0
	}
	f, err := p.dec.DecodeFloat64()
	p.note(err)
	return f
}

// array is the length of an array whose items take at least one byte each.
func (p *parser) array(most int) int {
	c := p.code()
	if c < msgpcode.FixedArrayLow || c > msgpcode.FixedArrayHigh && c != msgpcode.Array16 && c != msgpcode.Array32 {
		p.fail("want an array, have code %#x", c)
		return 0
	}
	n, err := p.dec.DecodeArrayLen()
	p.note(err)
	if n > most || n > p.in.Len() {
		p.fail("an array of %d items is too long here", n)
		return 0
	}
	return n
}

// view takes n bytes without copying them.
func (p *parser) view(n int, err error) []byte {
	p.note(err)
	if p.err != nil {
		return nil
	}
	if n > p.in.Len() {
		p.fail("%d bytes announced, %d left", n, p.in.Len())
		return nil
	}
	at := p.pos()
	_, err = p.in.Seek(int64(n), io.SeekCurrent)
	p.note(err)
	return p.src[at : at+n : at+n]
}

// str is a string of valid UTF-8, as a view of the source.
func (p *parser) str() []byte {
	c := p.code()
	if !msgpcode.IsFixedString(c) && c != msgpcode.Str8 && c != msgpcode.Str16 && c != msgpcode.Str32 {
		p.fail("want a string, have code %#x", c)
		return nil
	}
	s := p.view(p.dec.DecodeBytesLen())
	if !utf8.Valid(s) {
		p.fail("string is not valid UTF-8")
		return nil
	}
	return s
}

func (p *parser) text() string { return string(p.str()) }

// bin is bytes as a view of the source.
func (p *parser) bin() []byte {
	if c := p.code(); c != msgpcode.Bin8 && c != msgpcode.Bin16 && c != msgpcode.Bin32 {
		p.fail("want bytes, have code %#x", c)
		return nil
	}
	return p.view(p.dec.DecodeBytesLen())
}

// null takes a nil if one is next.
func (p *parser) null() bool {
	if p.code() != msgpcode.Nil {
		return false
	}
	p.note(p.dec.DecodeNil())
	return true
}

// end fails unless everything was read.
func (p *parser) end() error {
	if p.err == nil && p.in.Len() > 0 {
		p.fail("%d bytes too many", p.in.Len())
	}
	return p.err
}
