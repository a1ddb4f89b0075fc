package registrar

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// Request is an operation with its provenance, which is written down with what
// it changed. Hand it to [Registrar.Apply] like any operation.
type Request struct {
	ops.Operation
	// ID names the request, at most 128 bytes, so that it can be sent again
	// when its outcome is not known: of all requests with one ID only the first
	// is decided, and the others get its answer, also after a crash and
	// whatever their operation is. [Options.MaxRequests] of the latest are
	// remembered. What was not taken into a batch ([ErrNotApplied], which is
	// about this sending alone: an earlier one may have been), or refused by
	// Submit already, is not. A request with an ID is written down even if it
	// changes nothing.
	ID string
	// Principal says who asks; at most 255 bytes.
	Principal string
	// Reason says why; at most 4096 bytes.
	Reason string
}

func (q *Request) validate() error {
	if _, nested := asRequest(q.Operation); nested {
		return &registry.FieldError{Field: "request.operation", Reason: "is a request itself; whose provenance holds?"}
	}
	for _, f := range [...]struct {
		name, text string
		most       int
	}{{"request.id", q.ID, 128}, {"request.principal", q.Principal, 255}, {"request.reason", q.Reason, 4096}} {
		if len(f.text) > f.most {
			return &registry.FieldError{Field: f.name, Reason: fmt.Sprintf("has %d bytes, at most %d are allowed", len(f.text), f.most)}
		}
		if !utf8.ValidString(f.text) {
			return &registry.FieldError{Field: f.name, Reason: "is not valid UTF-8"}
		}
	}
	return nil
}

// Result is what became of an operation that was not refused. Beside an error
// it says nothing.
type Result struct {
	// Revision is that of the registry right after the operation.
	Revision uint64
	// Changed is false if there was nothing to change.
	Changed bool
}

// Pending is an operation under way.
type Pending struct {
	op ops.Operation
	// about is the agent that the operation says it is about.
	about registry.AgentID
	by    *provenance
	at    time.Duration // when it was submitted, since the registrar was opened
	size  int64
	// holder decides between a batch and the end of a context: whoever
	// changes it from nobody has the operation, and ends it.
	holder atomic.Uint32
	// done is nil until somebody waits or the operation ends, whichever comes
	// first; closed means it ended, and result and err are set.
	done   atomic.Pointer[chan struct{}]
	result Result
	err    error
	// repeated says that result and err are those of an earlier request with
	// the same ID.
	repeated bool
}

func (p *Pending) requestID() string {
	if p.by == nil {
		return ""
	}
	return p.by.requestID
}

// Who has a pending operation.
const (
	nobody uint32 = iota
	aBatch
	aWaiter // who takes it out
)

// take gives the operation to a holder, if nobody has it yet.
func (p *Pending) take(holder uint32) bool { return p.holder.CompareAndSwap(nobody, holder) }

// ended is the done of every operation that nobody was waiting for.
var ended = func() *chan struct{} {
	c := make(chan struct{})
	close(c)
	return &c
}()

// Wait returns what became of the operation once that is durable, as
// [Registrar.Apply] does. If ctx ends first, it takes the operation out, or, if
// a batch has it already, stops waiting: then the outcome is [ErrUnknown] to
// this call, and a later Wait can still learn it. Any number may wait.
func (p *Pending) Wait(ctx context.Context) (Result, error) {
	done := p.done.Load()
	if done == nil {
		c := make(chan struct{})
		if done = &c; !p.done.CompareAndSwap(nil, done) {
			done = p.done.Load()
		}
	}
	select {
	case <-*done:
		return p.result, p.err
	default:
	}
	select {
	case <-*done:
		return p.result, p.err
	case <-ctx.Done():
	}
	if p.take(aWaiter) {
		p.end(Result{}, notApplied(context.Cause(ctx)))
	}
	if p.holder.Load() == aWaiter {
		<-*done // at once: this waiter or another has taken it out
		return p.result, p.err
	}
	select {
	case <-*done: // both at once
		return p.result, p.err
	default:
		return Result{}, unknown(context.Cause(ctx))
	}
}

// end is called once, by whoever took the operation.
func (p *Pending) end(result Result, err error) {
	p.result, p.err = result, err
	if done := p.done.Swap(ended); done != nil {
		close(*done)
	}
}

// Apply makes op durable and returns what became of it. See the package comment
// for the outcomes, and [Pending.Wait] for what the end of ctx means.
func (r *Registrar) Apply(ctx context.Context, op ops.Operation) (Result, error) {
	p, err := r.Submit(op)
	if err != nil {
		return Result{}, err
	}
	return p.Wait(ctx)
}

// Submit queues op and returns at once. Operations are decided in the order
// in which they were submitted. The registrar may read op until it is answered;
// the caller must not change it meanwhile.
//
// An error is [ErrNotApplied], with [ErrOverloaded], [ErrClosed] or
// [ErrFailed], or a refusal for a field that is not acceptable
// ([*registry.FieldError]).
func (r *Registrar) Submit(op ops.Operation) (*Pending, error) {
	p := &Pending{op: op, size: pendingSize}
	if q, ok := asRequest(op); ok {
		if err := q.validate(); err != nil {
			return nil, err
		}
		p.op, p.by = q.Operation, &provenance{q.ID, q.Principal, q.Reason}
		p.size += int64(len(q.ID) + len(q.Principal) + len(q.Reason))
	}
	if p.op == nil {
		return nil, notApplied(errors.New("there is no operation"))
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if err := r.queue.add(p, r.opened); err != nil {
		return nil, err
	}
	return p, nil
}

func asRequest(op ops.Operation) (q Request, ok bool) {
	switch o := op.(type) {
	case Request:
		return o, true
	case *Request:
		if o != nil {
			q = *o
		}
		return q, true
	}
	return q, false
}

// prepare asks the operation all that it can say without a draft. Where it
// panics, as a nil pointer does, that refuses it.
func (p *Pending) prepare() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = notApplied(fmt.Errorf("operation panicked: %v", cause))
		}
	}()
	if op, ok := p.op.(ops.Preparer); ok {
		if p.op, err = op.Prepare(); err != nil {
			return err
		}
	}
	if s, ok := p.op.(ops.Sized); ok {
		p.size += int64(s.Size())
	}
	if t, ok := p.op.(ops.Targeted); ok {
		p.about = t.Target()
	}
	return nil
}

// pendingSize is what an operation takes beside what it says of its size.
const pendingSize = 256
