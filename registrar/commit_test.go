package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// waiting reports, once every goroutine of the bubble rests, whether p has no
// answer yet.
func waiting(p *registrar.Pending) bool {
	ctx, cancel := context.WithCancel(context.Background())
	answered := make(chan struct{})
	go func() { p.Wait(ctx); close(answered) }()
	synctest.Wait()
	select {
	case <-answered:
		cancel()
		return false
	default:
		cancel()
		<-answered
		return true
	}
}

func TestOperationIsVisibleAndAnsweredOnlyOnceDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		p := submit(t, r, admit("a"))
		if !waiting(p) {
			t.Error("answered before its record is durable")
		}
		wantAgents(t, r.Snapshot())
		release(nil)
		if got, err := p.Wait(t.Context()); err != nil || got != (registrar.Result{Revision: 1, Changed: true}) {
			t.Errorf("answer is %+v, %v", got, err)
		}
		wantAgents(t, r.Snapshot(), "a admitted")
	})
}

// TestWhoHasAnAnswerSeesTheOperation lets thousands wait for one batch: the
// first of them look while the last are not answered yet.
func TestWhoHasAnAnswerSeesTheOperation(t *testing.T) {
	g := &gate{Store: store.NewMemory()}
	r := open(t, g, registrar.Options{})
	for round := range 10 {
		release := g.hold()
		var waiters sync.WaitGroup
		for i := range 4000 {
			op := admit(fmt.Sprint(round, " ", i))
			p := submit(t, r, op)
			waiters.Go(func() {
				if _, err := p.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if _, known := r.Snapshot().Entry(op.Agent.ID); !known {
					t.Errorf("agent %q was answered for and is not there", op.Agent.ID)
				}
			})
		}
		release(nil)
		waiters.Wait()
		if t.Failed() {
			return
		}
	}
}

func TestOperationsThatWaitBecomeOneRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{InFlight: 1})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		var all []*registrar.Pending
		for i := range 2 { // one with the publisher, one appended behind it
			all = append(all, submit(t, r, admit(fmt.Sprint("first", i))))
			synctest.Wait()
		}
		for i := range 1000 {
			all = append(all, submit(t, r, admit(fmt.Sprint("then", i))))
		}
		synctest.Wait()
		release(nil)
		for i, p := range all {
			if got, err := p.Wait(t.Context()); err != nil || got.Revision != uint64(i+1) {
				t.Fatalf("operation %d ended with %+v, %v", i, got, err)
			}
		}
		if got := r.Stats(); got.Records != 3 || got.Batches != 3 || got.Applied != 1002 {
			t.Errorf("%d batches, %d records, %d applied; want 3, 3, 1002", got.Batches, got.Records, got.Applied)
		}
	})
}

func TestNextBatchIsDecidedOnTheOneUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		first := submit(t, r, admit("a"))
		synctest.Wait()
		second := submit(t, r, admit("a"))
		third := submit(t, r, ops.Readmit{Agent: admit("a").Agent})
		if n := g.appended(); n != 2 { // the epoch's and the first
			t.Errorf("%d records appended, want 2: nothing else changes anything", n)
		}
		if !waiting(third) {
			t.Error("an operation that changes nothing is answered before what it rests on is durable")
		}
		release(nil)
		if _, err := first.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := second.Wait(t.Context()); !errors.Is(err, ops.ErrAdmitted) {
			t.Errorf("second admission ended with %v", err)
		}
		if got, err := third.Wait(t.Context()); err != nil || got != (registrar.Result{Revision: 1}) {
			t.Errorf("unchanged readmission ended with %+v, %v", got, err)
		}
		if got := r.Stats(); got.Applied != 1 || got.Refused != 1 || got.Unchanged != 1 || got.Records != 1 {
			t.Errorf("applied %d, refused %d, unchanged %d, records %d; want 1 each", got.Applied, got.Refused, got.Unchanged, got.Records)
		}
	})
}

var errHalfDone = errors.New("half done")

// halfDone is an operation of an embedder that gives up after a change.
type halfDone struct{}

func (halfDone) Apply(d *registry.Draft) error {
	d.DeleteAgent("b")
	return errHalfDone
}

func TestRefusalLeavesTheRestOfItsBatchAlone(t *testing.T) {
	r := open(t, store.NewMemory(), registrar.Options{})
	var all []*registrar.Pending
	for _, op := range []ops.Operation{admit("a"), ops.Remove{ID: "nobody"}, admit("b"), halfDone{}} {
		all = append(all, submit(t, r, op))
	}
	wants := []error{nil, ops.ErrNotAdmitted, nil, nil}
	for i, p := range all[:3] {
		if _, err := p.Wait(t.Context()); !errors.Is(err, wants[i]) {
			t.Errorf("operation %d ended with %v, want %v", i, err, wants[i])
		}
	}
	var field *registry.FieldError
	if _, err := all[3].Wait(t.Context()); err != errHalfDone {
		t.Errorf("an operation that gave up half way ended with %v", err)
	}
	if _, err := r.Submit(admit("")); !errors.As(err, &field) || field.Field != "id" {
		t.Errorf("an admission without an ID ended with %v", err)
	}
	wantAgents(t, r.Snapshot(), "a admitted", "b admitted")
}

func TestBatchIsCutByOperationsAndByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			o       registrar.Options
			records uint64
		}{
			{registrar.Options{InFlight: 1, MaxBatch: 10}, 2 + 10},
			{registrar.Options{InFlight: 1, MaxBatchBytes: 1}, 2 + 100},
		} {
			g := &gate{Store: store.NewMemory()}
			r := open(t, g, c.o)
			synctest.Wait() // the first record of the epoch is durable
			release := g.hold()
			for i := range 2 {
				submit(t, r, admit(fmt.Sprint("first", i)))
				synctest.Wait()
			}
			var last *registrar.Pending
			for i := range 100 {
				last = submit(t, r, admit(fmt.Sprint("then", i)))
			}
			release(nil)
			if _, err := last.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := r.Stats().Records; got != c.records {
				t.Errorf("%+v: %d records, want %d", c.o, got, c.records)
			}
		}
	})
}

// flood is an operation that changes more than a record may hold.
type flood struct{ agents int }

func (f flood) Apply(d *registry.Draft) error {
	for i := range f.agents {
		a := registry.Agent{ID: registry.AgentID(fmt.Sprint("flood", i)), Payload: make([]byte, 1<<19)}
		if err := d.PutAgent(a, registry.Status{State: registry.Admitted}); err != nil {
			return err
		}
	}
	return nil
}

func TestOperationThatDoesNotFitIntoARecordIsRefusedAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 35 MiB about")
	}
	r := open(t, store.NewMemory(), registrar.Options{MaxQueueBytes: 2000})
	if _, err := r.Apply(t.Context(), flood{70}); !errors.Is(err, registrar.ErrTooLarge) {
		t.Errorf("an operation of 35 MiB ended with %v", err)
	}
	apply(t, r, admit("a"))
	wantAgents(t, r.Snapshot(), "a admitted")
	apply(t, r, flood{60})
	big := admit("b")
	big.Agent.Payload = make([]byte, 2000)
	if _, err := r.Submit(big); !errors.Is(err, registrar.ErrTooLarge) || !errors.Is(err, registrar.ErrNotApplied) {
		t.Errorf("an operation above the bound of the queue ended with %v", err)
	}
}

// failing is what a sync can end with, and what that means.
var failing = []struct {
	sync, first, second error
}{
	{errDisk, registrar.ErrUnknown, registrar.ErrUnknown},
	{fmt.Errorf("%w: %w", store.ErrNotWritten, errDisk), registrar.ErrNotApplied, registrar.ErrNotApplied},
	{store.ErrFenced, registrar.ErrNotApplied, registrar.ErrNotApplied},
}

func TestFailedSyncEndsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range failing {
			g := &gate{Store: store.NewMemory()}
			r := open(t, g, registrar.Options{})
			synctest.Wait() // the first record of the epoch is durable
			apply(t, r, admit("before"))
			release := g.hold()
			first := submit(t, r, admit("a"))
			synctest.Wait()
			second, refused := submit(t, r, admit("b")), submit(t, r, admit("a"))
			synctest.Wait()
			release(c.sync)
			if _, err := first.Wait(t.Context()); !errors.Is(err, c.first) || !errors.Is(err, c.sync) {
				t.Errorf("%v: first ended with %v", c.sync, err)
			}
			if _, err := second.Wait(t.Context()); !errors.Is(err, c.second) {
				t.Errorf("%v: second ended with %v", c.sync, err)
			}
			if _, err := refused.Wait(t.Context()); !errors.Is(err, registrar.ErrNotApplied) || errors.Is(err, ops.ErrAdmitted) {
				t.Errorf("%v: refused for what was lost, it ended with %v", c.sync, err)
			}
			if _, err := r.Apply(t.Context(), admit("later")); !errors.Is(err, registrar.ErrFailed) || !errors.Is(err, registrar.ErrNotApplied) || !errors.Is(err, c.sync) {
				t.Errorf("%v: later ended with %v", c.sync, err)
			}
			wantAgents(t, r.Snapshot(), "before admitted")
			if err := r.Stats().Failed; !errors.Is(err, c.sync) {
				t.Errorf("%v: Stats says %v", c.sync, err)
			}
			if err := r.Close(); !errors.Is(err, c.sync) {
				t.Errorf("%v: Close says %v", c.sync, err)
			}
		}
	})
}

// refusing is a store that is open for reading only.
type refusing struct{ store.Store }

func (refusing) Append(r store.Record) (func() error, error) {
	return nil, fmt.Errorf("append record %d: %w", r.Seq, store.ErrReadOnly)
}

func TestStoreThatTakesNothingIsNamedOnce(t *testing.T) {
	r := open(t, refusing{store.NewMemory()}, registrar.Options{})
	defer r.Close()
	_, err := r.Apply(t.Context(), admit("a"))
	want := "begin epoch 1: append record 1: " + store.ErrReadOnly.Error()
	if !errors.Is(err, registrar.ErrFailed) || !errors.Is(err, registrar.ErrNotApplied) || !strings.HasSuffix(err.Error(), ": "+want) {
		t.Errorf("got error %v, want %v and at its end %q", err, registrar.ErrFailed, want)
	}
	if strings.Count(err.Error(), "append record") != 1 {
		t.Errorf("error %q says twice what was done", err)
	}
}

func TestFailedAppendEndsTheEngineAndNothingOfItsBatchIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		g := &gate{Store: m}
		r := open(t, g, registrar.Options{MaxBatch: 1})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		first := submit(t, r, admit("a"))
		synctest.Wait()
		g.mu.Lock() // no append before both are submitted: the first that fails ends the engine
		g.append = errDisk
		second, third := submit(t, r, admit("b")), submit(t, r, admit("c"))
		g.mu.Unlock()
		synctest.Wait()
		release(nil)
		if _, err := first.Wait(t.Context()); err != nil {
			t.Errorf("what was appended before ended with %v", err)
		}
		for _, p := range []*registrar.Pending{second, third} {
			if _, err := p.Wait(t.Context()); !errors.Is(err, registrar.ErrNotApplied) || !errors.Is(err, errDisk) {
				t.Errorf("ended with %v", err)
			}
		}
		r.Close()
		wantAgents(t, open(t, m.Reopen(), registrar.Options{}).Snapshot(), "a admitted")
	})
}

func TestFullQueueRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for bound, o := range map[string]registrar.Options{
			"5 operations": {InFlight: 1, MaxQueue: 5},
			"1500 bytes":   {InFlight: 1, MaxQueueBytes: 1500},
		} {
			g := &gate{Store: store.NewMemory()}
			r := open(t, g, o)
			synctest.Wait() // the first record of the epoch is durable
			release := g.hold()
			for i := range 2 {
				submit(t, r, admit(fmt.Sprint(i)))
				synctest.Wait()
			}
			var err error
			var last *registrar.Pending
			n := 0
			for ; err == nil; n++ {
				var p *registrar.Pending
				if p, err = r.Submit(ops.Remove{ID: "x"}); err == nil {
					last = p
				}
			}
			if !errors.Is(err, registrar.ErrOverloaded) || !errors.Is(err, registrar.ErrNotApplied) || !strings.Contains(err.Error(), bound[:4]) {
				t.Errorf("%s: the queue is full with %v", bound, err)
			}
			if n != 5+1 {
				t.Errorf("%s: refused at submission %d, want 6", bound, n)
			}
			release(nil)
			if _, err := last.Wait(t.Context()); !errors.Is(err, ops.ErrNotAdmitted) {
				t.Errorf("%s: the last that was taken ended with %v", bound, err)
			}
			apply(t, r, admit("room again"))
		}
	})
}

func TestEndOfContextTakesOutWhatNoBatchHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{InFlight: 1})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		taken := submit(t, r, admit("taken"))
		synctest.Wait()
		submit(t, r, admit("blocks the writer"))
		synctest.Wait()
		out := submit(t, r, admit("out"))
		if _, err := out.Wait(ctx); !errors.Is(err, registrar.ErrNotApplied) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("what no batch had ended with %v", err)
		}
		if _, err := taken.Wait(ctx); !errors.Is(err, registrar.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("what a batch had ended with %v", err)
		}
		release(nil)
		if got, err := taken.Wait(t.Context()); err != nil || !got.Changed {
			t.Errorf("asked again, it is %+v, %v", got, err)
		}
		if _, err := out.Wait(ctx); !errors.Is(err, registrar.ErrNotApplied) || errors.Is(err, registrar.ErrUnknown) {
			t.Errorf("with another context that ended, what was taken out ended with %v", err)
		}
		if _, err := out.Wait(t.Context()); !errors.Is(err, registrar.ErrNotApplied) {
			t.Errorf("asked again, what was taken out ended with %v", err)
		}
		apply(t, r, admit("last"))
		wantAgents(t, r.Snapshot(), "taken admitted", "blocks the writer admitted", "last admitted")
	})
}

func TestProvenanceIsBounded(t *testing.T) {
	r := open(t, store.NewMemory(), registrar.Options{})
	for field, q := range map[string]registrar.Request{
		"request.id":        {Operation: admit("a"), ID: strings.Repeat("x", 129)},
		"request.principal": {Operation: admit("a"), Principal: "\xff"},
		"request.reason":    {Operation: admit("a"), Reason: strings.Repeat("x", 4097)},
		"request.operation": {Operation: &registrar.Request{Operation: admit("a")}},
	} {
		for _, op := range []ops.Operation{q, &q} {
			var got *registry.FieldError
			if _, err := r.Submit(op); !errors.As(err, &got) || got.Field != field {
				t.Errorf("%s: error of a %T is %v", field, op, err)
			}
		}
	}
	if _, err := r.Submit(nil); !errors.Is(err, registrar.ErrNotApplied) {
		t.Errorf("submitting nothing: %v", err)
	}
	if _, err := r.Submit(registrar.Request{}); !errors.Is(err, registrar.ErrNotApplied) {
		t.Errorf("a request for nothing: %v", err)
	}
	apply(t, r, registrar.Request{Operation: admit("a"), ID: "q1", Principal: "ops", Reason: "new rack"})
	wantAgents(t, r.Snapshot(), "a admitted")
}

func TestCloseAnswersWhatItTookAndRefusesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		g := &gate{Store: m}
		r := open(t, g, registrar.Options{InFlight: 1})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		var all []*registrar.Pending
		for i := range 10 {
			all = append(all, submit(t, r, admit(fmt.Sprint(i))))
		}
		closed := make(chan error)
		go func() { closed <- r.Close() }()
		go func() { closed <- r.Close() }()
		synctest.Wait()
		if _, err := r.Apply(t.Context(), admit("late")); !errors.Is(err, registrar.ErrClosed) || !errors.Is(err, registrar.ErrNotApplied) {
			t.Errorf("submitted after Close, it ended with %v", err)
		}
		release(nil)
		for range 2 {
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
		for _, p := range all {
			if _, err := p.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got := open(t, m.Reopen(), registrar.Options{}).Snapshot().Len(registry.Admitted); got != 10 {
			t.Errorf("%d agents after reopening, want 10", got)
		}
	})
}

// fill is an operation whose rows take almost this many bytes.
func fill(name string, size int) does {
	return func(d *registry.Draft) error {
		end := len(d.Rows()) + size - 500
		for i := 0; len(d.Rows()) < end; i++ {
			a := registry.Agent{ID: registry.AgentID(fmt.Sprint(name, i)), Payload: make([]byte, min(1<<19, end-len(d.Rows())))}
			if err := d.PutAgent(a, registry.Status{State: registry.Admitted}); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestTwoOperationsOfTheLargestSizeFitIntoARecord: what is told beside their
// rows must not make the record larger than a store takes.
func TestTwoOperationsOfTheLargestSizeFitIntoARecord(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 64 MiB about")
	}
	synctest.Test(t, func(t *testing.T) {
		const most = 32<<20 - 8<<10
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{MaxBatchBytes: most})
		block := make(chan struct{})
		all := []*registrar.Pending{submit(t, r, does(func(*registry.Draft) error { <-block; return nil }))}
		synctest.Wait() // the writer waits: what follows is one batch
		long := strings.Repeat("r", 4096)
		for i, name := range []string{"a", "b"} { // the first does not end the batch
			all = append(all, submit(t, r, registrar.Request{
				Operation: fill(name, most-6000*(1-i)), ID: strings.Repeat(name, 128), Principal: long[:255], Reason: long,
			}))
		}
		close(block)
		for i, p := range all {
			if _, err := p.Wait(t.Context()); err != nil {
				t.Errorf("operation %d ended with %v", i, err)
			}
		}
		largest := 0
		for _, rec := range g.records {
			largest = max(largest, len(rec.Data))
		}
		if largest > store.MaxData || largest < 2*most-15000 {
			t.Errorf("the largest record has %d bytes, a store takes %d", largest, store.MaxData)
		}
		r.Close()
	})
}
