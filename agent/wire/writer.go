package wire

import (
	"bytes"
	"encoding/base64"
	"math"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// writer writes the values of a record. The first error sticks.
//
// It writes JSON only: a record in MessagePack is translated from it.
type writer struct {
	enc  jsontext.Encoder
	buf  bytes.Buffer
	bins []int // where texts end that stand for bytes
	err  error
}

var writers = sync.Pool{New: func() any { return new(writer) }}

func newWriter() *writer {
	w := writers.Get().(*writer)
	w.buf.Reset()
	w.bins, w.err = w.bins[:0], nil
	w.enc.Reset(&w.buf, jsontext.AllowDuplicateNames(true))
	return w
}

// done appends what was written to dst, and gives w back.
func (w *writer) done(dst []byte, e Encoding) ([]byte, error) {
	defer func() {
		if max(w.buf.Cap(), 8*cap(w.bins)) <= pooled {
			writers.Put(w)
		}
	}()
	if w.err != nil {
		return dst, w.err
	}
	record := bytes.TrimSuffix(w.buf.Bytes(), []byte("\n"))
	if e == JSON {
		return append(dst, record...), nil
	}
	out, err := pack(dst, record, w.bins, maxDepth)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// fail is about the value that is to be written now.
func (w *writer) fail(reason string) {
	if w.err == nil {
		w.err = &FieldError{pathOf(w.enc.StackPointer()), reason}
	}
}

func (w *writer) token(t jsontext.Token) {
	if w.err != nil {
		return
	}
	if err := w.enc.WriteToken(t); err != nil {
		w.fail(notUTF8) // all that can be wrong with it
	}
}

func (w *writer) open(k jsontext.Kind) {
	if k == '{' {
		w.token(jsontext.BeginObject)
	} else {
		w.token(jsontext.BeginArray)
	}
}

func (w *writer) close(k jsontext.Kind) {
	if k == '}' {
		w.token(jsontext.EndObject)
	} else {
		w.token(jsontext.EndArray)
	}
}

func (w *writer) text(v string)  { w.token(jsontext.String(v)) }
func (w *writer) boolean(v bool) { w.token(jsontext.Bool(v)) }
func (w *writer) uint(v uint64)  { w.token(jsontext.Uint(v)) }

func (w *writer) float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.fail("is not a finite number")
	}
	w.token(jsontext.Float(v))
}

func (w *writer) bytes(v *[]byte) {
	w.text(base64.StdEncoding.EncodeToString(*v))
	w.bins = append(w.bins, int(w.enc.OutputOffset()))
}

// raw writes a value that somebody else has made. What is no JSON is refused, so
// that nobody breaks a record with it.
func (w *writer) raw(v Raw) {
	out, err := canonical([]byte(v), maxDepth-w.enc.StackDepth())
	switch {
	case err != nil:
		w.fail("is not JSON that can be handed on: " + err.Error())
	case string(out) == "null":
		w.fail("is null: leave it out")
	case w.err == nil:
		if err := w.enc.WriteValue(out); err != nil {
			w.fail(err.Error())
		}
	}
}
