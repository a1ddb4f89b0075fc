// Package storetest is the suite that every Store passes. Package
// registrar/storetest is its door for stores made elsewhere.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Opener opens one and the same store, again and again. The store of an
// Opener is empty at first; each is closed before the next is opened. An
// Opener may fail the test.
type Opener func() store.Store

// Run runs the suite. fresh makes a new, empty store and returns how to open it.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Opener)
	}{
		{"AnEmptyStoreHoldsNothing", empty},
		{"RecordsComeBackAsTheyWereAppended", roundTrip},
		{"RecordsSurviveReopening", reopening},
		{"TheHistoryStaysTheEpochGrows", identity},
		{"ARecordOutOfLineIsRefusedAndNotWritten", outOfLine},
		{"AppendDoesNotKeepTheData", notKept},
		{"DurableMayBeAskedInAnyOrder", anyOrder},
		{"ALargeRecordIsOneLikeAnother", large},
		{"ACheckpointComesBackWhole", checkpoint},
		{"TheNewestCheckpointIsOffered", newest},
		{"AnInterruptedCheckpointLeavesNothing", interrupted},
		{"ACheckpointOfTheFutureOrPastIsRefused", badCovers},
		{"TheSameCheckpointTwiceIsOne", twice},
		{"RecordsAreLetGoBehindTwoCheckpoints", keepAfter},
		{"EveryPlaceWithinKeepAfterCanBeRead", history},
		{"NothingGoesBeforeTheSecondCheckpoint", nothingToSpare},
		{"WhatWasLetGoIsNamedAsSuch", letGo},
		{"ACheckpointIsFoundByItsRevision", atRevision},
		{"ReadingEndsWithItsContext", contexts},
		{"AClosedStoreSaysSo", closed},
		{"AppendingReadingAndCompactingGoTogether", concurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

// Rec is a record for tests: number seq, one operation, and data that nothing
// else has.
func Rec(seq, epoch uint64, size int) store.Record {
	r := store.Record{Mark: MarkAt(seq, epoch), First: seq, Data: make([]byte, size)}
	for i := range r.Data {
		r.Data[i] = byte(seq*31 + uint64(i)*7 + uint64(i)>>8)
	}
	return r
}

// MarkAt is the mark of [Rec].
func MarkAt(seq, epoch uint64) store.Mark {
	m := store.Mark{Seq: seq, Epoch: epoch, Revision: seq, Count: seq * 2}
	m.Digest[0], m.Digest[15] = byte(seq), byte(seq>>8)+1
	return m
}

// Chunks are n chunks of different lengths, the first one empty.
func Chunks(n int) [][]byte {
	var chunks [][]byte
	for i := range n {
		chunks = append(chunks, Rec(uint64(n), 0, i*977).Data)
	}
	return chunks
}

func appendAll(t *testing.T, s store.Store, from, to, epoch uint64) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		durable, err := s.Append(Rec(seq, epoch, int(seq%300)))
		if err != nil {
			t.Fatalf("append record %d: %v", seq, err)
		}
		if err := durable(); err != nil {
			t.Fatalf("record %d: %v", seq, err)
		}
	}
}

// Collect reads records with copies of their data.
func Collect(records iter.Seq2[store.Record, error]) ([]store.Record, error) {
	var got []store.Record
	for r, err := range records {
		if err != nil {
			return got, err
		}
		r.Data = slices.Clone(r.Data)
		got = append(got, r)
	}
	return got, nil
}

// SameRecord reports the difference between two records, or nil.
func SameRecord(got, want store.Record) error {
	if got.Mark != want.Mark || got.First != want.First {
		return fmt.Errorf("record is %+v first %d, want %+v first %d", got.Mark, got.First, want.Mark, want.First)
	}
	if string(got.Data) != string(want.Data) {
		return fmt.Errorf("data of record %d (%d bytes) is not what was appended (%d bytes)", got.Seq, len(got.Data), len(want.Data))
	}
	return nil
}

// wantRecords checks that s holds the records from..to that appendAll wrote.
func wantRecords(t *testing.T, s store.Store, after, to, epoch uint64) {
	t.Helper()
	got, err := Collect(s.Records(context.Background(), after))
	if err != nil {
		t.Fatalf("records after %d: %v", after, err)
	}
	if uint64(len(got)) != to-after {
		t.Fatalf("got %d records after %d, want %d", len(got), after, to-after)
	}
	for i, r := range got {
		seq := after + 1 + uint64(i)
		if err := SameRecord(r, Rec(seq, epoch, int(seq%300))); err != nil {
			t.Fatal(err)
		}
	}
}

// wantCheckpoint checks the newest checkpoint.
func wantCheckpoint(t *testing.T, s store.Store, want store.Mark, chunks [][]byte) {
	t.Helper()
	wantCheckpointAt(t, s, math.MaxUint64, want, chunks)
}

// wantCheckpointAt checks the newest checkpoint that covers nothing after atMost.
func wantCheckpointAt(t *testing.T, s store.Store, atMost uint64, want store.Mark, chunks [][]byte) {
	t.Helper()
	mark, seq, err := s.Checkpoint(context.Background(), atMost)
	if err != nil {
		t.Fatalf("checkpoint at revision %d: %v", atMost, err)
	}
	var got [][]byte
	for c, err := range seq {
		if err != nil {
			t.Fatalf("chunk %d: %v", len(got), err)
		}
		got = append(got, slices.Clone(c))
	}
	if mark != want {
		t.Fatalf("checkpoint at revision %d covers %+v, want %+v", atMost, mark, want)
	}
	if !slices.EqualFunc(got, chunks, func(a, b []byte) bool { return string(a) == string(b) }) {
		t.Fatalf("checkpoint has %d chunks, want the %d that were stored", len(got), len(chunks))
	}
}

func closeStore(t *testing.T, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func compact(t *testing.T, s store.Store, covers store.Mark, chunks [][]byte, keepAfter uint64) {
	t.Helper()
	if err := s.Compact(context.Background(), covers, slices.Values(chunks), keepAfter); err != nil {
		t.Fatalf("compact at %d: %v", covers.Seq, err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if err == nil || (want != nil && !errors.Is(err, want)) {
		t.Fatalf("%s: got error %v, want %v", what, err, want)
	}
}
