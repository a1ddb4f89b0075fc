package registrar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
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

func TestReopenedRegistryIsTheSame(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	for _, id := range []string{"a", "b", "c", "d"} {
		apply(t, r, admit(id))
	}
	at := time.Unix(1541108605, 0)
	apply(t, r, ops.MarkUnreachable{ID: "b", At: at})
	apply(t, r, ops.Drain{ID: "c"})
	apply(t, r, ops.MarkGone{ID: "a", At: at})
	apply(t, r, ops.Remove{ID: "d"})
	want := r.Snapshot()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	m = m.Reopen()
	r = open(t, m, registrar.Options{})
	got := r.Snapshot()
	wantAgents(t, got, "a gone", "b unreachable", "c admitted")
	if got.Digest() != want.Digest() || got.Revision() != want.Revision() {
		t.Errorf("digest %v at revision %d, want %v at %d", got.Digest(), got.Revision(), want.Digest(), want.Revision())
	}
	for e := range want.Entries() {
		if again, _ := got.Entry(e.ID()); again.Since() != e.Since() {
			t.Errorf("agent %q is in its state since %d, want %d", e.ID(), again.Since(), e.Since())
		}
	}
}

func TestEveryOpeningBeginsAnEpochWithOneRecordAndNoRevision(t *testing.T) {
	m := store.NewMemory()
	for epoch := uint64(1); epoch <= 3; epoch++ {
		r := open(t, m, registrar.Options{})
		apply(t, r, ops.Prune{}) // nothing is answered before the epoch has begun
		if got := r.Stats(); got.Epoch != epoch || got.Seq != epoch || got.Revision != 0 {
			t.Errorf("opening %d has epoch %d, record %d, revision %d", epoch, got.Epoch, got.Seq, got.Revision)
		}
		r.Close()
		m = m.Reopen()
	}
}

func TestMasterIsWrittenAtRecoveryAndOnlyIfItChanged(t *testing.T) {
	m := store.NewMemory()
	for i, want := range []struct {
		id            string
		revision, seq uint64
	}{{"m1", 1, 1}, {"m1", 1, 2}, {"m2", 2, 3}} {
		r := open(t, m, registrar.Options{Master: &registry.Master{ID: want.id}})
		apply(t, r, ops.Prune{}) // nothing is answered before it is written
		got, _ := r.Snapshot().Master()
		if got.ID != want.id || r.Stats().Revision != want.revision || r.Stats().Seq != want.seq {
			t.Errorf("opening %d: master %q, revision %d, record %d; want %+v", i, got.ID, r.Stats().Revision, r.Stats().Seq, want)
		}
		r.Close()
		m = m.Reopen()
	}
}

func TestEngineThatCannotBeginAnEpochAnswersNoOperationAndCanBeRead(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	apply(t, r, admit("a"))
	r.Close()
	for name, g := range map[string]*gate{
		"append": {Store: m.Reopen(), append: errDisk},
		"sync":   {Store: m.Reopen(), sync: errDisk},
	} {
		r := open(t, g, registrar.Options{})
		wantAgents(t, r.Snapshot(), "a admitted")
		if _, err := r.Apply(t.Context(), admit("b")); !errors.Is(err, errDisk) {
			t.Errorf("%s: an operation ended with %v", name, err)
		}
		wantAgents(t, r.Snapshot(), "a admitted")
		if err := r.Close(); !errors.Is(err, errDisk) {
			t.Errorf("%s: Close says %v", name, err)
		}
	}
}

func TestUnacceptableOptionsAreRefused(t *testing.T) {
	var field *registry.FieldError
	_, err := registrar.Open(context.Background(), store.NewMemory(), registrar.Options{MaxBatch: -1})
	if !errors.As(err, &field) || field.Field != "options.MaxBatch" {
		t.Errorf("error is %v", err)
	}
	_, err = registrar.Open(context.Background(), store.NewMemory(), registrar.Options{Master: &registry.Master{}, Logger: quiet})
	if !errors.As(err, &field) || field.Field != "master.id" {
		t.Errorf("error is %v", err)
	}
}

// forged is a store that tells other records than it holds.
type forged struct {
	store.Store
	forge func(*store.Record)
}

func (f forged) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for rec, err := range f.Store.Records(ctx, after) {
			rec.Data = slices.Clone(rec.Data)
			f.forge(&rec)
			if !yield(rec, err) {
				return
			}
		}
	}
}

func TestRecoveryProvesCountDigestAndOrder(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	apply(t, r, admit("a"))
	apply(t, r, admit("b"))
	r.Close()
	m = m.Reopen()
	mismatch := func(err error) bool { var e *registrar.MismatchError; return errors.As(err, &e) && e.Want.Seq == 2 }
	record := func(reason string) func(error) bool {
		return func(err error) bool {
			var e *registrar.RecordError
			return errors.As(err, &e) && e.Seq == 2 && strings.Contains(e.Err.Error(), reason) &&
				!errors.Is(err, registry.ErrVersion) && strings.HasSuffix(err.Error(), "restore a backup")
		}
	}
	newer := func(err error) bool {
		var e *registrar.RecordError
		return errors.Is(err, registry.ErrVersion) && !errors.As(err, &e) && strings.Contains(err.Error(), "record 2: ")
	}
	row := func(err error) bool {
		var e *registry.CorruptError
		return record(`decode entry "/"`)(err) && errors.As(err, &e) && e.Key == "/"
	}
	key := []byte{1, 0xa1, 'a', 0xc4} // in the table of agents
	at := func(change func(*store.Record)) func(*store.Record) {
		return func(rec *store.Record) {
			if rec.Seq == 2 {
				change(rec)
			}
		}
	}
	for name, c := range map[string]struct {
		forge func(*store.Record)
		want  func(error) bool
	}{
		"nothing":       {func(*store.Record) {}, func(err error) bool { return err == nil }},
		"count":         {at(func(r *store.Record) { r.Count++ }), mismatch},
		"digest":        {at(func(r *store.Record) { r.Digest[3] ^= 1 }), mismatch},
		"content":       {at(func(r *store.Record) { r.Data[len(r.Data)-1] ^= 1 }), mismatch},
		"first":         {at(func(r *store.Record) { r.First++ }), record("revisions 2 to 1 for 1 operations, after revision 0")},
		"revision":      {at(func(r *store.Record) { r.Revision++ }), record("revisions 1 to 2 for 1 operations, after revision 0")},
		"epoch":         {at(func(r *store.Record) { r.Epoch++ }), record("of epoch 2 in the store, it says epoch 1, after epoch 1")},
		"format":        {at(func(r *store.Record) { r.Data[0] = 2 }), newer},
		"another store": {at(func(r *store.Record) { r.Data[3] ^= 1 }), record("belongs to history ")},
		"cut":           {at(func(r *store.Record) { r.Data = r.Data[:len(r.Data)-1] }), record("bytes announced, ")},
		"empty":         {at(func(r *store.Record) { r.Data = nil }), record("at byte 0: the bytes end too early")},
		"row":           {at(func(r *store.Record) { r.Data[bytes.Index(r.Data, key)+2] = '/' }), row},
	} {
		reg, _, err := registrar.Load(context.Background(), forged{m, c.forge})
		if !c.want(err) {
			t.Errorf("%s: error is %v", name, err)
		}
		if err != nil && reg != nil {
			t.Errorf("%s: there is a registry beside the error", name)
		}
	}
}

func TestEndOfContextEndsRecovery(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	apply(t, r, admit("a"))
	r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := registrar.Open(ctx, m.Reopen(), registrar.Options{Logger: quiet}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestCheckpointIsWrittenWhenTheLogOutgrowsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{CheckpointBytes: 1, HistoryRecords: 1})
		want := []uint64{}
		for i := range 20 {
			apply(t, r, admit(fmt.Sprint(i)))
			for range 3 {
				apply(t, r, ops.MarkUnreachable{ID: registry.AgentID(fmt.Sprint(i)), At: time.Unix(int64(i+1), 0)})
				apply(t, r, ops.Readmit{Agent: admit(fmt.Sprint(i)).Agent})
			}
			synctest.Wait()
			time.Sleep(time.Second) // of the bubble: the checkpointer rests between chunks
			synctest.Wait()
		}
		for i, keep := range g.kept {
			if i == 0 {
				want = append(want, 0)
			} else {
				want = append(want, g.covers[i-1])
			}
			_ = keep
		}
		if len(g.covers) < 3 || len(g.covers) > 60 {
			t.Errorf("%d checkpoints for 140 records", len(g.covers))
		}
		if !slices.Equal(g.kept, want) {
			t.Errorf("records are let go up to %v, want %v: those of the checkpoint before", g.kept, want)
		}
		if got := r.Stats().Checkpoints; got != uint64(len(g.covers)) {
			t.Errorf("Stats counts %d checkpoints, want %d", got, len(g.covers))
		}
		digest := r.Snapshot().Digest()
		r.Close()
		m := g.Store.(*store.Memory).Reopen()
		again := open(t, m, registrar.Options{})
		if again.Snapshot().Digest() != digest || again.Recovery().Checkpoint.Seq == 0 {
			t.Errorf("recovered digest %v from checkpoint %d, want %v", again.Snapshot().Digest(), again.Recovery().Checkpoint.Seq, digest)
		}
	})
}

func TestRegistryThatWasEmptiedKeepsItsRevisionInACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{CheckpointBytes: 1})
		apply(t, r, admit("a"))
		apply(t, r, ops.Remove{ID: "a"})
		time.Sleep(time.Second) // of the bubble: the checkpointer rests between chunks
		synctest.Wait()
		apply(t, r, admit("b"))
		apply(t, r, ops.Remove{ID: "b"})
		time.Sleep(time.Second)
		synctest.Wait()
		r.Close()
		again := open(t, g.Store.(*store.Memory).Reopen(), registrar.Options{})
		if got := again.Recovery(); got.Checkpoint.Seq == 0 {
			t.Error("no checkpoint was written")
		}
		if got := apply(t, again, admit("c")); got.Revision != 5 {
			t.Errorf("the next operation makes revision %d, want 5", got.Revision)
		}
	})
}

func TestFailedCheckpointHarmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory(), compact: errDisk}
		r := open(t, g, registrar.Options{CheckpointBytes: 1})
		for i := range 20 {
			apply(t, r, admit(fmt.Sprint(i)))
			synctest.Wait()
		}
		if got := r.Stats(); got.CheckpointFailures == 0 || got.Checkpoints != 0 || got.Failed != nil {
			t.Errorf("%d failures, %d checkpoints, engine stopped by %v", got.CheckpointFailures, got.Checkpoints, got.Failed)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got := open(t, g.Store.(*store.Memory).Reopen(), registrar.Options{}).Snapshot().Len(registry.Admitted); got != 20 {
			t.Errorf("%d agents after reopening, want 20", got)
		}
	})
}

func TestCloseWritesACheckpointIfThereIsMuchToReplay(t *testing.T) {
	g := &gate{Store: store.NewMemory()}
	r := open(t, g, registrar.Options{})
	big := admit("big")
	big.Agent.Payload = make([]byte, 300<<10)
	apply(t, r, big)
	r.Close()
	if !slices.Equal(g.covers, []uint64{2}) {
		t.Errorf("checkpoints cover %v, want [2]", g.covers)
	}
	again := open(t, g.Store.(*store.Memory).Reopen(), registrar.Options{})
	if got := again.Recovery(); got.Records != 0 || got.Checkpoint.Seq != 2 {
		t.Errorf("recovery replayed %d records after checkpoint %d", got.Records, got.Checkpoint.Seq)
	}
}
