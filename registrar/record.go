package registrar

import (
	"fmt"
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
//	[rows, request ID, principal, reason]
//
// Two things are reserved: read, and passed over, but not written by this
// version. An operation with 0 rows changed nothing, and is told of for its
// request ID. A fifth value says why it was refused.
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

// operation adds one that changed this many rows.
func (w *recordWriter) operation(rows int, by *provenance) {
	w.n++
	if by == nil {
		w.ops.Uint(uint64(rows))
		return
	}
	n := 4
	for fields := [...]string{by.requestID, by.principal, by.reason}; n > 1 && fields[n-2] == ""; n-- {
	}
	w.ops.Array(n)
	w.ops.Uint(uint64(rows))
	for i, s := range [...]string{by.requestID, by.principal, by.reason} {
		if i < n-1 {
			w.ops.Str(s)
		}
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

// record is the data of a record, decoded. Rows is a view.
type record struct {
	history store.HistoryID
	epoch   uint64
	changed uint64 // operations that changed something
	rows    []byte
}

// maxOperations bounds the operations of one record; each takes a byte at least.
const maxOperations = math.MaxInt32

// parseRecord decodes data into rec. Its errors are registry.ErrVersion, or say
// at which byte the data is not what this version writes.
func parseRecord(r *pack.Reader, data []byte) (rec record, err error) {
	r.Reset(data)
	if v := r.Uint(math.MaxUint32); r.Err() == nil && v != recordVersion {
		return rec, fmt.Errorf("record format %d: %w", v, registry.ErrVersion)
	}
	if h := r.Bin(); len(h) == len(rec.history) {
		rec.history = store.HistoryID(h)
	} else {
		r.Fail("a history of %d bytes", len(h))
	}
	rec.epoch = r.Uint(math.MaxUint64)
	r.Int() // the stamp is for people
	for range r.Array(maxOperations) {
		if parseOperation(r) > 0 {
			rec.changed++
		}
		if r.Err() != nil {
			break
		}
	}
	rec.rows = r.Bin()
	return rec, r.End()
}

// parseOperation returns the number of rows.
func parseOperation(r *pack.Reader) uint64 {
	if r.IsUint() {
		return r.Uint(maxOperations)
	}
	n := r.Array(5)
	if n == 0 {
		r.Fail("an operation without the number of its rows")
	}
	rows := r.Uint(maxOperations)
	for range n - 1 {
		r.Str()
	}
	return rows
}
