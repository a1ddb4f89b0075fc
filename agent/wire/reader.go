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
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads the values of a record one after another. The first error
// sticks: after it every read gives a zero value, and every loop ends.
//
// It reads JSON only: a record in MessagePack is translated first.
type reader struct {
	dec    jsontext.Decoder
	form   Encoding
	record []byte
	room   []byte // for the translation of a record
	odd    []int  // in the translation, where texts end that stand for what JSON does not have
	left   int    // bytes that lists and the like may still take
	err    error

	known  [256]string // texts of the record, which come again and again
	amount amount      // that is being read; none is within another
}

var readers = sync.Pool{New: func() any { return new(reader) }}

func newReader(e Encoding, record []byte) *reader {
	r := readers.Get().(*reader)
	r.form, r.record, r.odd, r.err = e, record, r.odd[:0], nil
	r.left = mostMade*len(record) + slack
	if e == Msgpack {
		r.room, r.odd, r.err = unpack(r.room[:0], r.odd, record, mostTranslated*len(record)+slack)
		r.record = r.room
	}
	r.again()
	return r
}

func (r *reader) again() { r.dec.Reset(bytes.NewBuffer(r.record)) }

// done gives r back, without anything of the record, and is its first error,
// which bytes behind the record are too.
func (r *reader) done() error {
	if r.err == nil {
		if _, err := r.dec.ReadToken(); err != io.EOF {
			r.err = &SyntaxError{int(r.dec.InputOffset()), "the record goes on behind its end"}
		}
	}
	err := r.err
	clear(r.known[:])
	big := max(len(r.record), cap(r.room), 8*cap(r.odd)) > pooled
	if r.record, r.amount = nil, (amount{}); !big {
		readers.Put(r)
	}
	return err
}

// spend reports whether there may be n bytes more of what the record becomes.
func (r *reader) spend(n int) bool {
	if r.left -= n; r.left < 0 {
		r.fail(fmt.Sprintf("is more than there may be: what a record lists may take %d times its bytes in memory", mostMade))
	}
	return r.err == nil
}

// fail is about the value that was read last.
func (r *reader) fail(reason string) {
	if r.err == nil {
		r.err = &FieldError{pathOf(r.dec.StackPointer()), reason}
	}
}

// failIn is about a member of the object that was read last.
func (r *reader) failIn(name, reason string) {
	if r.err == nil {
		r.err = &FieldError{pathOf(r.dec.StackPointer().AppendToken(name)), reason}
	}
}

// broken takes an error of the library.
func (r *reader) broken(err error) {
	if err != nil && r.err == nil {
		r.err = ours(err)
	}
}

// ours is an error of the library as one of ours.
func ours(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case !errors.As(err, &syntax): // there is nothing at all
		return &SyntaxError{0, endsEarly}
	case syntax.Err == io.ErrUnexpectedEOF:
		return &SyntaxError{int(syntax.ByteOffset), endsEarly}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &FieldError{pathOf(syntax.JSONPointer), "stands there twice"}
	}
	return &SyntaxError{int(syntax.ByteOffset), syntax.Err.Error()}
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "a boolean", 'f': "a boolean", '0': "a number", '"': "a text", '[': "a list", '{': "an object",
}

// want reports whether a value of the kind is next.
func (r *reader) want(k jsontext.Kind) bool {
	if r.err != nil {
		return false
	}
	have := r.dec.PeekKind()
	if have == k || have == 'f' && k == 't' {
		return true
	}
	r.skip() // so that the pointer is to it
	if have == '"' && r.isOdd() {
		r.fail(noJSON)
	}
	r.fail("is " + kindNames[have] + ", want " + kindNames[k])
	return false
}

const noJSON = "is bytes, an extension, or no finite number"

// isOdd reports whether the text that was read last stands for what JSON does
// not have.
func (r *reader) isOdd() bool {
	_, found := slices.BinarySearch(r.odd, int(r.dec.InputOffset()))
	return found
}

func (r *reader) token() jsontext.Token {
	t, err := r.dec.ReadToken()
	r.broken(err)
	return t
}

func (r *reader) open(k jsontext.Kind) {
	if r.want(k) {
		r.token()
	}
}

// more reports whether something follows in an object or a list, and takes its
// end if not.
func (r *reader) more(end jsontext.Kind) bool {
	if r.err != nil {
		return false
	}
	if r.dec.PeekKind() != end {
		return true
	}
	r.token()
	return false
}

func (r *reader) skip() {
	for depth := r.dec.StackDepth(); r.err == nil; {
		r.token()
		switch now := r.dec.StackDepth(); {
		case now > maxDepth:
			r.err = &SyntaxError{int(r.dec.InputOffset()), tooDeep}
		case now == depth:
			return
		}
	}
}

// null takes a null if one is next.
func (r *reader) null() bool {
	if r.err != nil || r.dec.PeekKind() != 'n' {
		return false
	}
	r.token()
	return true
}

// name is a name or a text, as a view that is good until the next read.
func (r *reader) name() []byte {
	if !r.want('"') {
		return nil
	}
	quoted, err := r.dec.ReadValue()
	if r.broken(err); err != nil {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	r.broken(err)
	return plain
}

func (r *reader) text() string {
	b := r.name()
	if r.err == nil && r.isOdd() {
		r.fail(noJSON)
	}
	if len(b) == 0 || len(b) > 64 {
		return string(b)
	}
	h := uint32(2166136261) // FNV-1a: it need not hold against anybody, a slot is only lost
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	slot := &r.known[h%uint32(len(r.known))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

func (r *reader) boolean() bool { return r.want('t') && r.token().Kind() == 't' }

func (r *reader) float() float64 {
	if !r.want('0') {
		return 0
	}
	t := r.token()
	if r.err != nil {
		return 0
	}
	f, err := floatOf(t)
	if err != nil {
		r.fail("is " + err.Error())
	}
	return f
}

var errRange = errors.New("out of the range of a float64")

// floatOf is the number of a token; one so near to 0 that it would become that is out
// of range, as one is that would become infinite.
func floatOf(t jsontext.Token) (float64, error) {
	f, err := t.Float()
	if err != nil {
		return 0, errRange
	}
	if f == 0 {
		digits, _, _ := strings.Cut(strings.ToLower(t.String()), "e")
		if strings.ContainsAny(digits, "123456789") {
			return 0, errRange
		}
	}
	return f, nil
}

// uint is a whole number from 0 to limit, however it is written.
func (r *reader) uint(limit uint64) uint64 {
	if !r.want('0') {
		return 0
	}
	t := r.token()
	if r.err != nil {
		return 0
	}
	n, err := t.Uint()
	if err != nil {
		f, far := floatOf(t)
		if f != math.Trunc(f) {
			r.fail("is " + Shorten(t.String()) + ", want a whole number")
		}
		if far == nil && f >= 0 && f < 1<<64 {
			n, err = uint64(f), nil
		}
	}
	if err != nil || n > limit {
		r.fail(fmt.Sprintf("is %s, want 0 to %d", Shorten(t.String()), limit))
		return 0
	}
	return n
}

func (r *reader) bytes(v *[]byte) {
	b := r.name()
	if r.err == nil && r.form == Msgpack && !r.isOdd() {
		r.fail("is a text, want bytes")
	}
	if len(b) == 0 || r.err != nil {
		return
	}
	out, err := base64.StdEncoding.Strict().AppendDecode(nil, b)
	if err != nil {
		r.fail("is not base64")
		return
	}
	*v = out
}

// raw reads any value. It goes to MessagePack and back, so that it is the same
// in both.
func (r *reader) raw() Raw {
	if r.err != nil {
		return ""
	}
	v, err := r.dec.ReadValue()
	if r.broken(err); err != nil {
		return ""
	}
	end := int(r.dec.InputOffset())
	if i, _ := slices.BinarySearch(r.odd, end-len(v)); i < len(r.odd) && r.odd[i] <= end {
		r.fail("has what JSON does not have: bytes, an extension, or no finite number")
		return ""
	}
	out, err := canonical(v, maxDepth-r.dec.StackDepth())
	if err != nil {
		r.fail("cannot be handed on: " + err.Error())
	}
	return Raw(out)
}

// pathOf is a pointer as we write it: "subscribe.tasks[3].state".
func pathOf(p jsontext.Pointer) string {
	var path []byte
	for part := range p.Tokens() {
		part = Shorten(part)
		if _, err := strconv.ParseUint(part, 10, 32); err == nil {
			path = append(append(append(path, '['), part...), ']')
			continue
		}
		if len(path) > 0 {
			path = append(path, '.')
		}
		path = append(path, part...)
	}
	if len(path) == 0 {
		return "record"
	}
	return string(path)
}
