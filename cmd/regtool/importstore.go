package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// build makes a new store of the input in im.dir. The error says what there is
// then: nothing, unless all that went wrong is that the name of the whole store
// may not be durable.
func (im *importer) build(ctx context.Context) (*registry.Registry, error) {
	dir, err := realDir(im.dir)
	if err != nil {
		return nil, noneMade(err)
	}
	end, err := im.buildAt(ctx, dir)
	if err != nil {
		return nil, noneMade(err)
	}
	if err := im.sync(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("%w; the whole registry is at %s, but it may not be there any more after a power cut: then import again", err, im.dir)
	}
	return end, nil
}

func noneMade(err error) error { return fmt.Errorf("%w; no registry was made", err) }

// buildAt makes the store beside dir and, once it is whole and closed, gives it
// the name dir. If anything goes wrong, there is nothing at dir.
func (im *importer) buildAt(ctx context.Context, dir string) (end *registry.Registry, err error) {
	err = buildBeside(dir, importMark, im.log, func(beside string) error {
		l, err := wal.Create(beside, wal.Options{Logger: im.log})
		if err != nil {
			return err
		}
		r, err := registrar.Open(ctx, l, registrar.Options{Logger: im.log})
		if err != nil {
			return interrupted(ctx, err)
		}
		end, err = im.write(ctx, r, registry.New())
		return errors.Join(err, r.Close())
	})
	return end, err
}

// extend writes the input into the store in dir. It has been rehearsed on
// seen; if the store has changed since, it is rehearsed again, now that nobody
// else can write. The error says how much was written.
func (im *importer) extend(ctx context.Context, seen *registry.Registry) (*registry.Registry, error) {
	r, err := openDir(ctx, im.dir, wal.Options{Logger: im.log})
	if err != nil {
		return nil, noneWritten(err)
	}
	return im.extendIn(ctx, r, seen)
}

// extendIn closes r too. What closing meets takes back nothing of an input that
// is written; it is for the outcome to tell.
func (im *importer) extendIn(ctx context.Context, r *registrar.Registrar, seen *registry.Registry) (*registry.Registry, error) {
	reg := r.Snapshot()
	if reg.Digest() != seen.Digest() {
		if err := im.rehearse(ctx, reg); err != nil {
			return nil, noneWritten(errors.Join(interrupted(ctx, err), r.Close()))
		}
	}
	end, err := im.write(ctx, r, reg)
	im.closing = r.Close()
	if err != nil {
		return nil, fmt.Errorf("%w; a part may have been written: importing the same input again does the rest", errors.Join(err, im.closing))
	}
	return end, nil
}

func noneWritten(err error) error { return fmt.Errorf("nothing of the input was written: %w", err) }

// maxUnderway is how many operations of an import wait for the disk at once;
// the engine takes four batches of this many.
const maxUnderway = 4 * 4096

// write submits every operation of the import and waits until all are durable.
// What the registry was before is reg.
func (im *importer) write(ctx context.Context, r *registrar.Registrar, reg *registry.Registry) (*registry.Registry, error) {
	w := writing{ctx: ctx, r: r, request: im.request}
	_, err := walk(ctx, im.in, reg, w.submit)
	for err == nil && len(w.underway) > 0 {
		err = w.settle()
	}
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	return r.Snapshot(), nil
}

// writing keeps a bounded number of operations under way.
type writing struct {
	ctx      context.Context
	r        *registrar.Registrar
	request  registrar.Request // what all of them have in common
	underway []*registrar.Pending
}

func (w *writing) submit(steps []step) error {
	for _, s := range steps {
		if s.op == nil {
			continue
		}
		request := w.request
		request.Operation = s.op
		p, err := w.r.Submit(request)
		for errors.Is(err, registrar.ErrOverloaded) && len(w.underway) > 0 { // in bytes: large agents fill the queue sooner
			if err = w.settle(); err == nil {
				p, err = w.r.Submit(request)
			}
		}
		if err != nil {
			return err
		}
		w.underway = append(w.underway, p)
	}
	for len(w.underway) > maxUnderway {
		if err := w.settle(); err != nil {
			return err
		}
	}
	return nil
}

// settle waits for the oldest.
func (w *writing) settle() error {
	_, err := w.underway[0].Wait(w.ctx)
	w.underway = w.underway[1:]
	return err
}
