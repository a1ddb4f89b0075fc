package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
	"github.com/eaba02dc/registrar/wal/live"
)

// readable is what a command reads a registry from: the files in a directory, or
// the process that has them open for writing, through its socket there.
type readable interface {
	store.Store
	Info() (wal.Info, error)
	Condition() store.Condition
	Check(ctx context.Context, report func(wal.Finding)) error
}

var (
	_ readable = (*wal.Log)(nil)
	_ readable = (*wal.Live)(nil)
)

// seenLive says from which process something was read, how far its registry had
// come, and when, by its clock. It is nil for what was read from files.
type seenLive struct {
	PID      int       `json:"pid"`
	Revision uint64    `json:"revision"`
	At       time.Time `json:"at"`
}

func seenBy(s readable) *seenLive {
	l, ok := s.(*wal.Live)
	if !ok {
		return nil
	}
	seen := l.Seen()
	return &seenLive{seen.PID, seen.End.Revision, seen.At}
}

func (s *seenLive) String() string {
	return fmt.Sprintf("read live from process %d at revision %d, %s", s.PID, s.Revision, s.At.Format(time.RFC3339))
}

// tell says it on stderr, where it is not in the way of what was asked for.
func (s *seenLive) tell(cmd *cobra.Command) {
	if s != nil {
		complain(cmd.ErrOrStderr(), cmd, s.String())
	}
}

// How long a process is waited for that has the registry open and lets nobody
// read: it may be about to, or have it for a moment only.
const (
	heldBriefly = 500 * time.Millisecond
	lookAgain   = 20 * time.Millisecond
)

// openReadable opens the files, or, if they are in use, asks who uses them.
func openReadable(ctx context.Context, dir string, o wal.Options) (readable, error) {
	o.ReadOnly = true
	for start := time.Now(); ; {
		l, locked := wal.Open(dir, o)
		if locked == nil {
			return l, nil
		}
		if !errors.Is(locked, wal.ErrLocked) {
			return nil, locked
		}
		s, err := wal.OpenLive(ctx, dir)
		switch {
		case err == nil:
			return s, nil
		case !errors.Is(err, live.ErrNotServed) && !errors.Is(err, store.ErrClosed):
			return nil, fmt.Errorf("%w; %w", locked, err)
		case time.Since(start) > heldBriefly:
			return nil, fmt.Errorf("%w, and %w", locked, err)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// attempts is how often reading from a process is begun anew.
const attempts = 3

// passing reports whether an error is of a process that goes on writing, or has
// ended, while it is read from: who begins anew may fare better.
func passing(err error) bool {
	return errors.Is(err, live.ErrCut) || errors.Is(err, live.ErrBusy) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrCompacted)
}
