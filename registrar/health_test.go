package registrar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// watched is a gate that says of its disk what the test wants.
type watched struct {
	*gate
	condition store.Condition // set while the engine rests
}

var _ store.Watched = (*watched)(nil)

func (w *watched) Room() error                { return w.condition.Full }
func (w *watched) Condition() store.Condition { return w.condition }

func newWatched() *watched { return &watched{gate: &gate{Store: store.NewMemory()}} }

func TestOnAFullDiskNothingIsAddedAndTheRestIsDone(t *testing.T) {
	s := newWatched()
	r := open(t, s, registrar.Options{})
	for _, id := range []string{"stays", "goes", "lost", "broken"} {
		apply(t, r, admit(id))
	}
	apply(t, r, ops.Put{Table: "t", Key: "k", Value: "v"})
	apply(t, r, ops.MarkUnreachable{ID: "lost", At: time.Unix(1, 0)})
	full := fmt.Errorf("%w: 1 byte is free", store.ErrDiskFull)
	s.condition.Full = full

	adds := map[string]ops.Operation{
		"admit":   admit("new"),
		"readmit": ops.Readmit{Agent: registry.Agent{ID: "unheard", Hostname: "h"}},
		"a key":   ops.Put{Table: "t", Key: "k2", Value: "v"},
		"request": registrar.Request{Operation: admit("asked"), ID: "r1"},
		"some": does(func(d *registry.Draft) error {
			return errors.Join(ops.Remove{ID: "goes"}.Apply(d), admit("x").Apply(d), admit("y").Apply(d))
		}),
	}
	before := r.Snapshot()
	for name, op := range adds {
		_, err := r.Apply(t.Context(), op)
		if !errors.Is(err, registrar.ErrDiskFull) || !errors.Is(err, registrar.ErrNotApplied) || !strings.Contains(err.Error(), "1 byte is free") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if r.Snapshot() != before || r.Stats().NoRoom != uint64(len(adds)) {
		t.Errorf("the registry has changed, or %d operations were counted as refused, want %d", r.Stats().NoRoom, len(adds))
	}
	if _, err := r.Apply(t.Context(), admit("stays")); !errors.Is(err, ops.ErrAdmitted) {
		t.Errorf("what is refused anyway has its own reason: got %v", err)
	}
	for name, op := range map[string]ops.Operation{
		"remove": ops.Remove{ID: "goes"}, "come back": ops.Readmit{Agent: registry.Agent{ID: "lost", Hostname: "h-lost"}},
		"gone": ops.MarkGone{ID: "broken", At: time.Unix(2, 0)}, "a key again": ops.Put{Table: "t", Key: "k", Value: "w"},
	} {
		if got := apply(t, r, op); !got.Changed {
			t.Errorf("%s changed nothing", name)
		}
	}
	apply(t, r, ops.Prune{Gone: []registry.AgentID{"broken"}})
	wantAgents(t, r.Snapshot(), "stays admitted", "lost admitted")

	s.condition.Full = nil
	apply(t, r, registrar.Request{Operation: admit("asked"), ID: "r1"}) // the refusal was not remembered
	wantAgents(t, r.Snapshot(), "stays admitted", "lost admitted", "asked admitted")
}

// TestARefusalForSpaceTakesNothingElseOutOfItsBatch: the others of one group
// are decided as if it were not there.
func TestARefusalForSpaceTakesNothingElseOutOfItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		r := open(t, s, registrar.Options{})
		apply(t, r, admit("a"))
		apply(t, r, admit("b"))
		release := s.hold()
		s.condition.Full = store.ErrDiskFull
		pending := []*registrar.Pending{
			submit(t, r, ops.Remove{ID: "a"}), submit(t, r, admit("c")), submit(t, r, ops.Remove{ID: "b"}),
		}
		if _, err := pending[1].Wait(t.Context()); !errors.Is(err, registrar.ErrDiskFull) { // at once, while the disk is at work
			t.Errorf("admit: got error %v", err)
		}
		if !waiting(pending[0]) || !waiting(pending[2]) {
			t.Error("answered before it is durable")
		}
		release(nil)
		for _, i := range []int{0, 2} {
			if _, err := pending[i].Wait(t.Context()); err != nil {
				t.Errorf("operation %d: %v", i, err)
			}
		}
		wantAgents(t, r.Snapshot())
	})
}

// named are the names of them, and the state.
func named(h registrar.Health) string {
	names := []string{string(h.State)}
	for _, r := range h.Reasons {
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

func TestHealthHasAReasonForWhatTheStoreSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		r := open(t, s, registrar.Options{})
		broken := errors.New("no space left on device")
		for _, c := range []struct {
			condition store.Condition
			want      string
			text      string // of the first reason
		}{
			{store.Condition{Free: 5, Total: 6}, "healthy", ""},
			{store.Condition{Full: errors.New("disk is full")}, "degraded disk_full", "disk is full"},
			{store.Condition{Low: errors.New("nearly full")}, "degraded disk_low", "nearly full"},
			{store.Condition{Stalled: time.Unix(60, 0)}, "degraded stalled", "records wait for room in the memory of the store since 1970-01-01T00:01:00Z"},
			{store.Condition{Failing: broken, Failures: 7}, "degraded background_errors", "the store cannot write in the background, and tries again (7 times so far)"},
			{store.Condition{Failures: 7}, "healthy", ""},
			{store.Condition{WitnessBehind: time.Second - 1, UnwitnessedRecords: 3}, "healthy", ""},
			{store.Condition{WitnessBehind: time.Second, UnwitnessedRecords: 3}, "degraded witness_behind",
				"the witness is 1s and 3 records behind: were the disk to lose them, nobody would notice"},
			{store.Condition{WitnessBehind: time.Second, Failing: broken, Stalled: time.Unix(60, 0), Full: broken},
				"degraded disk_full stalled background_errors witness_behind", broken.Error()},
		} {
			s.condition = c.condition
			h := r.Health()
			text := ""
			if len(h.Reasons) > 0 {
				text = h.Reasons[0].Text
			}
			if named(h) != c.want || text != c.text || h.Storage != c.condition {
				t.Errorf("%+v: it is %s, %q, want %s, %q", c.condition, named(h), text, c.want, c.text)
			}
		}
	})
}

func TestHealthSaysWhyTheEngineStopped(t *testing.T) {
	s := newWatched()
	r := open(t, s, registrar.Options{})
	apply(t, r, admit("a"))
	s.hold()(errDisk)
	s.condition.Full = errors.New("disk is full")
	if _, err := r.Apply(t.Context(), ops.Remove{ID: "a"}); !errors.Is(err, registrar.ErrUnknown) {
		t.Fatal(err)
	}
	h := r.Health()
	if named(h) != "latched latched disk_full" || !strings.Contains(h.Reasons[0].Text, errDisk.Error()) {
		t.Errorf("got %+v", h)
	}
}

// TestHealthKnowsHowOldACheckpointIs also when none can be written.
func TestHealthKnowsHowOldACheckpointIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{CheckpointBytes: 1 << 10})
		grow := func() {
			for i := range 100 {
				apply(t, r, ops.Put{Table: "t", Key: "k", Value: fmt.Sprintf("%050d", i)})
			}
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if h := r.Health(); h.CheckpointAge != time.Hour || h.State != registrar.Healthy {
			t.Errorf("before the first: %+v", h)
		}
		grow()
		time.Sleep(time.Minute)
		h := r.Health()
		if h.CheckpointAge.Round(time.Second) != time.Minute || named(h) != "healthy" {
			t.Errorf("%s, age %v", named(h), h.CheckpointAge)
		}
		g.compact = errDisk
		grow()
		if h := r.Health(); named(h) != "degraded checkpoint_late" || h.CheckpointBehind < 5000 {
			t.Errorf("%s, %d bytes behind", named(h), h.CheckpointBehind)
		}
		g.compact = nil
		if err := r.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		if h := r.Health(); named(h) != "healthy" || h.CheckpointAge != 0 || h.CheckpointBehind != 0 {
			t.Errorf("%s, age %v, %d bytes behind", named(h), h.CheckpointAge, h.CheckpointBehind)
		}
	})
}

func TestEveryReasonHasItsPlace(t *testing.T) {
	all := registrar.Reasons()
	if slices.Sort(all); len(slices.Compact(all)) != 8 {
		t.Errorf("got %v", all)
	}
}

// openTold is open with a log.
func openTold(t *testing.T, s store.Store, o registrar.Options) (*registrar.Registrar, *bytes.Buffer) {
	t.Helper()
	var text bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn}))
	r, err := registrar.Open(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, &text
}

// slowly makes one operation durable in so long.
func slowly(t *testing.T, g *gate, r *registrar.Registrar, op ops.Operation, took time.Duration) {
	t.Helper()
	release := g.hold()
	p := submit(t, r, op)
	time.Sleep(took)
	release(nil)
	if _, err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestASlowBatchIsLoggedOnceInTenSecondsWithTheStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r, text := openTold(t, g, registrar.Options{SlowAfter: 500 * time.Millisecond})
		synctest.Wait()
		slowly(t, g, r, admit("quick"), 499*time.Millisecond)
		if text.Len() > 0 {
			t.Errorf("the log has %s", text)
		}
		for i := range 10 { // the first and the eighth are told
			slowly(t, g, r, admit(fmt.Sprint(i)), 1500*time.Millisecond)
		}
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if len(lines) != 2 || r.Stats().SlowBatches != 10 {
			t.Fatalf("%d slow batches, the log has\n%s", r.Stats().SlowBatches, text)
		}
		for i, want := range []string{"seq=3 slow=1", "seq=10 slow=7"} {
			if l := lines[i]; !strings.Contains(l, `msg="slow batch" stage=synced took=1.5s queued=0s decided=0s written=0s synced=1.5s operations=1`) || !strings.HasSuffix(l, want) {
				t.Errorf("line %d is %s", i+1, l)
			}
		}
	})
}

// TestASlowBatchNamesTheStageThatTookLongest when it is not the disk: then
// health has nothing to say of it.
func TestASlowBatchNamesTheStageThatTookLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, text := openTold(t, store.NewMemory(), registrar.Options{})
		apply(t, r, does(func(*registry.Draft) error { time.Sleep(2 * time.Second); return nil }))
		synctest.Wait()
		if !strings.Contains(text.String(), "stage=decided took=2s") || named(r.Health()) != "healthy" {
			t.Errorf("it is %s, the log has %s", named(r.Health()), text)
		}
		text.Reset()
		time.Sleep(time.Minute)
		slow := submit(t, r, does(func(*registry.Draft) error { time.Sleep(900 * time.Millisecond); return nil }))
		synctest.Wait() // it is being decided
		submit(t, r, does(func(*registry.Draft) error { time.Sleep(200 * time.Millisecond); return nil }))
		slow.Wait(t.Context())
		time.Sleep(time.Second)
		synctest.Wait()
		if !strings.Contains(text.String(), "stage=queued took=1.1s") {
			t.Errorf("the log has %s", text)
		}
	})
}

func TestASlowDiskDegradesHealthForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{})
		synctest.Wait()
		release := g.hold()
		p := submit(t, r, admit("a"))
		time.Sleep(time.Second - 1)
		if h := r.Health(); h.State != registrar.Healthy || h.OldestUnsynced != time.Second-1 {
			t.Errorf("before a second: %+v", h)
		}
		time.Sleep(time.Second)
		h := r.Health()
		if named(h) != "degraded slow" || h.Reasons[0].Text != "the store has not made a record durable for 2s" {
			t.Errorf("while it waits: %+v", h)
		}
		release(nil)
		p.Wait(t.Context())
		synctest.Wait()
		time.Sleep(time.Minute - 1)
		h = r.Health()
		if named(h) != "degraded slow" || h.Reasons[0].Text != "within the last minute a record took 2s to become durable" || h.OldestUnsynced != 0 {
			t.Errorf("within a minute: %+v", h)
		}
		time.Sleep(time.Nanosecond)
		if h := r.Health(); h.State != registrar.Healthy {
			t.Errorf("after a minute: %+v", h)
		}
	})
}

// TestADiskThatDoesNotAnswerEndsTheEngine: a write that hangs returns no error.
// All that is under way ends unknown, and what the disk says later changes
// nothing.
func TestADiskThatDoesNotAnswerEndsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{HungAfter: 5 * time.Second, InFlight: 2})
		apply(t, r, admit("a"))
		release := g.hold()
		var all []*registrar.Pending
		for i := range 5 { // two are in flight, a third waits in the writer's hands
			all = append(all, submit(t, r, admit(fmt.Sprint(i))))
			synctest.Wait()
		}
		start := time.Now()
		for i, p := range all {
			_, err := p.Wait(t.Context())
			if want := registrar.ErrUnknown; i < 3 && !errors.Is(err, want) || i >= 3 && !errors.Is(err, registrar.ErrNotApplied) {
				t.Errorf("operation %d ended with %v", i, err)
			}
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		const why = "record 3 is not durable after 5s: the disk does not answer"
		if h := r.Health(); named(h) != "latched latched slow" || h.Reasons[0].Text != why {
			t.Errorf("got %+v", h)
		}
		if _, err := r.Submit(ops.Remove{ID: "a"}); !errors.Is(err, registrar.ErrFailed) {
			t.Errorf("a later operation ended with %v", err)
		}
		if err := r.Close(); err == nil || err.Error() != why { // it does not wait
			t.Errorf("close says %v", err)
		}
		release(nil)
		synctest.Wait()
		wantAgents(t, r.Snapshot(), "a admitted")
	})
}

// TestADiskThatAnswersInTimeEndsNothing, however often it is slow.
func TestADiskThatAnswersInTimeEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		held := g.hold()
		r := open(t, g, registrar.Options{HungAfter: 5 * time.Second})
		first := submit(t, r, admit("a"))
		time.Sleep(30*5*time.Second - 1) // the first record of an epoch may take thirty times as long
		if h := r.Health(); named(h) != "degraded slow" {
			t.Errorf("while it begins: %+v", h)
		}
		held(nil)
		if _, err := first.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			slowly(t, g, r, admit(fmt.Sprint(i)), 5*time.Second-1)
		}
		if h := r.Health(); h.State != registrar.Degraded {
			t.Errorf("got %+v", h)
		}
	})
}

// TestADiskThatHangsFromTheBeginningEndsTheEngine, and whoever waits behind the
// first record is answered.
func TestADiskThatHangsFromTheBeginningEndsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		release := g.hold()
		start := time.Now()
		r := open(t, g, registrar.Options{HungAfter: 5 * time.Second})
		if _, err := submit(t, r, admit("a")).Wait(t.Context()); !errors.Is(err, registrar.ErrUnknown) {
			t.Errorf("what waits behind the first record ends with %v", err)
		}
		if took := time.Since(start); took != 150*time.Second {
			t.Errorf("it took %v", took)
		}
		if err := r.Close(); err == nil || err.Error() != "record 1 is not durable after 2m30s: the disk does not answer" {
			t.Errorf("close says %v", err)
		}
		release(nil)
		synctest.Wait()
	})
}

// TestAnAppendThatHangsFailsTheEngine: its caller is answered once the store is.
func TestAnAppendThatHangsFailsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hangs{Store: store.NewMemory(), until: make(chan struct{})}
		r := open(t, s, registrar.Options{HungAfter: 5 * time.Second})
		synctest.Wait()
		p := submit(t, r, admit("a"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if h := r.Health(); named(h) != "latched latched slow" {
			t.Errorf("got %+v", h)
		}
		close(s.until)
		if _, err := p.Wait(t.Context()); err != nil {
			t.Errorf("it became durable after all, and ended with %v", err)
		}
	})
}

// hangs is a store whose second Append hangs.
type hangs struct {
	store.Store
	appended int
	until    chan struct{}
}

func (h *hangs) Append(r store.Record) (func() error, error) {
	if h.appended++; h.appended == 2 {
		<-h.until
	}
	return h.Store.Append(r)
}
