package registrar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// Registrar is the only writer of a registry. Its methods may be called from
// any number of goroutines. Make one with [Open].
type Registrar struct {
	options  Options
	store    store.Store
	opened   time.Time
	recovery Recovery

	queue    queue
	requests *requests   // the writer adds to them
	inFlight chan *batch // from the writer to the publisher

	// Only the writer uses these.
	draft   *registry.Draft
	ids     []registry.AgentID // for Expect
	record  *recordWriter
	taken   []*Pending // from the queue; nil where a batch has it
	batch   *batch     // being decided, or decided last
	decided point      // what the next batch is decided on; may not be durable yet
	full    error      // why this batch may add nothing; nil while there is room

	current     atomic.Pointer[point] // always durable; only the publisher stores it
	failed      atomic.Pointer[error] // why the engine stopped; set once
	stats       statistics
	checkpoints checkpoints
	retention   retention
	watchdog    watchdog
	slow        slowness

	bell      bell          // rung when current was stored
	published chan struct{} // closed when the publisher has ended
	lifetime  context.Context
	end       context.CancelFunc
	closing   atomic.Bool
	closed    chan struct{} // closed when Close is done
	closeErr  error         // set before closed is closed
}

// Open recovers the registry from s, proves it (see [Load]), and starts the
// engine. What was recovered can be read at once. The first record that the
// engine writes begins a new epoch, so that an earlier writer, if the store can
// have one, is fenced off; it also holds Options.Master if that changed. No
// operation is answered before that record is durable; if it cannot be written,
// the engine has failed ([Stats.Failed], [ErrFailed]) and can still be read.
// Ending ctx ends the recovery, not the engine.
//
// The registrar owns s from here on: Close closes it, and so does Open if it
// fails.
func Open(ctx context.Context, s store.Store, o Options) (*Registrar, error) {
	err := o.validate()
	var r *Registrar
	if err == nil {
		r, err = open(ctx, s, o.withDefaults())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the registrar: %w", err), s.Close())
	}
	return r, nil
}

func open(ctx context.Context, s store.Store, o Options) (*Registrar, error) {
	l := newLoader(s, math.MaxUint64, newRequests(o.MaxRequests))
	if o.Follower != nil {
		var err error
		if l, err = o.Follower.handOver(ctx, s); err != nil {
			return nil, err
		}
	}
	reg, found, err := l.load(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &Registrar{
		options: o, store: s, opened: time.Now(), recovery: found,
		queue:    queue{maxOps: o.MaxQueue, maxBytes: o.MaxQueueBytes, wake: make(chan struct{}, 1)},
		inFlight: make(chan *batch, o.InFlight-1), // and one in the publisher's hands
		draft:    reg.Draft(), record: newRecordWriter(), requests: l.requests,
		published: make(chan struct{}), closed: make(chan struct{}),
	}
	recovered := point{registry: reg, mark: found.Mark}
	r.current.Store(&recovered)
	r.decided = recovered
	r.decided.mark.Epoch = max(found.Identity.Epoch, found.Mark.Epoch) + 1
	first, err := r.beginEpoch()
	if err != nil {
		return nil, err
	}
	r.checkpoints.start(found, o.CheckpointBytes)
	r.watchdog.abandoned = make(chan struct{})
	r.lifetime, r.end = context.WithCancel(context.Background())
	o.Logger.Info("registrar recovered", "history", found.Identity.History, "epoch", r.decided.mark.Epoch,
		"revision", reg.Revision(), "agents", reg.Len(registry.Admitted), "unreachable", reg.Len(registry.Unreachable),
		"gone", reg.Len(registry.Gone), "checkpoint", found.Checkpoint.Seq, "records", found.Records, "took", found.Took)
	go r.write(first)
	go r.publish()
	go r.checkpointing()
	if f, ok := s.(store.Failing); ok {
		go r.failWith(f)
	}
	return r, nil
}

// failWith stops the engine when the store has failed.
func (r *Registrar) failWith(s store.Failing) {
	select {
	case <-s.Failed():
		r.fail(s.Err())
	case <-r.lifetime.Done():
	}
}

// beginEpoch decides the record that every opening writes. It has no
// operations of callers, and is written even if it changes nothing.
func (r *Registrar) beginEpoch() (*batch, error) {
	r.draft.Reset(r.decided.registry)
	r.record.reset()
	last := r.decided.mark
	if n := r.recovery.Identity.EndedBefore(last.Seq + 1); n > 0 {
		r.draft.SkipTo(last.Revision + n*RevisionsSkipped)
	}
	if m := r.options.Master; m != nil {
		p := Pending{op: ops.SetMaster{Master: *m}}
		if r.try(&p); p.err != nil {
			return nil, p.err
		}
	}
	b := &batch{next: r.decided}
	b.next.registry = r.draft.Freeze()
	return b, nil
}

// Snapshot returns the registry as it last became durable. It costs one atomic
// load, takes no lock, and is the caller's to keep.
func (r *Registrar) Snapshot() *registry.Registry { return r.current.Load().registry }

// Recovery tells what Open found.
func (r *Registrar) Recovery() Recovery { return r.recovery }

// failure is why the engine stopped, or nil.
func (r *Registrar) failure() error {
	if err := r.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// fail stops the engine for good.
func (r *Registrar) fail(cause error) {
	if r.failed.CompareAndSwap(nil, &cause) {
		r.options.Logger.Error("registrar stopped; open the store afresh to go on", "err", cause)
	}
	r.queue.close(failed(cause))
}

// Close takes no more operations, waits until those it has taken are answered,
// writes a checkpoint if reading the log would take much longer, and closes
// the store. It returns why the engine had stopped, if it had, or what closing
// met; either takes back nothing that was answered. Later calls wait for the
// first and return the same. A store whose disk does not answer
// (Options.HungAfter) is not waited for: it is closed whenever the disk does.
func (r *Registrar) Close() error {
	if !r.closing.CompareAndSwap(false, true) {
		<-r.closed
		return r.closeErr
	}
	r.queue.close(notApplied(ErrClosed))
	select {
	case <-r.published:
	case <-r.watchdog.abandoned:
		if r.leave() {
			return r.closeErr
		}
	}
	r.end()
	<-r.checkpoints.done
	if r.failure() == nil {
		r.lastCheckpoint()
	}
	r.closeErr = r.failure()
	if err := r.store.Close(); err != nil {
		r.closeErr = errors.Join(r.closeErr, err)
	}
	close(r.closed)
	return r.closeErr
}

// leave ends without the store, which may never answer. It reports false if that
// has answered meanwhile.
func (r *Registrar) leave() bool {
	select {
	case <-r.published:
		return false
	default:
	}
	r.end()
	go r.store.Close()
	r.closeErr = r.failure()
	close(r.closed)
	return true
}
