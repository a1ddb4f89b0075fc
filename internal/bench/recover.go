package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/registry"
)

// killed lets another process open the store, work on it, and be killed.
func (r *round) killed(ctx context.Context) (Outcome, error) {
	v := Victim{Dir: r.store(), Agents: r.agents(), AgentBytes: r.agentBytes}
	left, err := kill(ctx, r.victim(ctx), v)
	if err != nil {
		return left, fmt.Errorf("phase recover: %w", err)
	}
	return left, nil
}

// recovered opens the store and measures that alone: from the directory to the
// first snapshot. The files are in the page cache, as they are after a crash of
// the process, though not of the machine. What is recovered must be what was
// left.
func (r *round) recovered(ctx context.Context, phase string, left Outcome) (*engine, error) {
	meter := startMeter()
	e, err := openEngine(ctx, r.store(), r.agents(), r.record)
	took, cpu := meter.stop()
	if err != nil {
		return nil, fmt.Errorf("phase %s: %w", phase, err)
	}
	if err := e.begun(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if err := left.check(e.Snapshot(), r.agents()); err != nil {
		return nil, errors.Join(fmt.Errorf("phase %s: %w", phase, err), e.close())
	}
	if err := r.keepLive(e.Snapshot()); err != nil {
		return nil, errors.Join(err, e.close())
	}
	r.keep(phase, sample{
		phase: phase, ops: r.agents(),
		seconds: took.Seconds(), cpu: cpu.Seconds(),
		batches: uint64(e.Recovery().Records), bytes: uint64(r.learned.live.bytes),
		heap: liveHeap(),
	})
	return e, nil
}

// check compares what was recovered with what the killed process had
// acknowledged. Opening writes a record, but changes nothing.
func (o Outcome) check(r *registry.Registry, agents int) error {
	if got := (Outcome{r.Revision(), r.Count(), r.Digest().String()}); got != o {
		return fmt.Errorf("recovered %+v, not %+v", got, o)
	}
	return checkStates(r, registry.Admitted, agents)
}
