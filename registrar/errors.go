package registrar

import (
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/registrar/store"
)

// How an operation can end without an answer of its own; test with [errors.Is].
var (
	// ErrNotApplied says that the operation was surely not applied by this
	// call; what became of an earlier request with its ID is another question
	// ([Registrar.Outcome]). Each of
	// the next four errors, and the end of a context before a batch took the
	// operation, comes with it.
	ErrNotApplied = errors.New("operation was not applied")
	// ErrDiskFull: the operation would have added an entry, and there is too
	// little space for more. Those that remove or change are still taken. Try
	// again later: it clears by itself once there is room.
	ErrDiskFull = store.ErrDiskFull
	// ErrOverloaded: the queue is full. Try again later.
	ErrOverloaded = errors.New("too many operations are waiting")
	// ErrClosed: the registrar was closed.
	ErrClosed = errors.New("registrar is closed")
	// ErrFailed: the store failed earlier. Open the store afresh.
	ErrFailed = errors.New("registrar has stopped after a failure of its store")

	// ErrTooLarge: the operation holds, or changes, more than may be made
	// durable at once. It was refused, and nothing of it applied; split it.
	ErrTooLarge = errors.New("operation is too large")

	// ErrUnknown says that the operation may or may not have been applied.
	// After the store is opened afresh, its registry shows which.
	ErrUnknown = errors.New("outcome of the operation is not known")
)

func notApplied(reason error) error { return fmt.Errorf("%w: %w", ErrNotApplied, reason) }

func unknown(reason error) error { return fmt.Errorf("%w: %w", ErrUnknown, reason) }

// failed is why nothing is taken any more after cause.
func failed(cause error) error { return notApplied(fmt.Errorf("%w: %w", ErrFailed, cause)) }

// outcome is what the error of a store's durable means for the operations of
// the record.
func outcome(err error) error {
	if errors.Is(err, store.ErrNotWritten) || errors.Is(err, store.ErrFenced) {
		return notApplied(err)
	}
	return unknown(err)
}

// MismatchError says that a registry rebuilt from a store is not the one that
// was written: its count or digest differs from what the store says it was.
type MismatchError struct {
	Place     string // "checkpoint" or "record"
	Want, Got store.Mark
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s %d (revision %d) should leave %d entries with digest %x, but leaves %d with %x: the store is damaged; restore a backup",
		e.Place, e.Want.Seq, e.Want.Revision, e.Want.Count, e.Want.Digest, e.Got.Count, e.Got.Digest)
}
