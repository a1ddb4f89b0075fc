package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
	"github.com/eaba02dc/registrar/wal/live"
)

// stored is a registry as it was read from a directory, and what the directory
// says of itself.
type stored struct {
	*registry.Registry
	Recovery registrar.Recovery
	Info     wal.Info
	Live     *seenLive
}

// loadDir reads and proves the registry in dir as it is now, if nobody has it
// open for writing. It writes nothing and keeps nothing open.
func loadDir(cmd *cobra.Command, dir string) (*stored, error) {
	l, err := wal.Open(dir, wal.Options{ReadOnly: true, Logger: logger(cmd)})
	if err != nil {
		return nil, advise(dir, err)
	}
	s, err := reading{dir: dir}.loadFrom(cmd, l)
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, advise(dir, err)
	}
	return s, nil
}

// reading is what a command reads: the registry in a directory or in etcd, at a
// revision.
type reading struct {
	dir        string
	etcd       etcdFlags
	at         *uint64 // nil for the last
	acceptLoss bool
}

// readingFlags gives cmd the flags of a reading, set when the command runs.
func readingFlags(cmd *cobra.Command) *reading {
	s := &reading{}
	s.placeFlags(cmd)
	acceptLossFlagTo(cmd, &s.acceptLoss)
	cmd.Flags().Var(revisionFlag{&s.at}, "at", "show it as it was at this revision (default: the last)")
	return s
}

// revisionFlag is the value of a flag that may be left out: every number is a
// revision, so that none can stand for that.
type revisionFlag struct{ to **uint64 }

func (f revisionFlag) Set(text string) error {
	revision, err := strconv.ParseUint(text, 10, 64)
	if err == nil {
		*f.to = &revision
	}
	return err
}

func (f revisionFlag) String() string {
	if f.to == nil || *f.to == nil {
		return ""
	}
	return strconv.FormatUint(**f.to, 10)
}

func (f revisionFlag) Type() string { return "uint" }

// placeFlags gives cmd the flags that say where the registry is.
func (s *reading) placeFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.dir, "dir", "", "directory of the registry; this or --etcd is required")
	cmd.MarkFlagDirname("dir")
	s.etcd.add(cmd.Flags())
	cmd.MarkFlagsOneRequired("dir", "etcd")
	cmd.MarkFlagsMutuallyExclusive("dir", "etcd")
}

// place names the registry for people.
func (s reading) place() string {
	if s.etcd.given() {
		return s.etcd.place()
	}
	return s.dir
}

// open opens the directory for reading, or asks who has it open; or etcd.
func (s reading) open(cmd *cobra.Command) (readable, error) {
	if s.etcd.given() {
		return openEtcd(cmd, &s.etcd)
	}
	from, err := openReadable(cmd.Context(), s.dir, wal.Options{AcceptLoss: s.acceptLoss, Logger: logger(cmd)})
	if err != nil {
		return nil, advise(s.dir, err)
	}
	return from, nil
}

// load reads and proves the registry. It writes nothing and keeps nothing open.
func (s reading) load(cmd *cobra.Command) (found *stored, err error) {
	defer busy(cmd.ErrOrStderr(), "read "+s.place())()
	err = s.readWith(cmd, func(from readable) (err error) {
		found, err = s.loadFrom(cmd, from)
		return err
	})
	return found, err
}

// loadFrom reads what was opened.
func (s reading) loadFrom(cmd *cobra.Command, from readable) (*stored, error) {
	info, err := from.Info()
	if err != nil {
		return nil, fmt.Errorf("look over %s: %w", s.place(), err)
	}
	r, recovery, err := s.read(cmd.Context(), from)
	if err != nil {
		return nil, fmt.Errorf("read the registry in %s: %w", s.place(), err)
	}
	return &stored{r, recovery, info, seenBy(from)}, nil
}

func (s reading) read(ctx context.Context, l readable) (*registry.Registry, registrar.Recovery, error) {
	if s.at == nil {
		return registrar.Load(ctx, l)
	}
	return registrar.LoadAt(ctx, l, *s.at)
}

// openDir starts the engine on the registry in dir, for writing.
func openDir(ctx context.Context, dir string, o wal.Options) (*registrar.Registrar, error) {
	l, err := wal.Open(dir, o)
	if err != nil {
		return nil, advise(dir, err)
	}
	r, err := openStore(ctx, l, o.Logger)
	if err != nil {
		return nil, advise(dir, fmt.Errorf("recover the registry in %s: %w", dir, err))
	}
	return r, nil
}

// openStore starts the engine on a store, and forgets nothing: how much is
// remembered is for the master to say, and not stored.
func openStore(ctx context.Context, s store.Store, log *slog.Logger) (*registrar.Registrar, error) {
	return registrar.Open(ctx, s, registrar.Options{
		Logger:         log,
		HistoryRecords: math.MaxUint64, HistoryBytes: math.MaxInt64, HistoryAge: math.MaxInt64, MaxRequests: math.MaxInt,
	})
}

// advise adds to why a registry was not opened what to do next.
func advise(dir string, err error) error {
	var (
		corrupt  *wal.CorruptError
		lost     *wal.LostRecordsError
		row      *registry.CorruptError
		record   *registrar.RecordError
		mismatch *registrar.MismatchError
	)
	switch {
	case errors.Is(err, wal.ErrNotExist):
		return fmt.Errorf("%w; regtool import --dir %s FILE makes one", err, dir)
	case errors.Is(err, wal.ErrLocked) && errors.Is(err, live.ErrNotServed):
		return fmt.Errorf("%w; it may be opening it still: try again; else it was told to let nobody read (serve --socket=false, wal.Options.NoSocket): "+
			"ask it by what it offers, as HTTP, or stop it", err)
	case errors.Is(err, live.ErrBusy), errors.Is(err, live.ErrCut):
		return fmt.Errorf("%w; try again", err)
	case errors.Is(err, live.ErrSilent):
		return fmt.Errorf("%w; see whether it is stopped (SIGSTOP) or overloaded, and try again", err)
	case errors.Is(err, wal.ErrLocked):
		return fmt.Errorf("%w; stop the program that has it open first, or use what that program offers", err)
	case errors.Is(err, store.ErrDiskFull):
		return fmt.Errorf("%w; make room first; reading %s (inspect, export, check) needs none", err, dir)
	case errors.Is(err, wal.ErrVersion), errors.Is(err, registry.ErrVersion):
		return fmt.Errorf("%w; use the regtool that wrote it, or a newer one", err)
	case errors.As(err, &lost):
		return fmt.Errorf("%w; regtool check --dir %s lists all that is wrong, --accept-loss goes on with what is left", err, dir)
	case errors.As(err, &corrupt), errors.As(err, &row),
		errors.As(err, &record), errors.As(err, &mismatch):
		return fmt.Errorf("%w; regtool check --dir %s lists all that is wrong", err, dir)
	}
	return err
}

// logger tells the user of a command what the engine warns of.
func logger(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
