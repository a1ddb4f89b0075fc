package registrar

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar/store"
)

// requests remembers what became of the last requests that had an ID: the
// window within which a request may be sent again. It is kept in records and
// checkpoints, so that it survives as the registry does.
type requests struct {
	max int

	mu   sync.Mutex
	byID map[string]*answer
	// order has the answers from the oldest on; those before start are
	// forgotten, and their places taken back now and then. Those before durable
	// are, and max of them are remembered, besides the few under way.
	order          []*answer
	start, durable int
}

// answer is what became of a request. It does not change.
type answer struct {
	id       string
	seq      uint64 // of the record that tells of it; others may know once that is durable
	revision uint64
	changed  bool
	refusal  refusal
	err      error // nil, or the refusal as it is remembered
}

func newRequests(most int) *requests {
	return &requests{max: most, byID: map[string]*answer{}}
}

func (q *requests) find(id string) (*answer, bool) {
	if id == "" {
		return nil, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	a, ok := q.byID[id]
	return a, ok
}

// add remembers a, whose record is not durable yet.
func (q *requests) add(a *answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byID[a.id] = a
	q.order = append(q.order, a)
}

// settle says that the records up to seq are durable. Only what is takes the
// place of older answers: after a crash those must still be there.
func (q *requests) settle(seq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.durable < len(q.order) && q.order[q.durable].seq <= seq {
		q.durable++
	}
	for q.durable-q.start > q.max {
		q.forgetLocked()
	}
	if q.start > q.max {
		q.order = slices.Clone(q.order[q.start:])
		q.start, q.durable = 0, q.durable-q.start
	}
}

// forgetLocked lets go of the oldest answer. If a smaller window once let it go
// before, a later answer may stand under its ID.
func (q *requests) forgetLocked() {
	oldest := q.order[q.start]
	if q.byID[oldest.id] == oldest {
		delete(q.byID, oldest.id)
	}
	q.order[q.start] = nil
	q.start++
}

// upTo copies the answers that record seq and those before it tell of.
func (q *requests) upTo(seq uint64) []*answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.order[q.start:]
	n := len(kept)
	for n > 0 && kept[n-1].seq > seq {
		n--
	}
	return slices.Clone(kept[:n])
}

// ErrNoRequest says that a request is not known here: it was never decided, is
// not durable yet, or was decided so long ago that it is forgotten
// ([Options.MaxRequests]).
var ErrNoRequest = errors.New("request is not known here")

// Outcome says what became of the request with this ID, as Apply would have
// said: nil or a refusal once it is durable, also if that was before a crash;
// [ErrNoRequest] otherwise. To send the request again is always safe, and gives
// the same answer. It costs one look into a map.
func (r *Registrar) Outcome(requestID string) (Result, error) {
	a, ok := r.requests.find(requestID)
	if !ok || a.seq > r.current.Load().mark.Seq {
		return Result{}, fmt.Errorf("request %q: %w", requestID, ErrNoRequest)
	}
	return a.result(), a.err
}

func (a *answer) result() Result { return Result{Revision: a.revision, Changed: a.changed} }

// RefusedError is a refusal as it is remembered. It has the text of the first,
// or its beginning, and is the same reason for [errors.Is] if that was one of
// package ops or of this one.
type RefusedError struct {
	Text    string
	reasons []error
}

func (e *RefusedError) Error() string { return e.Text }

// Unwrap is the reason, if it is still known.
func (e *RefusedError) Unwrap() []error { return e.reasons }

// refusal is an error as records and checkpoints keep it: its text, and the
// number of its reason.
type refusal struct {
	text string
	why  uint64
}

// reasons has what a refusal may be for, by number; 0 stands for all others. Of
// those that hold, the last counts. The numbers are on disk: never change one,
// add new ones at the end.
var reasons = [...][]error{
	1:  {ops.ErrAdmitted},
	2:  {ops.ErrUnreachable},
	3:  {ops.ErrGone},
	4:  {ops.ErrNotKnown},
	5:  {ops.ErrNotAdmitted},
	6:  {ops.ErrDraining},
	7:  {ops.ErrNotDraining},
	8:  {ops.ErrIncarnation},
	9:  {ErrTooLarge},
	10: {ops.ErrRevision},
	11: {ops.ErrNoKey, ops.ErrRevision},
	12: {ops.ErrPodDefined},
	13: {ops.ErrNoPod},
}

// maxRefusal is how much of a refusal's text is kept.
const maxRefusal = 512

func newRefusal(err error) refusal {
	if err == nil {
		return refusal{}
	}
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) > maxRefusal {
		text = strings.ToValidUTF8(text[:maxRefusal], "")
	}
	if text == "" {
		text = "refused"
	}
	why := len(reasons) - 1
	for why > 0 && !errors.Is(err, reasons[why][0]) {
		why--
	}
	return refusal{text, uint64(why)}
}

func (f refusal) err() error {
	if f.text == "" {
		return nil
	}
	e := &RefusedError{Text: f.text}
	if f.why < uint64(len(reasons)) {
		e.reasons = reasons[f.why]
	}
	return e
}

// A checkpoint tells of requests in chunks of their own, behind those of the
// registry, which begin with a number and not with nil:
//
//	nil
//	version   uint   1
//	requests  until the end of the bytes, oldest first:
//	          array [request ID, record, revision, changed, refusal, why]
//
// Values at the end that are false, empty or 0 are left out.
const requestsVersion = 1

// encodeRequests encodes answers, in chunks of about size bytes. A chunk is valid until
// the next is asked for.
func encodeRequests(answers []*answer, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		w := pack.NewWriter()
		for i, a := range answers {
			if len(w.Bytes) == 0 {
				w.Nil()
				w.Uint(requestsVersion)
			}
			a.encode(w)
			if len(w.Bytes) >= size || i == len(answers)-1 {
				if !yield(w.Bytes) {
					return
				}
				w.Reset()
			}
		}
	}
}

func (a *answer) encode(w *pack.Writer) {
	n := 3
	switch {
	case a.refusal.why > 0:
		n = 6
	case a.refusal.text != "":
		n = 5
	case a.changed:
		n = 4
	}
	w.Array(n)
	w.Str(a.id)
	w.Uint(a.seq)
	w.Uint(a.revision)
	if n > 3 {
		w.Bool(a.changed)
	}
	if n > 4 {
		w.Str(a.refusal.text)
	}
	if n > 5 {
		w.Uint(a.refusal.why)
	}
}

// isRequests reports whether a chunk of a checkpoint tells of requests.
func isRequests(chunk []byte) bool {
	var r pack.Reader
	r.Reset(chunk)
	return r.Nil()
}

// decode adds what a chunk tells of. Its errors are those of parseRecord.
func (q *requests) decode(chunk []byte) error {
	var r pack.Reader
	r.Reset(chunk)
	r.Nil()
	if v := r.Uint(math.MaxUint32); r.Err() == nil && v != requestsVersion {
		return versionError("requests", v)
	}
	for r.More() {
		a := parseAnswer(&r)
		if r.Err() != nil {
			break
		}
		q.add(a)
	}
	q.settle(math.MaxUint64)
	return r.Err()
}

// replay adds what a record tells of.
func (q *requests) replay(rec store.Record, data record) {
	defer q.settle(rec.Seq)
	revision := rec.First - 1
	for o := range data.operations() {
		if o.rows > 0 {
			revision++
		}
		if id := o.by.requestID; id != "" {
			q.add(&answer{id: id, seq: rec.Seq, revision: revision, changed: o.rows > 0, refusal: o.refusal, err: o.refusal.err()})
		}
	}
}

func parseAnswer(r *pack.Reader) *answer {
	n := r.Array(6)
	if n < 3 {
		r.Fail("a request of %d fields", n)
	}
	a := &answer{id: r.Text(), seq: r.Uint(math.MaxUint64), revision: r.Uint(math.MaxUint64)}
	if n > 3 {
		a.changed = r.Bool()
	}
	if n > 4 {
		a.refusal.text = r.Text()
	}
	if n > 5 {
		a.refusal.why = r.Uint(math.MaxUint32)
	}
	a.err = a.refusal.err()
	return a
}
