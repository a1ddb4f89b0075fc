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
	Err() error // why its process can write no more, or nil
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
	// Failed is why that process can write no more, if it cannot.
	Failed string `json:"failed,omitempty"`
}

func seenBy(s readable) *seenLive {
	l, ok := s.(*wal.Live)
	if !ok {
		return nil
	}
	seen := l.Seen()
	out := &seenLive{PID: seen.PID, Revision: seen.End.Revision, At: seen.At}
	if err := l.Err(); err != nil {
		out.Failed = err.Error()
	}
	return out
}

// text is what there is to know of an answer that may be behind by now.
func (s *seenLive) text(now time.Time) string {
	age := max(now.Sub(s.At), 0).Round(time.Millisecond) // of one clock, which may have been set
	text := fmt.Sprintf("read live from process %d at revision %d, %v ago (%s)", s.PID, s.Revision, age, s.At.Format(time.RFC3339))
	if s.Failed != "" {
		text += "; it can write no more: " + s.Failed
	}
	return text
}

// tell says it on stderr, where it is not in the way of what was asked for.
func (s *seenLive) tell(cmd *cobra.Command) {
	if s != nil {
		complain(cmd.ErrOrStderr(), cmd, s.text(time.Now()))
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
		case !errors.Is(err, live.ErrNotServed) && !passing(err):
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

// readWith has f read the registry: anew, where it is read from a process that goes on
// writing meanwhile, or ends.
func (s reading) readWith(cmd *cobra.Command, f func(readable) error) error {
	for n := 1; ; n++ {
		from, err := s.open(cmd)
		if err != nil {
			return err
		}
		seen := seenBy(from)
		if err = errors.Join(f(from), from.Close()); err == nil {
			seen.tell(cmd)
			return nil
		}
		gone := s.at != nil && errors.Is(err, store.ErrCompacted) // it will not come back
		if seen == nil || n == attempts || gone || !passing(err) {
			return s.advise(err)
		}
	}
}

// advise adds what to do next.
func (s reading) advise(err error) error {
	if s.etcd.given() {
		return adviseEtcd(&s.etcd, err)
	}
	return advise(s.dir, err)
}

// cutOff reports whether an error is passing, and nothing was let go of.
func cutOff(err error) bool { return passing(err) && !errors.Is(err, store.ErrCompacted) }

// passing reports whether an error is of a process that goes on writing, or has
// ended, while it is read from: who begins anew may fare better.
func passing(err error) bool {
	return errors.Is(err, live.ErrCut) || errors.Is(err, live.ErrBusy) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrCompacted)
}
