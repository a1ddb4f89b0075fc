package storetest

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/eaba02dc/registrar/registrar/store"
)

func empty(t *testing.T, open Opener) {
	s := open()
	defer closeStore(t, s)
	wantRecords(t, s, 0, 0, 0)
	wantCheckpoint(t, s, store.Mark{}, nil)
	id := s.Identity()
	if id.History == (store.HistoryID{}) || id.Epoch != 0 {
		t.Fatalf("identity of an empty store is %+v, want a history and epoch 0", id)
	}
}

func roundTrip(t *testing.T, open Opener) {
	s := open()
	defer closeStore(t, s)
	appendAll(t, s, 1, 700, 3)
	for _, after := range []uint64{0, 1, 256, 699, 700} {
		wantRecords(t, s, after, 700, 3)
	}
	got, err := Collect(s.Records(context.Background(), 5000))
	if err != nil || len(got) != 0 {
		t.Fatalf("records after the end: %d records, error %v; want none", len(got), err)
	}
	// A consumer that stops early is not called again.
	for range s.Records(context.Background(), 0) {
		break
	}
}

func reopening(t *testing.T, open Opener) {
	for round := range uint64(4) {
		s := open()
		wantRecords(t, s, 0, round*40, 1)
		appendAll(t, s, round*40+1, round*40+40, 1)
		wantRecords(t, s, 0, round*40+40, 1)
		closeStore(t, s)
	}
}

func identity(t *testing.T, open Opener) {
	s := open()
	first := s.Identity()
	closeStore(t, s)
	for epoch := uint64(1); epoch <= 3; epoch++ {
		s := open()
		want := store.Identity{History: first.History, Epoch: epoch - 1}
		if got := s.Identity(); got.History != want.History || got.Epoch != want.Epoch || len(got.Earlier) != 0 {
			t.Fatalf("identity is %+v, want %+v", got, want)
		}
		appendAll(t, s, epoch, epoch, epoch)
		closeStore(t, s)
	}
}

func outOfLine(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 10, 5)
	bad := map[string]store.Record{
		"a gap":           Rec(12, 5, 9),
		"one again":       Rec(10, 5, 9),
		"number 0":        Rec(0, 5, 9),
		"an old epoch":    Rec(11, 4, 9),
		"a revision gap":  Rec(11, 5, 9),
		"ends before":     Rec(11, 5, 9),
		"revisions again": Rec(11, 5, 9),
	}
	change := func(name string, first, revision uint64) {
		r := bad[name]
		r.First, r.Revision = first, revision
		bad[name] = r
	}
	change("a gap", 11, 11) // of the numbers alone
	change("a revision gap", 12, 12)
	change("ends before", 11, 9)
	change("revisions again", 10, 11)
	for name, r := range bad {
		if _, err := s.Append(r); err == nil {
			t.Fatalf("%s was appended", name)
		}
	}
	wantRecords(t, s, 0, 10, 5)
	appendAll(t, s, 11, 11, 5) // a refusal is not a failure
	// A record that moves no revision is in line too.
	still := Rec(12, 6, 0)
	still.Revision, still.First = 11, 12
	durable, err := s.Append(still)
	if err != nil || durable() != nil {
		t.Fatalf("a record that moves no revision: %v", err)
	}
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	got, err := Collect(s.Records(context.Background(), 11))
	if err != nil || len(got) != 1 {
		t.Fatalf("got %d records and error %v, want the one that moves no revision", len(got), err)
	}
	if err := SameRecord(got[0], still); err != nil {
		t.Fatal(err)
	}
}

func notKept(t *testing.T, open Opener) {
	s := open()
	r := Rec(1, 1, 100)
	durable, err := s.Append(r)
	clear(r.Data)
	if err != nil || durable() != nil {
		t.Fatalf("append: %v", err)
	}
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	got, err := Collect(s.Records(context.Background(), 0))
	if err != nil || len(got) != 1 {
		t.Fatalf("got %d records, error %v", len(got), err)
	}
	if err := SameRecord(got[0], Rec(1, 1, 100)); err != nil {
		t.Fatal(err)
	}
}

func anyOrder(t *testing.T, open Opener) {
	s := open()
	var durable []func() error
	for seq := uint64(1); seq <= 50; seq++ {
		f, err := s.Append(Rec(seq, 1, int(seq%300)))
		if err != nil {
			t.Fatal(err)
		}
		durable = append(durable, f)
	}
	for _, i := range []int{20, 3, 10} {
		if err := durable[i](); err != nil {
			t.Fatalf("record %d: %v", i+1, err)
		}
	}
	closeStore(t, s) // waits for the others
	for i, f := range durable {
		if i == 20 || i == 3 || i == 10 {
			continue
		}
		if err := f(); err != nil {
			t.Fatalf("record %d, asked after Close: %v", i+1, err)
		}
	}
	s = open()
	defer closeStore(t, s)
	wantRecords(t, s, 0, 50, 1)
}

func large(t *testing.T, open Opener) {
	s := open()
	huge := 20 << 20
	if testing.Short() {
		huge = 3 << 20
	}
	want := []store.Record{Rec(1, 1, 10), Rec(2, 1, huge/2), Rec(3, 1, huge), Rec(4, 1, 10)}
	for _, r := range want {
		durable, err := s.Append(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := durable(); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	got, err := Collect(s.Records(context.Background(), 0))
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %d records and error %v, want %d", len(got), err, len(want))
	}
	for i := range want {
		if err := SameRecord(got[i], want[i]); err != nil {
			t.Fatal(err)
		}
	}
}

func contexts(t *testing.T, open Opener) {
	s := open()
	defer closeStore(t, s)
	appendAll(t, s, 1, 600, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Collect(s.Records(ctx, 0)); !errors.Is(err, context.Canceled) {
		t.Fatalf("records: got error %v, want %v", err, context.Canceled)
	}
	err := s.Compact(ctx, MarkAt(600, 1), func(yield func([]byte) bool) { yield([]byte("x")) }, 0)
	wantError(t, "compact", err, context.Canceled)
	wantCheckpoint(t, s, store.Mark{}, nil)
}

func closed(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 3, 1)
	closeStore(t, s)
	closeStore(t, s) // a second time is fine
	_, err := s.Append(Rec(4, 1, 1))
	wantError(t, "append", err, store.ErrClosed)
	_, err = Collect(s.Records(context.Background(), 0))
	wantError(t, "records", err, store.ErrClosed)
	_, _, err = s.Checkpoint(context.Background(), math.MaxUint64)
	wantError(t, "checkpoint", err, store.ErrClosed)
	err = s.Compact(context.Background(), MarkAt(3, 1), func(func([]byte) bool) {}, 0)
	wantError(t, "compact", err, store.ErrClosed)
	s = open()
	defer closeStore(t, s)
	wantRecords(t, s, 0, 3, 1)
}
