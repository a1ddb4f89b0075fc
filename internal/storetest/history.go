package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/eaba02dc/registrar/registrar/store"
)

// history: with a history behind the newest two checkpoints, a third and a
// fourth stay, until the history has passed them.
func history(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 90, 1)
	wantOldest(t, s, store.Mark{})
	for seq := uint64(10); seq <= 50; seq += 10 {
		compact(t, s, MarkAt(seq, 1), Chunks(int(seq/10)), 15)
	}
	wantPlaces(t, s, 10, 50, 90)
	closeStore(t, s)
	s = open()
	wantPlaces(t, s, 10, 50, 90)
	compact(t, s, MarkAt(60, 1), Chunks(6), 30) // the checkpoint at record 30 itself is enough
	wantPlaces(t, s, 30, 60, 90)
	compact(t, s, MarkAt(70, 1), Chunks(7), 12) // what was let go does not come back
	wantPlaces(t, s, 30, 70, 90)
	compact(t, s, MarkAt(70, 1), Chunks(7), 59) // the same checkpoint, a shorter history
	wantPlaces(t, s, 50, 70, 90)
	compact(t, s, MarkAt(80, 1), Chunks(8), 90) // no history: the newest two
	wantPlaces(t, s, 70, 80, 90)
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	wantPlaces(t, s, 70, 80, 90)
}

// wantPlaces checks that every place from oldest to last can be read and none
// before, where checkpoints stand at every tenth record up to newest.
func wantPlaces(t *testing.T, s store.Store, oldest, newest, last uint64) {
	t.Helper()
	wantOldest(t, s, MarkAt(oldest, 1))
	for seq := oldest; seq <= last; seq++ {
		at := min(seq/10*10, newest)
		wantCheckpointAt(t, s, seq, MarkAt(at, 1), Chunks(int(at/10)))
	}
	wantRecords(t, s, oldest, last, 1)
	for _, revision := range []uint64{0, oldest - 1} {
		wantLetGo(t, s, revision, MarkAt(oldest, 1))
	}
}

func wantOldest(t *testing.T, s store.Store, want store.Mark) {
	t.Helper()
	if got := s.Oldest(); got != want {
		t.Fatalf("the oldest place is %+v, want %+v", got, want)
	}
}

// wantLetGo checks what a store answers about a revision, and the records after
// the one of that number, which it has let go.
func wantLetGo(t *testing.T, s store.Store, revision uint64, oldest store.Mark) {
	t.Helper()
	mark, chunks, err := s.Checkpoint(context.Background(), revision)
	wantCompacted(t, err, oldest)
	if mark != (store.Mark{}) {
		t.Fatalf("the error comes with a checkpoint: %+v", mark)
	}
	for range chunks {
		t.Fatal("the error comes with a chunk")
	}
	got, err := Collect(s.Records(context.Background(), revision))
	wantCompacted(t, err, oldest)
	if len(got) != 0 {
		t.Fatalf("%d records came before the error", len(got))
	}
}

func wantCompacted(t *testing.T, err error, oldest store.Mark) {
	t.Helper()
	var compacted *store.CompactedError
	if !errors.As(err, &compacted) || !errors.Is(err, store.ErrCompacted) {
		t.Fatalf("got error %v, want a CompactedError", err)
	}
	if compacted.Oldest != oldest || compacted.What == "" {
		t.Fatalf("%q was let go, and the oldest place is %+v, want %+v", compacted.What, compacted.Oldest, oldest)
	}
}

// nothingToSpare: one checkpoint makes nothing dispensable, nor do two of which
// none is at or before keepAfter.
func nothingToSpare(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 40, 1)
	compact(t, s, MarkAt(10, 1), Chunks(1), 40)
	compact(t, s, MarkAt(20, 1), Chunks(2), 9)
	compact(t, s, MarkAt(30, 1), Chunks(3), 0)
	for range 2 {
		wantOldest(t, s, store.Mark{})
		wantRecords(t, s, 0, 40, 1)
		wantCheckpointAt(t, s, 9, store.Mark{}, nil)
		wantCheckpointAt(t, s, 0, store.Mark{}, nil)
		wantCheckpointAt(t, s, 19, MarkAt(10, 1), Chunks(1))
		closeStore(t, s)
		s = open()
	}
	closeStore(t, s)
}

func letGo(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 40, 1)
	compact(t, s, MarkAt(10, 1), Chunks(1), 0)
	compact(t, s, MarkAt(20, 1), Chunks(2), 0)
	compact(t, s, MarkAt(30, 1), Chunks(3), 25)
	for range 2 {
		for _, revision := range []uint64{0, 5, 10, 19} {
			wantLetGo(t, s, revision, MarkAt(20, 1))
		}
		wantRecords(t, s, 20, 40, 1)
		closeStore(t, s)
		s = open()
	}
	closeStore(t, s)
}

// atRevision: a revision is not a record's number. Here records move none, one,
// or many of them.
func atRevision(t *testing.T, open Opener) {
	s := open()
	defer closeStore(t, s)
	last := store.Mark{}
	for i, moved := range []uint64{0, 5, 0, 1, 1000} {
		r := Rec(uint64(i+1), 1, 10)
		r.First, r.Revision = last.Revision+1, last.Revision+moved
		durable, err := s.Append(r)
		if err != nil || durable() != nil {
			t.Fatalf("append record %d: %v", r.Seq, err)
		}
		compact(t, s, r.Mark, Chunks(i), 0)
		last = r.Mark
	}
	for _, c := range []struct {
		revision, seq uint64
	}{{0, 1}, {4, 1}, {5, 3}, {6, 4}, {7, 4}, {1005, 4}, {1006, 5}, {1 << 63, 5}} {
		mark, _, err := s.Checkpoint(context.Background(), c.revision)
		if err != nil || mark.Seq != c.seq {
			t.Fatalf("at revision %d: the checkpoint at record %d and error %v, want %d", c.revision, mark.Seq, err, c.seq)
		}
	}
}
