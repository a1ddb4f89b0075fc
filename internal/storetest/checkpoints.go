package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/eaba02dc/registrar/registrar/store"
)

func checkpoint(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 30, 2)
	chunks := Chunks(40)
	// The store asks for one chunk at a time and does not keep it.
	err := s.Compact(context.Background(), MarkAt(20, 2), func(yield func([]byte) bool) {
		for _, c := range chunks {
			scratch := slices.Clone(c)
			if !yield(scratch) {
				return
			}
			clear(scratch)
		}
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantCheckpoint(t, s, MarkAt(20, 2), chunks)
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	wantCheckpoint(t, s, MarkAt(20, 2), chunks)
	wantRecords(t, s, 20, 30, 2)
	wantRecords(t, s, 0, 30, 2)
}

func newest(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 50, 1)
	for i := uint64(1); i <= 5; i++ {
		compact(t, s, MarkAt(i*10, 1), Chunks(int(i)), 0)
		wantCheckpoint(t, s, MarkAt(i*10, 1), Chunks(int(i)))
	}
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	wantCheckpoint(t, s, MarkAt(50, 1), Chunks(5))
	compactNothing(t, s)
}

// compactNothing: a checkpoint without a chunk is one too.
func compactNothing(t *testing.T, s store.Store) {
	t.Helper()
	appendAll(t, s, 51, 51, 1)
	compact(t, s, MarkAt(51, 1), nil, 0)
	wantCheckpoint(t, s, MarkAt(51, 1), nil)
}

func interrupted(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 20, 1)
	compact(t, s, MarkAt(10, 1), Chunks(4), 0)
	ctx, cancel := context.WithCancel(context.Background())
	err := s.Compact(ctx, MarkAt(20, 1), func(yield func([]byte) bool) {
		for i, c := range Chunks(9) {
			if i == 5 {
				cancel()
			}
			if !yield(c) {
				return
			}
		}
	}, 20)
	wantError(t, "compact", err, context.Canceled)
	wantCheckpoint(t, s, MarkAt(10, 1), Chunks(4))
	wantRecords(t, s, 0, 20, 1)
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	wantCheckpoint(t, s, MarkAt(10, 1), Chunks(4))
	compact(t, s, MarkAt(20, 1), Chunks(3), 0) // it may be tried again
	wantCheckpoint(t, s, MarkAt(20, 1), Chunks(3))
}

func badCovers(t *testing.T, open Opener) {
	s := open()
	defer closeStore(t, s)
	appendAll(t, s, 1, 20, 1)
	compact(t, s, MarkAt(10, 1), Chunks(4), 0)
	for _, m := range []store.Mark{{}, MarkAt(21, 1), MarkAt(9, 1), MarkAt(10, 2)} {
		err := s.Compact(context.Background(), m, slices.Values(Chunks(2)), 0)
		wantError(t, "compact", err, nil)
	}
	wantCheckpoint(t, s, MarkAt(10, 1), Chunks(4))
}

func twice(t *testing.T, open Opener) {
	s := open()
	defer closeStore(t, s)
	appendAll(t, s, 1, 20, 1)
	for range 3 {
		compact(t, s, MarkAt(20, 1), Chunks(4), 20)
	}
	wantCheckpoint(t, s, MarkAt(20, 1), Chunks(4))
	wantRecords(t, s, 0, 20, 1) // there is no older checkpoint to fall back on
}

func keepAfter(t *testing.T, open Opener) {
	s := open()
	appendAll(t, s, 1, 40, 1)
	compact(t, s, MarkAt(10, 1), Chunks(1), 10)
	wantRecords(t, s, 0, 40, 1)
	compact(t, s, MarkAt(20, 1), Chunks(2), 5) // records 6 to 10 are wanted longer
	wantRecords(t, s, 5, 40, 1)
	compact(t, s, MarkAt(30, 1), Chunks(3), 30) // the older checkpoint needs 21 to 30
	check := func() {
		t.Helper()
		wantRecords(t, s, 20, 40, 1)
		wantRecords(t, s, 25, 40, 1)
		for _, after := range []uint64{0, 4, 19} {
			_, err := Collect(s.Records(context.Background(), after))
			wantError(t, "records that were let go", err, store.ErrCompacted)
		}
	}
	check()
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	check()
	appendAll(t, s, 41, 45, 1)
	wantRecords(t, s, 20, 45, 1)
}

func concurrent(t *testing.T, open Opener) {
	s := open()
	const n = 400
	var wg sync.WaitGroup
	durable := make(chan uint64, n)
	wg.Go(func() {
		defer close(durable)
		for seq := uint64(1); seq <= n; seq++ {
			f, err := s.Append(Rec(seq, 1, int(seq%300)))
			if err != nil {
				t.Error(err)
				return
			}
			wg.Go(func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			})
			if seq%50 == 0 {
				if err := s.Compact(context.Background(), store.Mark{}, func(func([]byte) bool) {}, 0); err == nil {
					t.Error("a checkpoint of nothing was stored")
				}
			}
			durable <- seq
		}
	})
	wg.Go(func() {
		for seq := range durable {
			if seq%40 == 0 {
				readWhileWriting(t, s)
			}
		}
	})
	wg.Wait()
	for _, seq := range []uint64{100, 200, 300} {
		wg.Go(func() { readWhileWriting(t, s) })
		compact(t, s, MarkAt(seq, 1), Chunks(30), 0)
	}
	wg.Wait()
	closeStore(t, s)
	s = open()
	defer closeStore(t, s)
	wantRecords(t, s, 0, n, 1)
	wantCheckpoint(t, s, MarkAt(300, 1), Chunks(30))
}

func readWhileWriting(t *testing.T, s store.Store) {
	got, err := Collect(s.Records(context.Background(), 0))
	if err != nil {
		t.Error(err)
	}
	for i, r := range got {
		if err := SameRecord(r, Rec(uint64(i+1), 1, (i+1)%300)); err != nil {
			t.Error(err)
		}
	}
}
