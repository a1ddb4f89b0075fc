package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// roomFor fails unless a registry can be made there, as far as that can be told
// without asking etcd.
func (s reading) roomFor() error {
	if s.etcd.given() {
		return s.etcd.validate()
	}
	names, err := os.ReadDir(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return parentThere(s.dir)
	case err != nil:
		return err
	case len(names) > 0:
		return fmt.Errorf("%s is not empty, it holds %q: name a directory that is empty or not there", s.dir, names[0].Name())
	}
	return nil
}

// makeOf makes a new registry of an image, that begins at a place, opens it, and
// reads it back; or leaves none.
func (s reading) makeOf(cmd *cobra.Command, mark string, begin store.Mark, image *registrar.Image) (made *registrar.Image, err error) {
	ctx := cmd.Context()
	if s.etcd.given() {
		return s.makeInEtcd(cmd, begin, image)
	}
	dir, err := realDir(s.dir)
	if err != nil {
		return nil, noneMade(err)
	}
	err = buildBeside(dir, mark, logger(cmd), func(beside string) error {
		made, err = makeAt(ctx, beside, begin, image, logger(cmd))
		return interrupted(ctx, err)
	})
	if err != nil {
		return nil, noneMade(err)
	}
	if err := syncDir(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("%w; the whole registry is there, but it may not be any more after a power cut: then make it again", err)
	}
	return made, nil
}

// makeAt makes it in a directory.
func makeAt(ctx context.Context, dir string, begin store.Mark, image *registrar.Image, log *slog.Logger) (*registrar.Image, error) {
	l, err := wal.CreateAt(ctx, dir, wal.Options{Logger: log}, begin, image.Chunks())
	if err != nil {
		return nil, err
	}
	if err := beginEpoch(ctx, l, log); err != nil {
		return nil, err
	}
	l, err = wal.Open(dir, wal.Options{ReadOnly: true, Logger: log})
	if err != nil {
		return nil, err
	}
	return readBack(ctx, l, image)
}

// makeInEtcd makes it in etcd, where it is there whole or not at all.
func (s reading) makeInEtcd(cmd *cobra.Command, begin store.Mark, image *registrar.Image) (*registrar.Image, error) {
	ctx, log := cmd.Context(), logger(cmd)
	client, err := s.etcd.dial()
	if err != nil {
		return nil, noneMade(err)
	}
	defer client.Close()
	o := etcdstore.Options{Prefix: s.etcd.prefix, Logger: log}
	st, err := etcdstore.CreateAt(ctx, client, o, begin, image.Chunks())
	if err != nil {
		return nil, noneMade(adviseEtcd(&s.etcd, interrupted(ctx, err)))
	}
	if err := beginEpoch(ctx, st, log); err != nil {
		return nil, fmt.Errorf("the registry is there, but could not be opened: %w", err)
	}
	o.ReadOnly = true
	st, err = etcdstore.Open(ctx, client, o)
	if err != nil {
		return nil, fmt.Errorf("the registry is there, but could not be read back: %w", err)
	}
	made, err := readBack(ctx, st, image)
	if err != nil {
		return nil, fmt.Errorf("the registry is there, but should not be used: %w", err)
	}
	return made, nil
}

// beginEpoch has the engine open a new store, and closes it.
func beginEpoch(ctx context.Context, s store.Store, log *slog.Logger) error {
	r, err := openStore(ctx, s, log)
	if err != nil {
		return err
	}
	return r.Close()
}

// readBack proves that s holds the image, and closes it.
func readBack(ctx context.Context, s store.Store, want *registrar.Image) (*registrar.Image, error) {
	made, err := registrar.LoadImage(ctx, s)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if made.Registry.Digest() != want.Registry.Digest() || made.Requests() != want.Requests() {
		return nil, fmt.Errorf("what was read back is not what was written: digest %v and %s in place of %v and %d",
			made.Registry.Digest(), counted(made.Requests(), "request"), want.Registry.Digest(), want.Requests())
	}
	return made, nil
}
