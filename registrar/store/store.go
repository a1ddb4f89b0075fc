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
	"iter"
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
)

// HistoryID names one history of a store. A store that was created anew or
// restored from a backup has another one than the original.
type HistoryID [16]byte

// String is the canonical form of a UUID.
func (h HistoryID) String() string {
	s := hex.EncodeToString(h[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Identity says whose records a store holds.
type Identity struct {
	History HistoryID
	// Epoch is the highest epoch any record or checkpoint was written in; 0
	// in a store that was never written to.
	Epoch uint64
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

	// Checkpoint returns the newest checkpoint whose bytes are whole: the
	// place it covers, and its chunks in order. Without one, the mark is zero
	// and the sequence empty. A chunk is valid until the next is asked for.
	// If the newest is damaged, the store reports it and offers the older one.
	Checkpoint(ctx context.Context) (Mark, iter.Seq2[[]byte, error], error)

	// Records yields the records after seq, in order and without gaps; it
	// ends after the first error. A record's Data is valid until the next is
	// asked for. A record that should be there and is not is an error.
	Records(ctx context.Context, after uint64) iter.Seq2[Record, error]

	// Append queues a record behind the one before it: r.Seq must be one more
	// than the last. It does not wait for the disk; the returned function
	// does, and is called exactly once. Records become durable in order: when
	// one is, all before it are. Append does not keep r.Data.
	Append(r Record) (durable func() error, err error)

	// Compact stores a checkpoint, whole or not at all, then lets go of older
	// ones but one, and of the records up to keepAfter. A failure harms
	// neither records nor earlier checkpoints and may be tried again. The
	// store asks for one chunk at a time, and does not keep it.
	Compact(ctx context.Context, covers Mark, chunks iter.Seq[[]byte], keepAfter uint64) error

	// Close waits for what was appended and releases the store. It is safe to
	// call more than once.
	Close() error
}
