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
	l, err := wal.Open(dir, wal.Options{ReadOnly: true, Logger: logger(cmd)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	info, err := l.Info()
	if err != nil {
		return nil, fmt.Errorf("look over %s: %w", dir, err)
	}
	r, recovery, err := registrar.Load(cmd.Context(), l)
	if err != nil {
		return nil, fmt.Errorf("read the registry in %s: %w; regtool check --dir %[1]s says where it is damaged", dir, err)
	}
	return &stored{r, recovery, info}, nil
}

// openDir starts the engine on the registry in dir, for writing.
func openDir(ctx context.Context, dir string, log *slog.Logger) (*registrar.Registrar, error) {
	l, err := wal.Open(dir, wal.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	r, err := registrar.Open(ctx, l, registrar.Options{Logger: log})
	if err != nil {
		return nil, fmt.Errorf("recover the registry in %s: %w; regtool check --dir %[1]s says where it is damaged", dir, err)
	}
	return r, nil
}

// logger tells the user of a command what the engine warns of.
func logger(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
