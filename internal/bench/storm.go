package bench

import (
	"context"
	"fmt"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

// run puts the storm through the engine, measures it, and checks that it came
// out as it should.
func (s storm) run(ctx context.Context, e *engine, w *workload) (sample, error) {
	before := e.Snapshot().Revision()
	m, err := s.measure(ctx, e, w)
	if err != nil {
		return m, fmt.Errorf("phase %s: %w", s.phase, err)
	}
	if err := s.check(e.Snapshot(), before, m); err != nil {
		return m, fmt.Errorf("phase %s: %w", s.phase, err)
	}
	m.heap = liveHeap() // the operations were measure's, and are gone
	return m, nil
}

// measure submits every operation at once, from one goroutine, then waits for
// each of them. Making the operations is not timed.
func (s storm) measure(ctx context.Context, e *engine, w *workload) (sample, error) {
	m := sample{phase: s.phase, ops: len(w.order)}
	all := w.operations(s.operation)
	batches, bytes := e.written()
	meter := startMeter()
	changed, err := submitAll(ctx, e.Registrar, all)
	took, cpu := meter.stop()
	if err != nil {
		return m, err
	}
	if want := s.expected(len(all)); changed != want {
		return m, fmt.Errorf("%d of %d operations changed the registry, not %d", changed, len(all), want)
	}
	m.seconds, m.cpu = took.Seconds(), cpu.Seconds()
	m.batches, m.bytes = e.written()
	m.batches -= batches
	m.bytes -= bytes
	return m, nil
}

// expected is how many of n operations must change the registry.
func (s storm) expected(n int) int {
	if s.changes {
		return n
	}
	return 0
}

// submitAll returns how many operations changed the registry. An operation
// that was refused is an error.
func submitAll(ctx context.Context, r *registrar.Registrar, all []ops.Operation) (changed int, err error) {
	pending := make([]*registrar.Pending, len(all))
	for i, op := range all {
		if pending[i], err = r.Submit(op); err != nil {
			return 0, fmt.Errorf("submit operation %d of %d: %w", i+1, len(all), err)
		}
	}
	for i, p := range pending {
		result, err := p.Wait(ctx)
		if err != nil {
			return 0, fmt.Errorf("operation %d of %d: %w", i+1, len(all), err)
		}
		if result.Changed {
			changed++
		}
	}
	return changed, nil
}

// check compares the registry with what the storm must leave behind.
func (s storm) check(r *registry.Registry, before uint64, m sample) error {
	if want := before + uint64(s.expected(m.ops)); r.Revision() != want {
		return fmt.Errorf("the registry is at revision %d, not %d", r.Revision(), want)
	}
	if !s.changes && (m.bytes != 0 || m.batches != 0) {
		return fmt.Errorf("%d bytes in %d records were written; none were due", m.bytes, m.batches)
	}
	if s.changes && m.bytes == 0 {
		return fmt.Errorf("no byte was written")
	}
	return checkStates(r, s.leaves, m.ops)
}

// checkStates wants n agents in this state and none in another; state 0 wants
// no agent at all.
func checkStates(r *registry.Registry, state registry.State, n int) error {
	for _, s := range []registry.State{registry.Admitted, registry.Unreachable, registry.Gone} {
		want := 0
		if s == state {
			want = n
		}
		if r.Len(s) != want {
			return fmt.Errorf("%d agents are %v, not %d", r.Len(s), s, want)
		}
	}
	return nil
}
