package master

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eaba02dc/registrar/master/link"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
)

// Master is the cluster now. Its methods may be called from any number of
// goroutines. Make one with [Start].
type Master struct {
	o         Options
	log       *slog.Logger
	registrar *registrar.Registrar
	started   time.Time
	links     *link.Table

	cur      atomic.Pointer[State] // only the loop stores it
	calls    chan func(*loop)      // what outsiders ask; full means wait
	pending  *mailbox[*change]     // from the loop to await
	outcomes *mailbox[outcome]     // from await to the loop

	traffic traffic
	mu      sync.Mutex // guards stats
	stats   Stats      // of the loop's last turn

	stop    context.CancelFunc
	awaited chan struct{} // closed when await has returned
	done    chan struct{}
	err     error // set before done is closed
}

// maxCalls is how many calls wait for the loop before their senders do.
const maxCalls = 1024

// Start starts a master on an open registrar, whose owner stays the caller:
// close it after the master. Nobody else may change agents through it; keys of
// its own an embedding program may. Start writes down who leads. Ending ctx ends
// the start, not the master.
func Start(ctx context.Context, r *registrar.Registrar, o Options) (*Master, error) {
	m, _, err := start(ctx, r, o)
	return m, err
}

func start(ctx context.Context, r *registrar.Registrar, o Options) (*Master, *loop, error) {
	started := time.Now()
	if err := o.validate(); err != nil {
		return nil, nil, err
	}
	o = o.WithDefaults()
	if _, err := r.Apply(ctx, ops.SetMaster{Master: o.MasterInfo}); err != nil {
		return nil, nil, fmt.Errorf("write down who leads: %w", err)
	}
	m := &Master{o: o, log: o.Logger, registrar: r, started: started, links: link.NewTable(),
		calls: make(chan func(*loop), maxCalls), pending: newMailbox[*change](), outcomes: newMailbox[outcome](),
		awaited: make(chan struct{}), done: make(chan struct{})}
	run, stop := context.WithCancel(context.Background())
	m.stop = stop
	l, err := newLoop(run, m)
	if err != nil {
		stop()
		return nil, nil, err
	}
	l.publish()
	if err := m.addMetrics(); err != nil {
		stop()
		return nil, nil, err
	}
	m.log.Info("master has taken over", "master", o.MasterInfo.ID, "recovered", l.recovered.Len())
	go m.await(run)
	go l.pulse.run(run, m)
	go l.run()
	return m, l, nil
}

// Close ends the master and all its streams, and waits for its goroutines. The
// registrar stays open. It returns [Master.Err], each time it is called: whoever
// has told of that already need not do so again.
func (m *Master) Close() error {
	m.stop()
	<-m.done
	return m.err
}

// Done is closed when the master has ended: it was closed, or it has failed.
// Nothing is published after.
func (m *Master) Done() <-chan struct{} { return m.done }

// Err is why the master has failed; nil while it runs, and after Close. It fails
// when its registrar does, for what is durable is not known then: open the store
// afresh, and start another.
func (m *Master) Err() error {
	select {
	case <-m.done:
		return m.err
	default:
		return nil
	}
}

// State returns the cluster as it was last published: one atomic load.
func (m *Master) State() *State { return m.cur.Load() }

// now is the age of the master, by the monotonic clock.
func (m *Master) now() time.Duration { return time.Since(m.started) }

// do has the loop do something, and waits for the answer that it gives once that
// can be seen. If ctx ends first, it is done all the same, or not.
func (m *Master) do(ctx context.Context, f func(l *loop, answer func(error))) error {
	reply := make(chan error, 1)
	call := func(l *loop) {
		f(l, func(err error) { l.tell(func() { reply <- err }) })
	}
	select {
	case <-m.done:
		return m.ended()
	default:
	}
	select {
	case m.calls <- call:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.done:
		return m.ended()
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.done:
	}
	select {
	case err := <-reply: // both at once
		return err
	default:
		return m.ended()
	}
}

func (m *Master) ended() error {
	if m.err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, m.err)
	}
	return ErrEnded
}
