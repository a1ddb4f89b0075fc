package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Why a directory was not opened, or cannot be used any more; test with
// [errors.Is]. After one of an opening the directory is byte for byte as it was.
var (
	// ErrNotExist: there is no store here: the directory is absent, empty, or
	// an interrupted Create left it unfinished. The text says which.
	ErrNotExist = errors.New("there is no store here")
	// ErrExist: Create found a store.
	ErrExist = errors.New("a store is already here")
	// ErrForeign: the directory holds files, but no store.
	ErrForeign = errors.New("this is not a store")
	// ErrLocked: another process, or another Log of this one, has the store open.
	ErrLocked = errors.New("the store is in use")
	// ErrMoved: the directory of an open store was removed, moved or replaced, or
	// the files in it were. Nothing is written any more: it would go to files that
	// have no name. It is [Log.Err], and the error of records that came too late.
	ErrMoved = errors.New("the store is not where it was opened")
	// ErrVersion: the store was written in a newer format than this program
	// reads. It is not damaged: use a newer program.
	ErrVersion = errors.New("the store has a newer format than this program reads")
)

// CorruptError says that bytes of the store are not what was once written.
type CorruptError struct {
	// Dir is the store's directory.
	Dir string
	// Place names what is damaged: "record", "checkpoint", "store".
	Place string
	// Seq is the record's number, or that of the last record the checkpoint
	// covers; 0 when the damage is not in one of them.
	Seq uint64
	// Err is what is wrong with it.
	Err error
}

func (e *CorruptError) Error() string {
	if e.Seq == 0 {
		return fmt.Sprintf("store %s is damaged: %v", e.Dir, e.Err)
	}
	return fmt.Sprintf("store %s: %s %d is damaged: %v", e.Dir, e.Place, e.Seq, e.Err)
}

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// LostRecordsError says that the store holds less than it, or its witness,
// once proved durable: acknowledged operations may be gone. The disk or
// someone with access to the files did that. Look for the missing files or a
// backup first; [Options.AcceptLoss] opens what is left.
type LostRecordsError struct {
	// Dir is the store's directory.
	Dir string
	// From and To are the first and the last lost revision. To is 0 when
	// nothing says how far the store once came. Where a checkpoint outlived
	// the records before it, From is the first of theirs: what was in the
	// registry at the checkpoint is not lost, but how it came about is. Reason
	// says so.
	From, To uint64
	// Recovered is the place up to which the store can be read, Witnessed the
	// place it once proved; zero when no witness can be read.
	Recovered, Witnessed store.Mark
	// Reason says how the loss was noticed.
	Reason string
}

func (e *LostRecordsError) Error() string {
	return fmt.Sprintf("store %s: %s: %s; what is left is the registry at revision %d; look for the missing files or a backup before accepting the loss",
		e.Dir, whatIsLost(e.From, e.To), e.Reason, e.Recovered.Revision)
}

func whatIsLost(from, to uint64) string {
	switch {
	case to == 0:
		return fmt.Sprintf("everything after revision %d may be lost", from-1)
	case from == to:
		return fmt.Sprintf("revision %d is lost", to)
	case from < to:
		return fmt.Sprintf("revisions %d to %d are lost", from, to)
	}
	return fmt.Sprintf("records after revision %d are lost, none of which changed the registry", to)
}

// damaged tells damage from other trouble in an error of Pebble's. The lock is
// held, so a file that is not there was taken away.
func damaged(dir string, err error) error {
	if pebble.IsCorruptionError(err) || errors.Is(err, pebble.ErrDBDoesNotExist) || errors.Is(err, fs.ErrNotExist) {
		return &CorruptError{Dir: dir, Place: "store", Err: brief(err)}
	}
	return brief(err)
}

// briefError is an error of Pebble's in one line. Of itself it prints more: a
// line for what it carries and for each error it joins, and stack traces under
// "%+v", which is what slog prints.
type briefError struct{ err error }

func (b *briefError) Error() string { return oneLine(b.err.Error()) }
func (b *briefError) Unwrap() error { return b.err }

// brief is nil for a nil err.
func brief(err error) error {
	if err == nil {
		return nil
	}
	return &briefError{err}
}

// oneLine leaves out what tells nothing, and what was told before.
func oneLine(text string) string {
	var told []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line != "<corruption detail carrier>" && !slices.Contains(told, line) {
			told = append(told, line)
		}
	}
	return strings.Join(told, "; ")
}
