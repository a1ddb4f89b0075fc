package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// stored is a registry as it was read from a directory, and what the directory
// says of itself.
type stored struct {
	*registry.Registry
	Recovery registrar.Recovery
	Info     wal.Info
}

// loadDir reads and proves the registry in dir. It writes nothing and keeps
// nothing open.
func loadDir(cmd *cobra.Command, dir string) (_ *stored, err error) {
	defer busy(cmd.ErrOrStderr(), "read "+dir)()
	l, err := wal.Open(dir, wal.Options{ReadOnly: true, Logger: logger(cmd)})
	if err != nil {
		return nil, advise(dir, err)
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	info, err := l.Info()
	if err != nil {
		return nil, fmt.Errorf("look over %s: %w", dir, err)
	}
	r, recovery, err := registrar.Load(cmd.Context(), l)
	if err != nil {
		return nil, advise(dir, fmt.Errorf("read the registry in %s: %w", dir, err))
	}
	return &stored{r, recovery, info}, nil
}

// openDir starts the engine on the registry in dir, for writing.
func openDir(ctx context.Context, dir string, log *slog.Logger) (*registrar.Registrar, error) {
	l, err := wal.Open(dir, wal.Options{Logger: log})
	if err != nil {
		return nil, advise(dir, err)
	}
	r, err := registrar.Open(ctx, l, registrar.Options{Logger: log})
	if err != nil {
		return nil, advise(dir, fmt.Errorf("recover the registry in %s: %w", dir, err))
	}
	return r, nil
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
	case errors.Is(err, wal.ErrLocked):
		return fmt.Errorf("%w; stop the program that has it open first, or use what that program offers", err)
	case errors.Is(err, wal.ErrVersion), errors.Is(err, registry.ErrVersion):
		return fmt.Errorf("%w; use the regtool that wrote it, or a newer one", err)
	case errors.As(err, &corrupt), errors.As(err, &lost), errors.As(err, &row),
		errors.As(err, &record), errors.As(err, &mismatch):
		return fmt.Errorf("%w; regtool check --dir %s lists all that is wrong", err, dir)
	}
	return err
}

// logger tells the user of a command what the engine warns of.
func logger(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
