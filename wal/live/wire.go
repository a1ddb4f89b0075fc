package live

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
)

// A connection has one question and its answer, both made of frames:
//
//	kind(1) length(4, little-endian) body
//
// The question is one frame of JSON, at most 4 KiB. The answer is frames of the
// kinds below, and ends with an end or an error; what ends otherwise was cut off.
// Who asks says which version of this he speaks, and is told if it is another.
const version = 1

const (
	frameQuestion   = 'q' // question, in JSON
	frameState      = 's' // state, in JSON
	frameMark       = 'm' // of the checkpoint that follows; mark
	frameChunk      = 'c' // of the checkpoint
	frameRecord     = 'r' // mark first(8) data
	frameFinding    = 'f' // of a check, in JSON
	frameEnd        = 'z' // empty
	frameError      = 'e' // failure, in JSON
	maxQuestion     = 4 << 10
	markLen         = 4*8 + 16 // seq epoch revision count digest, little-endian
	maxFrame        = store.MaxData + markLen + 8
	frameHeaderLen  = 5
	firstAllocation = 1 << 20 // a length alone makes nobody take more memory
)

// What can be asked.
const (
	askState      = "state"
	askCheckpoint = "checkpoint"
	askRecords    = "records"
	askCheck      = "check"
)

type question struct {
	Version int    `json:"version"`
	Ask     string `json:"ask"`
	// History is that of the store which was asked before: another process may
	// have put another store in its place. Zero when it is asked for the first time.
	History store.HistoryID `json:"history,omitzero"`
	// AtMost is the revision that a checkpoint may cover.
	AtMost uint64 `json:"at_most,omitempty"`
	// After and To are the numbers of records: behind the first, up to the other.
	After uint64 `json:"after,omitempty"`
	To    uint64 `json:"to,omitempty"`
}

// state is what there is to say of a store without reading it.
type state struct {
	PID       int             `json:"pid"`
	At        time.Time       `json:"at"`
	Identity  store.Identity  `json:"identity"`
	End       store.Mark      `json:"end"`
	Oldest    store.Mark      `json:"oldest"`
	Places    []store.Place   `json:"places"`
	Condition condition       `json:"condition"`
	Failed    string          `json:"failed,omitempty"`
	About     json.RawMessage `json:"about"` // the source's own
}

// condition is a [store.Condition]: its errors are texts on their way.
type condition struct {
	store.Condition
	Full    string `json:",omitempty"`
	Low     string `json:",omitempty"`
	Failing string `json:",omitempty"`
}

func toCondition(c store.Condition) condition {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	out := condition{c, text(c.Full), text(c.Low), text(c.Failing)}
	out.Condition.Full, out.Condition.Low, out.Condition.Failing = nil, nil, nil
	return out
}

func (c condition) condition() store.Condition {
	out := c.Condition
	if c.Full != "" {
		out.Full = &remoteError{c.Full, store.ErrDiskFull}
	}
	if c.Low != "" {
		out.Low = errors.New(c.Low)
	}
	if c.Failing != "" {
		out.Failing = errors.New(c.Failing)
	}
	return out
}

func writeFrame(w io.Writer, kind byte, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	head := [frameHeaderLen]byte{kind}
	binary.LittleEndian.PutUint32(head[1:], uint32(n))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFrame(w, kind, text)
}

// readFrame reads a frame of at most this many bytes into buf, if it has room.
func readFrame(r io.Reader, limit int, buf []byte) (kind byte, body []byte, err error) {
	var head [frameHeaderLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if uint64(n) > uint64(limit) {
		return 0, nil, fmt.Errorf("a frame has %d bytes, more than %d", n, limit)
	}
	body = buf[:0]
	for rest := int(n); rest > 0; {
		step := min(rest, max(firstAllocation, len(body)))
		at := len(body)
		if cap(body)-at < step {
			body = append(make([]byte, 0, at+step), body...)
		}
		body = body[:at+step]
		if _, err := io.ReadFull(r, body[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
		rest -= step
	}
	return head[0], body, nil
}

func appendMark(b []byte, m store.Mark) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, m.Seq)
	b = le.AppendUint64(b, m.Epoch)
	b = le.AppendUint64(b, m.Revision)
	b = le.AppendUint64(b, m.Count)
	return append(b, m.Digest[:]...)
}

func appendRecord(b []byte, r store.Record) []byte {
	return binary.LittleEndian.AppendUint64(appendMark(b, r.Mark), r.First) // and its data
}

var errShort = errors.New("a frame is shorter than it should be")

func getMark(b []byte) (m store.Mark, rest []byte, err error) {
	if len(b) < markLen {
		return m, nil, errShort
	}
	le := binary.LittleEndian
	m = store.Mark{Seq: le.Uint64(b), Epoch: le.Uint64(b[8:]), Revision: le.Uint64(b[16:]), Count: le.Uint64(b[24:])}
	copy(m.Digest[:], b[32:])
	return m, b[markLen:], nil
}

func getRecord(b []byte) (r store.Record, err error) {
	if r.Mark, b, err = getMark(b); err != nil {
		return r, err
	}
	if len(b) < 8 {
		return r, errShort
	}
	r.First, r.Data = binary.LittleEndian.Uint64(b), b[8:]
	return r, nil
}

// failure is an error on its way: its text, and what callers branch on.
type failure struct {
	Text string `json:"text"`
	// Kind is one of the kinds below, or of the source's; empty for all that only
	// people read.
	Kind string `json:"kind,omitempty"`
	// What and Oldest are of a store.CompactedError.
	What   string     `json:"what,omitempty"`
	Oldest store.Mark `json:"oldest,omitzero"`
	// Detail is of an error of the source's own kind.
	Detail json.RawMessage `json:"detail,omitempty"`
}

const (
	kindCompacted = "compacted"
	kindClosed    = "closed"
	kindBusy      = "busy"
	kindVersion   = "version"
)

func toFailure(err error) failure {
	f := failure{Text: err.Error()}
	var compacted *store.CompactedError
	switch {
	case errors.As(err, &compacted):
		f.Kind, f.What, f.Oldest = kindCompacted, compacted.What, compacted.Oldest
	case errors.Is(err, store.ErrClosed):
		f.Kind = kindClosed
	case errors.Is(err, ErrBusy):
		f.Kind = kindBusy
	case errors.Is(err, ErrVersion):
		f.Kind = kindVersion
	}
	return f
}

// err is the error again, as one of this process.
func (f failure) err(explained Explained) error {
	if explained != nil {
		if err := explained(f.Kind, f.Detail); err != nil {
			return &remoteError{f.Text, err}
		}
	}
	switch f.Kind {
	case kindCompacted:
		return &remoteError{f.Text, &store.CompactedError{What: f.What, Oldest: f.Oldest}}
	case kindClosed:
		return &remoteError{f.Text, store.ErrClosed}
	case kindBusy:
		return &remoteError{f.Text, ErrBusy}
	case kindVersion:
		return &remoteError{f.Text, ErrVersion}
	}
	return errors.New(f.Text)
}

// remoteError has the text that the other process gave it.
type remoteError struct {
	text string
	err  error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.err }
