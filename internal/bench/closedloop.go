package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
)

// loop is the phase in which each client waits for its Admit before the next.
type loop struct{ clients int }

var loops = []loop{{1}, {64}}

// loopAdmits bounds how many Admits one client makes. More do not make the
// percentiles better, and one client alone does some five thousand a second.
const loopAdmits = 10_000

func (l loop) name() string { return "closed_loop-" + strconv.Itoa(l.clients) }

// run lets the clients admit new agents until there is one for each agent of
// the workload, or loopAdmits for each client. First is the number of the
// first of them: the loops of a round admit different agents.
func (l loop) run(ctx context.Context, e *engine, w *workload, first int) (sample, error) {
	m, err := l.measure(ctx, e, w, first)
	if err != nil {
		return m, fmt.Errorf("phase closed_loop, %d clients: %w", l.clients, err)
	}
	m.heap = liveHeap()
	return m, nil
}

func (l loop) measure(ctx context.Context, e *engine, w *workload, first int) (sample, error) {
	all := make([]ops.Operation, min(len(w.order), loopAdmits*l.clients))
	for i := range all {
		all[i] = ops.Admit{Agent: w.agent(first+i, 0)}
	}
	m := sample{phase: "closed_loop", clients: l.clients, ops: len(all)}
	count := e.Snapshot().Count()
	batches, bytes := e.written()
	meter := startMeter()
	latencies, err := l.applyAll(ctx, e.Registrar, all)
	took, cpu := meter.stop()
	if err != nil {
		return m, err
	}
	if got := e.Snapshot().Count() - count; got != uint64(len(all)) {
		return m, fmt.Errorf("%d agents were admitted, not %d", got, len(all))
	}
	m.seconds, m.cpu = took.Seconds(), cpu.Seconds()
	m.p50, m.p99 = quantile(latencies, 0.50), quantile(latencies, 0.99)
	m.batches, m.bytes = e.written()
	m.batches -= batches
	m.bytes -= bytes
	return m, nil
}

// applyAll returns how long each operation took, from the call to its answer.
// The first operation that fails ends the loop.
func (l loop) applyAll(ctx context.Context, r *registrar.Registrar, all []ops.Operation) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	latencies := make([]time.Duration, len(all))
	var next atomic.Int64
	var clients sync.WaitGroup
	for range l.clients {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				began := time.Now()
				if _, err := r.Apply(ctx, all[i]); err != nil {
					cancel(fmt.Errorf("admit %d of %d: %w", i+1, len(all), err))
				}
				latencies[i] = time.Since(began)
			}
		})
	}
	clients.Wait()
	return latencies, context.Cause(ctx)
}
