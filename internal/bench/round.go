package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/eaba02dc/registrar/registry"
)

// inFlight is how many batches the engine has on their way to the disk.
const inFlight = 4

// round is one repetition: what the phases are held against, then the phases.
type round struct {
	dir     string // its own, removed at the end
	kept    string // what outlives it
	load    *workload
	victim  func(ctx context.Context) *exec.Cmd
	done    func() // called after each phase
	learned *learned
	record  *recorder // nil except in repetition 0

	agentBytes int
	held       map[string]baseline
	samples    []sample
}

// run returns a sample of each phase.
func (r *round) run(ctx context.Context) (_ []sample, err error) {
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		return nil, fmt.Errorf("make room for a repetition: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	if r.record == nil {
		if r.held, err = r.learned.baselines(r.dir, r.agents()); err != nil {
			return nil, err
		}
	}
	return r.samples, r.phases(ctx)
}

func (r *round) agents() int { return len(r.load.order) }

func (r *round) store() string { return filepath.Join(r.dir, "store") }

// phases runs every phase on one store.
func (r *round) phases(ctx context.Context) error {
	if err := r.storms(ctx); err != nil {
		return err
	}
	crashed, err := r.killed(ctx)
	if err != nil {
		return err
	}
	e, err := r.recovered(ctx, "recover", crashed)
	if err != nil {
		return err
	}
	if err := e.close(); err != nil {
		return err
	}
	if e, err = r.recovered(ctx, "recover_clean", crashed); err != nil {
		return err
	}
	return errors.Join(r.removed(ctx, e), e.close())
}

// storms runs what comes before recovery on a new store and closes it.
func (r *round) storms(ctx context.Context) (err error) {
	e, err := createEngine(ctx, r.store(), r.agents(), r.record)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	for i, s := range stormsBefore {
		if i > 0 {
			r.load.shuffle()
		}
		if err := r.storm(ctx, e, s); err != nil {
			return err
		}
	}
	return nil
}

// removed runs what comes after recovery.
func (r *round) removed(ctx context.Context, e *engine) error {
	r.load.shuffle()
	if err := r.storm(ctx, e, removal); err != nil {
		return err
	}
	for i, l := range loops {
		err := r.phase(l.name(), func() (sample, error) { return l.run(ctx, e, r.load, i*r.agents()) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *round) storm(ctx context.Context, e *engine, s storm) error {
	return r.phase(s.phase, func() (sample, error) { return s.run(ctx, e, r.load) })
}

// phase runs one phase, on tape in repetition 0, and keeps its sample beside
// what it is held against.
func (r *round) phase(name string, run func() (sample, error)) error {
	if r.record != nil {
		if err := r.record.start(name); err != nil {
			return err
		}
	}
	s, err := run()
	if err != nil {
		return err
	}
	if r.record != nil {
		if r.learned.tapes[name], err = r.record.stop(); err != nil {
			return err
		}
	}
	r.keep(name, s)
	return nil
}

func (r *round) keep(name string, s sample) {
	b := r.held[name]
	s.floor, s.pebble = b.floor, b.pebble
	if s.clients > 0 {
		// One client's floor is one sync for each Admit: the raw append and
		// fdatasync that a client has to wait for at the least.
		s.fsync50 = r.held[loops[0].name()].fsync50
	}
	r.samples = append(r.samples, s)
	r.done()
}

// keepLive keeps the live bytes of the recovered registry, once.
func (r *round) keepLive(reg *registry.Registry) (err error) {
	if r.learned.live == nil {
		r.learned.live, err = writeLive(filepath.Join(r.kept, "live"), reg)
	}
	return err
}
