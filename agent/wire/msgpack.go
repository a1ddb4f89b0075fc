package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// MessagePack is another way to write the same JSON: records are translated
// value by value, and so have one form, one set of rules, and one reader of it.
// What JSON has no value for stands there as a text: bytes as base64, a number
// that is not finite as a word. A list beside the JSON has where such texts end.

// maxDepth is how deep values nest. The deepest of our own is at 12; the rest is
// for raw values.
const maxDepth = 32

const (
	endsEarly = "the record ends too early"
	tooDeep   = "lists and objects nest deeper than 32"
)

// unpacker translates MessagePack into JSON. The library's decoder reads heads
// and numbers; it is never asked to make a value, so what a length announces
// costs nothing.
type unpacker struct {
	dec    *msgpack.Decoder
	in     bytes.Reader
	record []byte
	out    []byte
	odd    []int
	most   int // bytes of the above two
}

var unpackers = sync.Pool{New: func() any {
	u := new(unpacker)
	u.dec = msgpack.NewDecoder(&u.in)
	return u
}}

// unpack appends the JSON of a record to dst, and to odd where texts end in it
// that are none. Both may take most bytes.
func unpack(dst []byte, odd []int, record []byte, most int) ([]byte, []int, error) {
	u := unpackers.Get().(*unpacker)
	defer unpackers.Put(u)
	u.in.Reset(record)
	u.record, u.out, u.odd, u.most = record, dst, odd, most
	err := u.value(maxDepth)
	if err == nil && u.in.Len() > 0 {
		err = fmt.Errorf("%d bytes too many", u.in.Len())
	}
	out, odd, at := u.out, u.odd, u.at()
	u.in.Reset(nil)
	u.record, u.out, u.odd = nil, nil, nil
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		err = &SyntaxError{at, endsEarly}
	case err != nil:
		err = &SyntaxError{at, err.Error()}
	}
	return out, odd, err
}

// at is how many bytes of the record were read.
func (u *unpacker) at() int { return len(u.record) - u.in.Len() }

func (u *unpacker) value(depth int) error {
	if u.in.Len() == 0 {
		return io.EOF
	}
	switch c := u.record[u.at()]; {
	case msgpcode.IsString(c):
		return u.text()
	case msgpcode.IsExt(c):
		_, n, err := u.dec.DecodeExtHeader()
		_, err = u.view(n, err)
		u.out = append(u.out, `"?"`...) // which is no base64 either
		u.odd = append(u.odd, len(u.out))
		return err
	case msgpcode.IsBin(c):
		b, err := u.view(u.dec.DecodeBytesLen())
		u.out = append(base64.StdEncoding.AppendEncode(append(u.out, '"'), b), '"')
		u.odd = append(u.odd, len(u.out))
		return err
	case msgpcode.IsFixedMap(c), c == msgpcode.Map16, c == msgpcode.Map32:
		n, err := u.dec.DecodeMapLen()
		return u.container(n, depth, '{', '}', err)
	case msgpcode.IsFixedArray(c), c == msgpcode.Array16, c == msgpcode.Array32:
		n, err := u.dec.DecodeArrayLen()
		return u.container(n, depth, '[', ']', err)
	case c == msgpcode.Nil:
		u.out = append(u.out, "null"...)
		return u.dec.DecodeNil()
	case c == msgpcode.True, c == msgpcode.False:
		v, err := u.dec.DecodeBool()
		u.out = strconv.AppendBool(u.out, v)
		return err
	case c == msgpcode.Float, c == msgpcode.Double:
		f, err := u.dec.DecodeFloat64()
		u.float(f)
		return err
	case c >= msgpcode.Uint8 && c <= msgpcode.Uint64:
		n, err := u.dec.DecodeUint64()
		u.out = strconv.AppendUint(u.out, n, 10)
		return err
	case msgpcode.IsFixedNum(c), c >= msgpcode.Int8 && c <= msgpcode.Int64:
		n, err := u.dec.DecodeInt64()
		u.out = strconv.AppendInt(u.out, n, 10)
		return err
	}
	return fmt.Errorf("no value of ours begins with %#02x", u.record[u.at()])
}

func (u *unpacker) text() error {
	b, err := u.view(u.dec.DecodeBytesLen())
	if err != nil {
		return err
	}
	if u.out, err = jsontext.AppendQuote(u.out, b); err != nil {
		return errors.New(notUTF8)
	}
	return nil
}

// float writes whole numbers as such.
func (u *unpacker) float(f float64) {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		u.out = strconv.AppendInt(u.out, int64(f), 10)
	case math.IsInf(f, 1):
		u.out = append(u.out, `"Infinity"`...)
		u.odd = append(u.odd, len(u.out))
	case math.IsInf(f, -1) || math.IsNaN(f):
		u.out = append(u.out, `"NaN"`...)
		u.odd = append(u.odd, len(u.out))
	default:
		u.out = jsontext.AppendFloat(u.out, f, 64)
	}
}

// view takes so many bytes, of a length that was read.
func (u *unpacker) view(n int, err error) ([]byte, error) {
	if err == nil && n > u.in.Len() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	from := u.at()
	_, err = u.in.Seek(int64(n), io.SeekCurrent)
	return u.record[from : from+n], err
}

func (u *unpacker) container(n, depth int, begin, end byte, err error) error {
	switch {
	case err != nil:
		return err
	case depth == 0:
		return errors.New(tooDeep)
	}
	u.out = append(u.out, begin)
	for i := range n {
		if i > 0 {
			u.out = append(u.out, ',')
		}
		if begin == '{' {
			if u.in.Len() > 0 && !msgpcode.IsString(u.record[u.at()]) {
				return fmt.Errorf("a name begins with %#02x, want a text", u.record[u.at()])
			}
			if err := u.text(); err != nil {
				return err
			}
			u.out = append(u.out, ':')
		}
		if err := u.value(depth - 1); err != nil {
			return err
		}
		if len(u.out)+8*len(u.odd) > u.most {
			return fmt.Errorf("the record is more than %d times as long in JSON", mostTranslated)
		}
	}
	u.out = append(u.out, end)
	return nil
}

// packer translates JSON into MessagePack.
type packer struct {
	dec  jsontext.Decoder
	enc  *msgpack.Encoder
	out  []byte
	bins []int
}

var packers = sync.Pool{New: func() any {
	p := new(packer)
	p.enc = msgpack.NewEncoder(p)
	return p
}}

func (p *packer) Write(b []byte) (int, error) { p.out = append(p.out, b...); return len(b), nil }
func (p *packer) WriteByte(b byte) error      { p.out = append(p.out, b); return nil }

// pack appends the MessagePack of one JSON value, in which the texts that end at
// bins are bytes, and that nests so deep at most.
func pack(dst, record []byte, bins []int, depth int) ([]byte, error) {
	p := packers.Get().(*packer)
	defer func() {
		if len(record) <= pooled {
			packers.Put(p)
		}
	}()
	p.dec.Reset(bytes.NewBuffer(record))
	p.out, p.bins = dst, bins
	err := p.value(depth)
	if err == nil {
		if _, behind := p.dec.ReadToken(); behind != io.EOF {
			err = fmt.Errorf("it goes on at byte %d", p.dec.InputOffset())
		}
	}
	out := p.out
	p.out, p.bins = nil, nil
	return out, err
}

func (p *packer) value(depth int) error {
	t, err := p.dec.ReadToken()
	if err != nil {
		return ours(err)
	}
	switch t.Kind() {
	case '{', '[':
		if depth == 0 {
			return errors.New(tooDeep)
		}
		return p.container(t.Kind(), depth-1)
	case '"':
		if _, found := slices.BinarySearch(p.bins, int(p.dec.InputOffset())); found {
			b, err := base64.StdEncoding.DecodeString(t.String())
			if err != nil {
				return err
			}
			return p.enc.EncodeBytes(b)
		}
		return p.enc.EncodeString(t.String())
	case '0':
		return p.number(t)
	case 'n':
		return p.enc.EncodeNil()
	}
	return p.enc.EncodeBool(t.Bool())
}

func (p *packer) number(t jsontext.Token) error {
	if n, err := t.Uint(); err == nil {
		return p.enc.EncodeUint(n)
	}
	if n, err := t.Int(); err == nil {
		return p.enc.EncodeInt(n)
	}
	f, err := floatOf(t)
	if err != nil {
		return fmt.Errorf("%s is %w", Shorten(t.String()), err)
	}
	return p.enc.EncodeFloat64(f)
}

// container translates what is in it, and then puts the head before it, which
// says how much that was.
func (p *packer) container(begin jsontext.Kind, depth int) error {
	from, n := len(p.out), 0
	for ; p.dec.PeekKind() != begin+2; n++ { // ']' and '}' stand two behind
		if begin == '{' {
			if err := p.value(depth); err != nil {
				return err
			}
		}
		if err := p.value(depth); err != nil {
			return err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return ours(err)
	}
	to := len(p.out)
	err := p.enc.EncodeArrayLen(n)
	if begin == '{' {
		p.out = p.out[:to]
		err = p.enc.EncodeMapLen(n)
	}
	var head [5]byte
	k := copy(head[:], p.out[to:])
	p.out = slices.Insert(p.out[:to], from, head[:k]...)
	return err
}

// canonical is a JSON value in the one form that it has after a way through
// MessagePack.
func canonical(v []byte, depth int) ([]byte, error) {
	packed, err := pack(nil, v, nil, depth)
	if err != nil {
		return nil, err
	}
	out, _, err := unpack(nil, nil, packed, math.MaxInt)
	return out, err
}
