package wire

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

const (
	maxDigits = 20    // of a length: all that a uint64 has
	smallest  = 512   // bytes of a buffer: many heartbeats, little memory in an idle stream
	idle      = 1024  // a Reader's buffer above it is let go after its record, for a master has 100,000 of them
	keep      = 16384 // any other buffer above it is let go after its record
	lineRoom  = maxDigits + 1
)

// Reader takes a stream apart into records. It is for one goroutine.
type Reader struct {
	r     io.Reader
	limit int
	buf   []byte
	start int // of what was read and not yet handed out: buf[start:]
	size  int // of the record behind the line that was taken; -1 if none was
	err   error
}

// NewReader returns a Reader of records that have at most limit bytes each.
func NewReader(r io.Reader, limit int) *Reader { return &Reader{r: r, limit: limit, size: -1} }

// SetLimit changes how many bytes the records still to come may have each.
func (r *Reader) SetLimit(limit int) { r.limit = limit }

// Next returns the next record, which is good until Next or Size is called. It
// returns [io.EOF] where the stream ends between records,
// [io.ErrUnexpectedEOF] where it ends in one, [ErrTooLong], a [*SyntaxError]
// for a line that is no length, or the error of the stream. After an error it
// returns the same for ever.
//
// Memory grows with the bytes that came, not with the length announced.
func (r *Reader) Next() ([]byte, error) {
	if _, err := r.Size(); err != nil {
		return nil, err
	}
	record, err := r.body(r.size)
	if err != nil {
		return nil, r.fail(err)
	}
	r.size = -1
	return record, nil
}

// Size returns how many bytes the next record is announced to have, with the
// errors of [Reader.Next], which then reads it. So a caller may wait for room.
func (r *Reader) Size() (int, error) {
	if r.err != nil || r.size >= 0 {
		return r.size, r.err
	}
	if r.start == len(r.buf) && cap(r.buf) > idle {
		r.buf, r.start = nil, 0
	}
	n, err := r.length()
	if err != nil {
		return 0, r.fail(err)
	}
	r.size = n
	return n, nil
}

func (r *Reader) fail(err error) error {
	r.err, r.buf, r.size = err, nil, 0
	return err
}

func (r *Reader) body(n int) ([]byte, error) {
	for len(r.buf)-r.start < n {
		switch err := r.more(n); {
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
	record := r.buf[r.start : r.start+n : r.start+n]
	r.start += n
	return record, nil
}

// length takes the line before a record.
func (r *Reader) length() (int, error) {
	n := uint64(0)
	for i := 0; ; i++ {
		for r.start+i == len(r.buf) {
			switch err := r.more(lineRoom); {
			case err == io.EOF && i > 0:
				return 0, io.ErrUnexpectedEOF
			case err != nil:
				return 0, err
			}
		}
		c := r.buf[r.start+i]
		switch {
		case c == '\n' && i > 0:
			r.start += i + 1
			if n > uint64(max(r.limit, 0)) {
				return 0, fmt.Errorf("%w: %d bytes announced, at most %d are taken", ErrTooLong, n, r.limit)
			}
			return int(n), nil
		case c < '0' || c > '9':
			return 0, &SyntaxError{i, fmt.Sprintf("want a digit of the length of a record, have %q", c)}
		case i == maxDigits:
			return 0, &SyntaxError{i, fmt.Sprintf("the length of a record has more than %d digits", maxDigits)}
		case n > (math.MaxUint64-uint64(c-'0'))/10:
			n = math.MaxUint64 // above any limit
		default:
			n = 10*n + uint64(c-'0')
		}
	}
}

// more reads at least one byte, of the want that are needed from start.
func (r *Reader) more(want int) error {
	if r.start > 0 && (r.start == len(r.buf) || cap(r.buf)-r.start < want) {
		r.buf = r.buf[:copy(r.buf, r.buf[r.start:])]
		r.start = 0
	}
	if len(r.buf) == cap(r.buf) {
		// Twice what has come, but no more than the record if that is less.
		room := max(smallest, min(2*cap(r.buf), r.start+want))
		r.buf = append(make([]byte, 0, room), r.buf...)
	}
	for range 100 { // as bufio: a reader that gives nothing must not hang us
		n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		switch {
		case n > 0:
			return nil // an error comes back with the next Read
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}

// Writer puts records into a stream, each with one call of Write. It is for one
// goroutine.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer into a stream.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Call writes a call as a record. An error that is no [*FieldError] is of the
// stream, which is of no use then.
func (w *Writer) Call(e Encoding, c Call) error {
	b, err := AppendCall(w.room(), e, c)
	if err != nil {
		return err
	}
	return w.write(b)
}

// Event writes an event as a record, with the errors of [Writer.Call].
func (w *Writer) Event(e Encoding, v Event) error {
	b, err := AppendEvent(w.room(), e, v)
	if err != nil {
		return err
	}
	return w.write(b)
}

// room is an empty buffer with space for the line before a record.
func (w *Writer) room() []byte {
	if cap(w.buf) < lineRoom {
		w.buf = make([]byte, lineRoom, 128)
	}
	return w.buf[:lineRoom]
}

// write puts the line before what stands in b behind room.
func (w *Writer) write(b []byte) error {
	var line [lineRoom]byte
	digits := append(strconv.AppendInt(line[:0], int64(len(b)-lineRoom), 10), '\n')
	start := lineRoom - len(digits)
	copy(b[start:], digits)
	if w.buf = b; cap(b) > keep {
		w.buf = nil
	}
	_, err := w.w.Write(b[start:])
	return err
}
