package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// watching is a watch under way, of which a test takes one event after another.
type watching struct {
	t    testing.TB
	next func() (registrar.Event, error, bool)
	d    *registry.Draft // what the watcher has built so far
}

func watch(t testing.TB, r *registrar.Registrar, from registrar.Position) *watching {
	next, stop := iter.Pull2(r.Watch(t.Context(), from))
	t.Cleanup(stop)
	return &watching{t: t, next: next, d: registry.New().Draft()}
}

// event takes the next event in, and returns it as text.
func (w *watching) event() string {
	w.t.Helper()
	e, err, ok := w.next()
	if err != nil || !ok {
		return fmt.Sprint("end: ", err)
	}
	if e.Resync != nil {
		w.d = e.Resync.Draft()
		return fmt.Sprintf("resync %d: %v", e.Revision, agents(e.Resync))
	}
	if err := w.d.Redo(e.Operation.Rows, e.Revision); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%d: %v", e.Revision, changes(w.t, e.Operation.Rows))
}

func (w *watching) want(texts ...string) {
	w.t.Helper()
	for _, want := range texts {
		if got := w.event(); got != want {
			w.t.Errorf("event is %s, want %s", got, want)
		}
	}
}

func position(r *registrar.Registrar, revision uint64) registrar.Position {
	return registrar.Position{History: r.Recovery().Identity.History, Revision: revision}
}

func TestWatchYieldsEveryChangeInOrderAsItBecomesDurable(t *testing.T) {
	r := open(t, store.NewMemory(), registrar.Options{})
	apply(t, r, admit("a"))
	fromNowhere, fromStart, fromHere := watch(t, r, registrar.Position{}), watch(t, r, position(r, 0)), watch(t, r, position(r, 1))
	fromNowhere.want("resync 1: [a admitted]")
	fromStart.want("1: [+a admitted]")
	apply(t, r, ops.MarkGone{ID: "a", At: time.Unix(1, 0)})
	apply(t, r, request("q", ops.Prune{})) // no change: no event
	apply(t, r, ops.Replace{Old: "a", Agent: admit("b").Agent})
	for _, w := range []*watching{fromNowhere, fromStart, fromHere} {
		w.want("2: [+a gone]", "3: [-agents a +b admitted]")
	}
}

func TestWatchSeesNothingBeforeItIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		submit(t, r, admit("a"))
		events := make(chan string, 1)
		w := watch(t, r, position(r, 0))
		go func() { events <- w.event() }()
		synctest.Wait()
		if len(events) > 0 {
			t.Errorf("event before the record is durable: %s", <-events)
		}
		release(nil)
		if got := <-events; got != "1: [+a admitted]" {
			t.Errorf("event is %s", got)
		}
		r.Close()
	})
}

// eager is a store in which a record can be read before it is said to be
// durable, which it is when held is closed.
type eager struct {
	store.Store
	held chan struct{}
}

func (e *eager) Append(r store.Record) (durable func() error, err error) {
	wait, err := e.Store.Append(r)
	if err == nil {
		err = wait()
	}
	held := e.held
	return func() error {
		if held != nil {
			<-held
		}
		return nil
	}, err
}

func TestWatchEndsAtWhatIsVisibleThoughTheStoreHasMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &eager{Store: store.NewMemory()}
		r := open(t, e, registrar.Options{})
		apply(t, r, admit("a"))
		synctest.Wait() // the writer rests
		e.held = make(chan struct{})
		submit(t, r, admit("b"))
		synctest.Wait()
		w := watch(t, r, position(r, 0))
		w.want("1: [+a admitted]")
		events := make(chan string, 1)
		go func() { events <- w.event() }()
		synctest.Wait()
		early := len(events) > 0
		close(e.held)
		if got := <-events; early || got != "2: [+b admitted]" {
			t.Errorf("event is %s, before it is visible: %v", got, early)
		}
		r.Close()
	})
}

func TestWatchOfWhatIsNotThereBeginsWithAResync(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{CheckpointBytes: 1, HistoryRecords: 1})
	apply(t, r, admit("a"))
	for name, from := range map[string]registrar.Position{
		"nowhere":         {},
		"another history": {History: store.HistoryID{1}, Revision: 1},
		"the future":      position(r, 2),
	} {
		if got := watch(t, r, from).event(); got != "resync 1: [a admitted]" {
			t.Errorf("%s: event is %s", name, got)
		}
	}
}

func TestWatcherThatIsTooSlowIsResynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		r := open(t, m, registrar.Options{CheckpointBytes: 1, HistoryRecords: 1})
		apply(t, r, admit("first"))
		w := watch(t, r, position(r, 0))
		w.want("1: [+first admitted]")
		for i := range 20 {
			apply(t, r, admit(fmt.Sprint(i)))
			time.Sleep(time.Second) // of the bubble: the checkpointer rests between chunks
			synctest.Wait()
		}
		if oldest := m.Oldest().Revision; oldest <= 2 {
			t.Fatalf("nothing was let go: the oldest is revision %d", oldest)
		}
		if got := w.event(); got != fmt.Sprintf("resync 21: %v", agents(r.Snapshot())) {
			t.Errorf("event is %s", got)
		}
		apply(t, r, admit("last"))
		w.want("22: [+last admitted]")
		r.Close()
	})
}

func TestWatchEndsWithItsContextAndWithTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{})
		ctx, cancel := context.WithCancelCause(context.Background())
		ends := make(chan error, 2)
		follow := func(ctx context.Context) {
			for _, err := range r.Watch(ctx, position(r, 0)) {
				ends <- err
			}
		}
		go follow(ctx)
		synctest.Wait()
		why := errors.New("enough")
		cancel(why)
		if err := <-ends; !errors.Is(err, why) {
			t.Errorf("watch ended with %v", err)
		}
		go follow(context.Background())
		release := g.hold()
		submit(t, r, admit("a"))
		synctest.Wait()
		release(errDisk)
		if err := <-ends; !errors.Is(err, registrar.ErrFailed) || !errors.Is(err, errDisk) {
			t.Errorf("watch of a failed engine ended with %v", err)
		}
		r.Close()
		closed := open(t, store.NewMemory(), registrar.Options{})
		closed.Close()
		w := watch(t, closed, position(closed, 0))
		w.want("end: watch after revision 0: registrar is closed")
	})
}

// TestWatchFromAnywhereLeadsToTheRegistry opens one store again and again, and
// watches from every revision it ever had.
func TestWatchFromAnywhereLeadsToTheRegistry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &kept{m: store.NewMemory(), all: []*registry.Registry{registry.New()}}
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			k.live(t)
		}
		r, err := registrar.Open(context.Background(), k.m, registrar.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for from, start := range k.all {
			k.follow(t, r, uint64(from), start)
		}
	})
}

// follow watches from a revision until it comes to the last.
func (k *kept) follow(t *rapid.T, r *registrar.Registrar, from uint64, start *registry.Registry) {
	last := uint64(len(k.all) - 1)
	if from == last {
		return
	}
	d, seen := start.Draft(), from
	for e, err := range r.Watch(context.Background(), position(r, from)) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Resync != nil && (seen != from || from >= k.m.Oldest().Revision):
			t.Fatalf("resync at revision %d, from %d on, with %d the oldest kept", e.Revision, from, k.m.Oldest().Revision)
		case e.Resync != nil:
			d = e.Resync.Draft()
		case e.Revision != seen+1:
			t.Fatalf("revision %d after %d", e.Revision, seen)
		default:
			if err := d.Redo(e.Operation.Rows, e.Revision); err != nil {
				t.Fatal(err)
			}
		}
		if seen = e.Revision; d.Digest() != k.all[seen].Digest() {
			t.Fatalf("what was watched from revision %d to %d is not the registry", from, seen)
		}
		if seen == last {
			return
		}
	}
}

func TestCloseDoesNotWaitForReadersOfTheLog(t *testing.T) {
	r := open(t, store.NewMemory(), registrar.Options{})
	apply(t, r, admit("a"))
	apply(t, r, admit("b"))
	for _, err := range r.Log(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWatcherThatIsBehindLearnsThatTheEngineWasClosed(t *testing.T) {
	r := open(t, store.NewMemory(), registrar.Options{})
	apply(t, r, admit("a"))
	w := watch(t, r, position(r, 0))
	w.want("1: [+a admitted]")
	apply(t, r, admit("b"))
	r.Close()
	if got := w.event(); got != "end: watch after revision 1: registrar is closed" {
		t.Errorf("event is %s", got)
	}
}
