package registrar

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// batch is the operations of one record on their way from the writer to the
// publisher.
type batch struct {
	pending []*Pending
	next    point // what is so once the batch is durable
	// wait waits for the disk; nil for a batch that has nothing to tell, which is
	// answered once those before it are.
	wait  func() error
	bytes int
	stage stages
	began time.Time // when it went to the store
	// settled is true once somebody answers it: the publisher, or the watchdog.
	settled atomic.Bool
	hung    error // why the watchdog did; set before it settles
}

// point is a registry and its place in the store.
type point struct {
	registry *registry.Registry
	mark     store.Mark
	logged   int64 // bytes of all records since the registrar was opened
}

// write is the writer: gather, decide, append; the publisher does the rest. It
// begins with the first record of the epoch, and ends when the queue is closed and empty.
//
// A batch costs one record, its bytes encoded once and copied twice (into the
// record, into the store's batch), and per operation that changes an agent one
// allocation for the entry, another if what the agent says of itself is new,
// and its share of the copied nodes of the registry.
func (r *Registrar) write(first *batch) {
	defer close(r.inFlight)
	returned := false
	defer func() {
		if !returned {
			r.deserted()
		}
	}()
	if err := r.append(first); err != nil {
		r.fail(fmt.Errorf("begin epoch %d: %w", first.next.mark.Epoch, err))
	} else {
		r.inFlight <- first
	}
	var spare []*Pending
	for {
		taken, open := r.queue.take(spare[:0])
		if !open {
			returned = true
			return
		}
		r.taken = taken
		for rest := taken; len(rest) > 0; {
			rest = r.commit(rest)
		}
		spare = taken
	}
}

// deserted answers everybody after an operation has ended the writer's
// goroutine with runtime.Goexit, which nothing can stop. Nobody is left to
// decide, so that is a failure of the engine.
func (r *Registrar) deserted() {
	cause := errors.New("an operation ended the goroutine that decided it (runtime.Goexit)")
	r.fail(cause)
	r.batch.abandon(notApplied(cause), cause)
	r.refuse(slices.DeleteFunc(r.taken, func(p *Pending) bool { return p == nil }), cause)
	for {
		taken, open := r.queue.take(nil)
		if !open {
			return
		}
		r.refuse(taken, cause)
	}
}

// commit makes one batch from the front of waiting, sends it on its way, and
// returns what the batch did not take.
func (r *Registrar) commit(waiting []*Pending) (rest []*Pending) {
	if err := r.failure(); err != nil {
		r.refuse(waiting, err)
		return nil
	}
	b, rest := r.decide(waiting)
	if err := r.append(b); err != nil {
		r.fail(err)
		b.abandon(notApplied(err), err)
		return rest
	}
	if len(b.pending) > 0 {
		r.inFlight <- b
	}
	return rest
}

// decide applies operations from the front of waiting to a draft, until the
// batch is full.
func (r *Registrar) decide(waiting []*Pending) (b *batch, rest []*Pending) {
	start := time.Now()
	b = &batch{pending: make([]*Pending, 0, min(len(waiting), r.options.MaxBatch)), next: r.decided}
	r.batch = b
	d := r.draft
	d.Reset(r.decided.registry)
	r.record.reset()
	r.full = r.room()
	n, bytes := 0, int64(0)
	full := func() bool {
		return len(b.pending) == r.options.MaxBatch ||
			r.record.n > 0 && len(d.Rows())+r.record.len() >= r.options.MaxBatchBytes
	}
	for ; n < len(waiting) && !full(); n++ {
		if n%readAhead == 0 {
			r.readAhead(waiting[n:min(n+readAhead, len(waiting))])
		}
		p := waiting[n]
		waiting[n] = nil
		bytes += p.size
		if !p.take(aBatch) { // its caller stopped waiting
			continue
		}
		b.pending = append(b.pending, p)
		if r.try(p); r.full != nil && p.err == r.full {
			b.pending = b.pending[:len(b.pending)-1]
			r.stats.noRoom()
			p.end(Result{}, notApplied(r.full)) // at once: it rests on nothing that is under way
		}
	}
	r.queue.decided(n, bytes)
	if r.record.n > 0 {
		b.next.registry = d.Freeze()
	}
	if len(b.pending) > 0 {
		b.stage.queued = start.Sub(r.opened) - b.pending[0].at
	}
	b.stage.decided = time.Since(start)
	return b, waiting[n:]
}

// room is nil, or why nothing may be added.
func (r *Registrar) room() error {
	if w, ok := r.store.(store.Watched); ok {
		return w.Room()
	}
	return nil
}

// readAhead is how many operations the writer looks ahead for the agents that
// they are about; 16 does as well, 256 worse.
const readAhead = 64

func (r *Registrar) readAhead(coming []*Pending) {
	r.ids = r.ids[:0]
	for _, p := range coming {
		if p.about != "" {
			r.ids = append(r.ids, p.about)
		}
	}
	r.draft.Expect(r.ids)
}

// maxOperation is the most bytes that the changes of one operation may take: a
// batch that was not full before it still fits into a record.
const maxOperation = store.MaxData/2 - recordHead

// recordHead is room for the head of a record and for what it tells of one
// operation beside its rows: provenance and refusal.
const recordHead = 8 << 10

// try decides one operation. On a full disk none that leaves more entries than
// there were: a rule about what is done, so that it holds for operations of
// embedders too. Such a refusal is not remembered, since it does not last.
func (r *Registrar) try(p *Pending) {
	id := p.requestID()
	if a, known := r.requests.find(id); known {
		p.result, p.err, p.repeated = a.result(), a.err, true
		return
	}
	before := r.draft.Changes()
	p.result.Changed, p.err = r.draft.Try(func(d *registry.Draft) error {
		start, count := len(d.Rows()), d.Count()
		if err := p.op.Apply(d); err != nil {
			return err
		}
		if n := len(d.Rows()) - start; n > maxOperation {
			return fmt.Errorf("%w: its changes take %d bytes, at most %d are allowed; split it", ErrTooLarge, n, maxOperation)
		}
		if r.full != nil && d.Count() > count {
			return r.full
		}
		return nil
	})
	if r.full != nil && p.err == r.full {
		return
	}
	p.result.Revision = r.draft.Revision()
	if p.result.Changed || id != "" {
		r.tell(p, r.draft.Changes()-before, id)
	}
}

// tell puts an operation into the record, and remembers its answer if it is a
// request with an ID.
func (r *Registrar) tell(p *Pending, rows int, id string) {
	o := told{rows: uint64(rows), refusal: newRefusal(p.err)}
	if p.by != nil {
		o.by = *p.by
	}
	r.record.operation(o)
	if id != "" {
		r.requests.add(&answer{
			id: id, seq: r.decided.mark.Seq + 1, revision: p.result.Revision, changed: p.result.Changed,
			refusal: o.refusal, err: o.refusal.err(),
		})
	}
}

// append hands what the batch has to tell to the store, as the next record.
func (r *Registrar) append(b *batch) error {
	if b.next.registry == r.decided.registry {
		return nil
	}
	start := time.Now()
	last := r.decided.mark
	reg := b.next.registry
	b.next.mark = store.Mark{
		Seq: last.Seq + 1, Epoch: last.Epoch, Revision: reg.Revision(),
		Count: reg.Count(), Digest: reg.Digest(),
	}
	data := r.record.finish(r.recovery.Identity.History, last.Epoch, r.options.Now(), r.draft.Rows())
	b.began = start
	r.watchdog.appending.Store(b)
	callOff := r.guard(b, r.fail) // the writer answers, whenever it has b back
	wait, err := r.store.Append(store.Record{Mark: b.next.mark, First: last.Revision + 1, Data: data})
	callOff()
	r.watchdog.appending.Store(nil)
	if err != nil {
		return err // the store names the record
	}
	b.wait, b.bytes = wait, len(data)
	b.next.logged += int64(len(data))
	b.stage.written = time.Since(start)
	r.decided = b.next
	return nil
}

// publish is the publisher: for each batch in order it waits for the disk,
// makes the registry visible, and answers.
func (r *Registrar) publish() {
	defer close(r.published)
	var broken error // why a record is not known to be durable, once one is not
	for b := range r.inFlight {
		start := time.Now()
		err := r.await(b)
		if !b.settle() { // it took too long
			broken = cmp.Or(broken, b.hung)
			continue
		}
		if err != nil {
			err = fmt.Errorf("make record %d durable: %w", b.next.mark.Seq, err)
			r.fail(err)
			broken = cmp.Or(broken, err)
			b.abandon(outcome(err), err)
			continue
		}
		if broken != nil {
			b.abandon(unknown(broken), broken)
			continue
		}
		b.stage.synced = time.Since(start)
		if b.wait != nil {
			r.current.Store(&b.next)
			r.requests.settle(b.next.mark.Seq)
			r.bell.ring()
			if r.options.Stored != nil {
				r.options.Stored(b.stage.written + b.stage.synced)
			}
		}
		if len(b.pending) == 0 {
			continue // the first of the epoch
		}
		r.looksAt(b)
		r.stats.committed(b) // before the answers, so that who has one finds it counted
		for _, p := range b.pending {
			p.end(p.result, p.err)
		}
		b.stage.answered = time.Since(start) - b.stage.synced
		r.stats.answered(b)
		r.logBatch(b)
		r.checkpoints.due(b.next.logged)
	}
}

func (r *Registrar) await(b *batch) error {
	if b.wait == nil {
		return nil
	}
	r.watchdog.waiting.Store(b)
	defer r.watchdog.waiting.Store(nil)
	defer r.guard(b, func(cause error) { r.giveUp(b, cause) })()
	return b.wait()
}

// abandon ends the operations of a batch that did not become durable, for this
// cause: those that were accepted with lost. Those that were refused do not end
// with their reason, since that may rest on what was lost. What the first
// sending of a repeated request did is not known either.
func (b *batch) abandon(lost, cause error) {
	for _, p := range b.pending {
		switch {
		case p.repeated:
			p.end(Result{}, unknown(cause))
		case p.err == nil:
			p.end(Result{}, lost)
		default:
			p.end(Result{}, notApplied(cause))
		}
	}
}

// refuse ends operations that no batch will take any more.
func (r *Registrar) refuse(waiting []*Pending, cause error) {
	bytes := int64(0)
	for _, p := range waiting {
		bytes += p.size
		if p.take(aBatch) {
			p.end(Result{}, failed(cause))
		}
	}
	r.queue.decided(len(waiting), bytes)
}

// logBatch is the three lines that Mesos's registrar logged for each store, in
// one.
func (r *Registrar) logBatch(b *batch) {
	log := r.options.Logger
	if !log.Enabled(r.lifetime, slog.LevelDebug) {
		return
	}
	s := &b.stage
	log.Debug("batch committed", "operations", len(b.pending), "seq", b.next.mark.Seq, "revision", b.next.mark.Revision,
		"bytes", b.bytes, "queued", s.queued, "decided", s.decided, "written", s.written, "synced", s.synced, "answered", s.answered)
}
