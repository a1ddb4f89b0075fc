// Package store is the contract between the registrar and durable storage.
//
// A [Store] keeps two things: a sequence of opaque, numbered records, and
// checkpoints that make the older records dispensable. It knows nothing of
// agents; what the bytes mean is the registrar's business. Package wal fits
// the contract with Pebble on a local disk, [Memory] with nothing but memory.
//
// The outcome of a write is always one of three, and the error says which:
//
//   - an error from [Store.Append] itself: surely not written;
//   - nil from the function that Append returned: written and durable;
//   - an error from that function: unknown, unless it is [ErrNotWritten]
//     (surely not written) or [ErrFenced] (surely not written, and this
//     writer will never write again).
package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// What a failed write means for its caller; test with [errors.Is].
var (
	// ErrNotWritten marks an error of durable after which the record is
	// surely not in the store.
	ErrNotWritten = errors.New("record was not written")
	// ErrFenced says that another writer holds a newer epoch. It ends this
	// writer for good.
	ErrFenced = errors.New("another writer holds a newer epoch")
	// ErrReadOnly is what a store opened for reading answers to a write.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrClosed is what a closed store answers.
	ErrClosed = errors.New("store is closed")
	// ErrCompacted says that what was asked for is older than everything the
	// store still holds. [CompactedError] has the oldest.
	ErrCompacted = errors.New("it is no longer kept")
)

// CompactedError says from where on the store can be read. It is [ErrCompacted].
type CompactedError struct {
	What   string // "revision 12", "records after 4"
	Oldest Mark   // the oldest place that can still be read
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("%s: %v; the oldest that is kept is revision %d, at record %d", e.What, ErrCompacted, e.Oldest.Revision, e.Oldest.Seq)
}

// Is makes errors.Is(err, ErrCompacted) true.
func (e *CompactedError) Is(target error) bool { return target == ErrCompacted }

// HistoryID names one history of a store: no two that were created have the
// same, and a store that goes on after the loss of records has a new one. A copy
// of its files has the same, for nothing tells them apart.
type HistoryID [16]byte

// String is the canonical form of a UUID.
func (h HistoryID) String() string {
	s := hex.EncodeToString(h[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// MarshalText is String, for JSON.
func (h HistoryID) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *HistoryID) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
	if err != nil || len(b) != len(h) || HistoryID(b).String() != string(text) {
		return fmt.Errorf("%q is no ID of a history", text)
	}
	*h = HistoryID(b)
	return nil
}

// Identity says whose records a store holds.
type Identity struct {
	History HistoryID
	// Epoch is the highest epoch any record or checkpoint was written in; 0
	// in a store that was never written to.
	Epoch uint64
	// Earlier are the histories that this one goes on from, oldest first: the
	// records up to each Until belong to it. A store takes a new history when
	// the loss of records is accepted, since the numbers of records are given out
	// again.
	Earlier []Earlier
}

// Earlier is a history that ended.
type Earlier struct {
	History HistoryID
	Until   uint64 // the number of its last record that is left
}

// HistoryAt is the history that the record with this number belongs to.
func (i Identity) HistoryAt(seq uint64) HistoryID {
	for _, e := range i.Earlier {
		if seq <= e.Until {
			return e.History
		}
	}
	return i.History
}

// EndedBefore is how many histories ended right before the record with this
// number: each with a loss of records that was accepted. There are more than one
// where a later loss took all that the earlier one had left to write.
func (i Identity) EndedBefore(seq uint64) (n uint64) {
	for _, e := range i.Earlier {
		if e.Until+1 == seq {
			n++
		}
	}
	return n
}

// Mark is a place in a history and what the registry amounted to there.
type Mark struct {
	// Seq numbers records 1, 2, 3 … without gaps. 0 is the place before the
	// first record.
	Seq uint64
	// Epoch counts the writers: each recovery for writing takes the next one.
	Epoch uint64
	// Revision is the registry's revision after this place.
	Revision uint64
	// Count is how many entries the registry held, over all its tables.
	Count uint64
	// Digest is the registry's digest.
	Digest [16]byte
}

// Place is where a checkpoint is.
type Place struct {
	Mark
	Bytes int64 // of its chunks
}

// Record is what one durable write holds: the changes of one batch.
type Record struct {
	Mark // after the record
	// First is the revision of the first operation in the record. A record
	// that moves no revision has First == Revision+1.
	First uint64
	// Data is the registrar's. A Store keeps it byte for byte, and proves on
	// reading (by a checksum) that it did.
	Data []byte
}

// MaxData is the most bytes of data that a record may have, and a chunk of a
// checkpoint: every Store takes as much.
const MaxData = 64 << 20

// Store is durable storage for one registrar.
//
// Append and the functions it returns may run concurrently with each other,
// with Compact and with reading; Append itself is called by one goroutine.
type Store interface {
	// Identity says which history the store holds and its latest epoch.
	Identity() Identity

	// Checkpoint returns the newest checkpoint that covers no revision after
	// atMost and whose bytes are whole: the place it covers, and its chunks in
	// order. Without one, the mark is zero and the sequence empty, as long as
	// the records from the first on are there; else the error is a
	// [*CompactedError]. A chunk is valid until the next is asked for. If the
	// newest is damaged, the store reports it and offers an older one.
	Checkpoint(ctx context.Context, atMost uint64) (Mark, iter.Seq2[[]byte, error], error)

	// Oldest is the place before the first record that is kept: that of the
	// oldest checkpoint, or zero while nothing was let go.
	Oldest() Mark

	// Places lists the checkpoints that are kept, oldest first, without
	// reading them: one may turn out to be damaged.
	Places() []Place

	// Records yields the records after seq, in order and without gaps; it
	// ends after the first error. A record's Data is valid until the next is
	// asked for. A record that should be there and is not is an error; one
	// that was let go is a [*CompactedError].
	Records(ctx context.Context, after uint64) iter.Seq2[Record, error]

	// Append queues a record behind the one before it: r.Seq must be one more
	// than the last. It does not wait for the disk; the returned function
	// does, and is called exactly once. Records become durable in order: when
	// one is, all before it are. Append does not keep r.Data.
	Append(r Record) (durable func() error, err error)

	// Compact stores a checkpoint, whole or not at all, then lets go of what
	// is older than keepAfter needs: every place from record keepAfter on can
	// still be read, from the newest checkpoint at or before it. That one, or
	// the older of the newest two if it is older still, becomes the oldest
	// place; the checkpoints before it and the records up to it go. Where
	// there is no such checkpoint, nothing goes. A failure harms neither
	// records nor earlier checkpoints and may be tried again. The store asks
	// for one chunk at a time, and does not keep it.
	Compact(ctx context.Context, covers Mark, chunks iter.Seq[[]byte], keepAfter uint64) error

	// Close waits for what was appended and releases the store. It is safe to
	// call more than once.
	Close() error
}

// Failing is a Store that may come to fail while nothing is written to it, and
// then says so at once: the registrar stops, instead of at the next operation.
type Failing interface {
	Store
	// Failed is closed when nothing can be written any more. Err is why.
	Failed() <-chan struct{}
	Err() error
}
