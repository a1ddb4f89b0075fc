package registrar

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// The data of a record is msgpack, one value after another:
//
//	version    uint   1
//	history    bin    16 bytes: whose record it is
//	epoch      uint   of the writer
//	stamp      int    when it was decided, ns since 1970; for people
//	operations array  one item for each operation that the record tells of
//	rows       bin    what they changed, one after another (registry/codec.go)
//
// An operation that changed something is the number of its rows; the revision
// grew by one. If it has provenance, it is an array instead, with empty values
// at the end left out:
//
//	[rows, request ID, principal, reason, refusal, why]
//
// One that changed nothing has 0 rows, and is told of only if it has a request
// ID. If it was refused, refusal is the text of that, and why the number of its
// reason (requests.go).
//
// The first record after a loss that was accepted goes on a billion revisions
// further, which no operation has (RevisionsSkipped).
//
// | format | since | change   | read by |
// |--------|-------|----------|---------|
// | 1      | v0.1  | as above | all     |
const recordVersion = 1

// RecordVersion is the format of the records that this version writes, and the
// newest that it reads.
const RecordVersion = recordVersion

// provenance says who asked for an operation and why.
type provenance struct {
	requestID, principal, reason string
}

// recordWriter builds the data of one record.
type recordWriter struct {
	out *pack.Writer // the whole
	ops *pack.Writer // the items of operations
	n   int
}

func newRecordWriter() *recordWriter {
	return &recordWriter{out: pack.NewWriter(), ops: pack.NewWriter()}
}

func (w *recordWriter) reset() {
	w.ops.Reset()
	w.n = 0
}

// len is how many bytes the operations take so far.
func (w *recordWriter) len() int { return len(w.ops.Bytes) }

// operation adds one.
func (w *recordWriter) operation(o told) {
	w.n++
	if o.by == (provenance{}) {
		w.ops.Uint(o.rows)
		return
	}
	texts := [...]string{o.by.requestID, o.by.principal, o.by.reason, o.refusal.text}
	n := len(texts) + 2
	if o.refusal.why == 0 {
		for n--; texts[n-2] == ""; n-- {
		}
	}
	w.ops.Array(n)
	w.ops.Uint(o.rows)
	for _, s := range texts[:min(n-1, len(texts))] {
		w.ops.Str(s)
	}
	if o.refusal.why != 0 {
		w.ops.Uint(o.refusal.why)
	}
}

// finish returns the data, valid until the next finish.
func (w *recordWriter) finish(history store.HistoryID, epoch uint64, stamp time.Time, rows []byte) []byte {
	b := w.out
	b.Reset()
	b.Uint(recordVersion)
	b.Bin(history[:])
	b.Uint(epoch)
	b.Int(stamp.UnixNano())
	b.Array(w.n)
	b.Bytes = append(b.Bytes, w.ops.Bytes...)
	b.Bin(rows)
	return b.Bytes
}

// told is an operation as a record tells of it.
type told struct {
	rows    uint64
	by      provenance
	refusal refusal
}

// record is the data of a record, decoded. Its bytes are views.
type record struct {
	history store.HistoryID
	epoch   uint64
	stamp   time.Time
	changed uint64 // operations that changed something
	named   bool   // an operation has a request ID
	n       int
	ops     []byte // the n operations, which were read once without an error
	rows    []byte
}

// maxOperations bounds the operations of one record; each takes a byte at least.
const maxOperations = math.MaxInt32

// parseRecord decodes data into rec. Its errors are registry.ErrVersion, or say
// at which byte the data is not what this version writes.
func parseRecord(r *pack.Reader, data []byte) (rec record, err error) {
	r.Reset(data)
	if v := r.Uint(math.MaxUint32); r.Err() == nil && v != recordVersion {
		return rec, versionError("record", v)
	}
	if h := r.Bin(); len(h) == len(rec.history) {
		rec.history = store.HistoryID(h)
	} else {
		r.Fail("a history of %d bytes", len(h))
	}
	rec.epoch = r.Uint(math.MaxUint64)
	rec.stamp = time.Unix(0, r.Int())
	rec.n = r.Array(maxOperations)
	at := r.Pos()
	for range rec.n {
		rows, id := passOperation(r)
		if r.Err() != nil {
			break
		}
		if rows > 0 {
			rec.changed++
		}
		rec.named = rec.named || id
	}
	rec.ops = r.Span(at, r.Pos())
	rec.rows = r.Bin()
	return rec, r.End()
}

func versionError(what string, v uint64) error {
	if v == 0 {
		return fmt.Errorf("%s format 0, which there never was", what)
	}
	return fmt.Errorf("%s format %d: %w", what, v, registry.ErrVersion)
}

// passOperation returns the number of rows and whether there is a request ID.
// It makes no copy of anything, for recovery reads every operation.
func passOperation(r *pack.Reader) (rows uint64, named bool) {
	if r.IsUint() {
		return r.Uint(maxOperations), false
	}
	n := r.Array(6)
	if n == 0 {
		r.Fail("an operation without the number of its rows")
	}
	rows = r.Uint(maxOperations)
	for i := range min(n-1, 4) {
		text := r.Str()
		named = named || i == 0 && len(text) > 0
		if i == 3 && rows > 0 {
			r.Fail("a refused operation that has rows")
		}
	}
	if n == 6 {
		r.Uint(math.MaxUint32)
	}
	return rows, named
}

// operations yields what the record tells of, in order.
func (rec *record) operations() iter.Seq[told] {
	return func(yield func(told) bool) {
		var r pack.Reader
		r.Reset(rec.ops)
		for range rec.n {
			if !yield(parseOperation(&r)) {
				return
			}
		}
	}
}

func parseOperation(r *pack.Reader) (o told) {
	if r.IsUint() {
		o.rows = r.Uint(maxOperations)
		return o
	}
	n := r.Array(6)
	o.rows = r.Uint(maxOperations)
	texts := [...]*string{&o.by.requestID, &o.by.principal, &o.by.reason, &o.refusal.text}
	for _, s := range texts[:min(n-1, len(texts))] {
		*s = r.Text()
	}
	if n == 6 {
		o.refusal.why = r.Uint(math.MaxUint32)
	}
	return o
}
