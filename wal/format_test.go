package wal_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

func row(r store.Record) (key, frame []byte) {
	key, frame = make([]byte, wal.RecordKeyLen), make([]byte, wal.RecordFrameLen(r))
	wal.PutRecord(key, frame, r)
	return key, frame
}

func TestEveryFlippedBitOfARecordIsNoticed(t *testing.T) {
	key, frame := row(storetest.Rec(7, 2, 40))
	if r, err := wal.GetRecord(key, frame); err != nil || storetest.SameRecord(r, storetest.Rec(7, 2, 40)) != nil {
		t.Fatalf("got %+v and error %v", r, err)
	}
	for _, b := range [][]byte{key, frame} {
		for i := range b {
			for bit := range 8 {
				b[i] ^= 1 << bit
				if _, err := wal.GetRecord(key, frame); err == nil {
					t.Fatalf("bit %d of byte %d flipped, and nobody noticed", bit, i)
				}
				b[i] ^= 1 << bit
			}
		}
	}
}

// TestDamagedRowsAreNamed changes rows behind the log's back.
func TestDamagedRowsAreNamed(t *testing.T) {
	set := func(key, value []byte) func(*pebble.DB) error {
		return func(db *pebble.DB) error { return db.Set(key, value, pebble.Sync) }
	}
	change := func(seq uint64, f func(*store.Record)) func(*pebble.DB) error {
		r := storetest.Rec(seq, 1, 700)
		f(&r)
		return set(row(r))
	}
	_, damaged := row(storetest.Rec(5, 1, 700))
	damaged[200] ^= 1
	_, moved := row(storetest.Rec(6, 1, 700))
	for name, c := range map[string]struct {
		damage func(*pebble.DB) error
		text   string
		place  string // of check's finding
	}{
		"a gap":            {func(db *pebble.DB) error { return db.Delete(wal.RecordKey(nil, 5), pebble.Sync) }, "record 5 is damaged: it is missing", "record 5"},
		"a flipped bit":    {set(wal.RecordKey(nil, 5), damaged), "record 5 is damaged: its checksum", "record 5"},
		"a moved record":   {set(wal.RecordKey(nil, 5), moved), "record 5 is damaged: its checksum", "record 5"},
		"an empty row":     {set(wal.RecordKey(nil, 5), nil), "record 5 is damaged: it is too short", "record 5"},
		"a revision gap":   {change(5, func(r *store.Record) { r.First, r.Revision = 6, 6 }), "record 5 is damaged: its revisions begin at 6", "record 5"},
		"revisions double": {change(5, func(r *store.Record) { r.First = 4 }), "record 5 is damaged: its revisions begin at 4", "record 5"},
		"an older epoch":   {change(5, func(r *store.Record) { r.Epoch = 0 }), "record 5 is damaged: its epoch 0", "record 5"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			fill(t, dir, 9)
			l := reopen(t, dir, c.damage)
			got, err := storetest.Collect(l.Records(context.Background(), 0))
			var corrupt *wal.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Seq != 5 || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got error %v, want a CorruptError that says %q", err, c.text)
			}
			if len(got) != 4 {
				t.Fatalf("got %d records before the damage, want 4", len(got))
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if f := check(t, dir); len(f) == 0 || f[0].Place != c.place {
				t.Fatalf("findings %+v, want one for %s", f, c.place)
			}
		})
	}
}

func reopen(t *testing.T, dir string, damage func(*pebble.DB) error) *wal.Log {
	t.Helper()
	for range 2 {
		l, err := wal.Open(dir, wal.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if damage == nil {
			return l
		}
		if err := damage(l.DB()); err != nil {
			t.Fatal(err)
		}
		damage = nil
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return reopen(t, dir, nil)
}

// TestADamagedCheckpointCostsNothing: the one before is offered, the records
// after it are there, and the next checkpoint replaces the damaged one.
func TestADamagedCheckpointCostsNothing(t *testing.T) {
	const trailer, digest = 1<<32 - 1, 5 + 3*8 // the number of its row, and a place in it
	flips := func(chunk uint32, at int) func(*pebble.DB) error {
		return func(db *pebble.DB) error { return flipRow(db, wal.ChunkKey(nil, 20, chunk), at, nil) }
	}
	deletes := func(chunk uint32) func(*pebble.DB) error {
		return func(db *pebble.DB) error { return db.Delete(wal.ChunkKey(nil, 20, chunk), pebble.Sync) }
	}
	for name, c := range map[string]struct {
		damage func(*pebble.DB) error
		text   string // of the finding
	}{
		"a chunk flipped":        {flips(1, 100), "chunk 1: its checksum does not match"},
		"a chunk missing":        {deletes(1), "chunk 1 is missing"},
		"the last chunk missing": {deletes(5), "it has 5 chunks"},
		"a chunk of another checkpoint": {func(db *pebble.DB) error {
			return flipRow(db, wal.ChunkKey(nil, 20, 1), 100, wal.SealChunk)
		}, "or their checksum differs"},
		"the trailer flipped":        {flips(trailer, 60), "its trailer: its checksum does not match"},
		"the trailer's mark flipped": {flips(trailer, digest), "its trailer: its checksum does not match"},
		"the trailer missing":        {deletes(trailer), "its end is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			fill(t, dir, 30)
			l := reopen(t, dir, nil)
			compact(t, l, 10, 4)
			compact(t, l, 20, 6)
			if err := errors.Join(c.damage(l.DB()), l.Close()); err != nil {
				t.Fatal(err)
			}
			if f := check(t, dir); len(f) != 1 || f[0].Place != "checkpoint 20" || f[0].Severity != wal.SeverityError || !strings.Contains(f[0].Problem, c.text) {
				t.Fatalf("findings %+v, want one for checkpoint 20 that says %q", f, c.text)
			}
			l = reopen(t, dir, nil)
			wantCheckpoint(t, l, 10, 4)
			got, err := storetest.Collect(l.Records(context.Background(), 10))
			if err != nil || len(got) != 20 {
				t.Fatalf("got %d records behind checkpoint 10, error %v; want 20", len(got), err)
			}
			compact(t, l, 20, 7)
			wantCheckpoint(t, l, 20, 7)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if f := check(t, dir); len(f) != 0 {
				t.Fatalf("findings %+v", f)
			}
		})
	}
}

// TestDamageAtTheOldestPlaceIsNotTakenForLettingGo: what was let go is gone, and
// what is damaged can be put back.
func TestDamageAtTheOldestPlaceIsNotTakenForLettingGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 40)
	l := reopen(t, dir, nil)
	for seq := uint64(10); seq <= 30; seq += 10 {
		compact(t, l, seq, 4)
	}
	if oldest := l.Oldest(); oldest.Seq != 20 {
		t.Fatalf("the oldest place is %+v, want record 20", oldest)
	}
	if err := flipRow(l.DB(), wal.ChunkKey(nil, 20, 1), 100, nil); err != nil {
		t.Fatal(err)
	}
	_, _, err := l.Checkpoint(t.Context(), 25)
	var damage *wal.CorruptError
	if !errors.As(err, &damage) || damage.Seq != 20 || errors.Is(err, store.ErrCompacted) {
		t.Errorf("got error %v, want the damage of checkpoint 20", err)
	}
	if oldest := l.Oldest(); oldest.Seq != 30 {
		t.Errorf("then the oldest place is %+v, want record 30", oldest)
	}
	if places := l.Places(); len(places) != 2 || places[0].Mark != storetest.MarkAt(20, 1) || places[1].Bytes == 0 {
		t.Errorf("places are %+v", places)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// flipRow flips a bit of a row, and has it sealed again unless reseal is nil.
func flipRow(db *pebble.DB, key []byte, at int, reseal func(key, frame []byte)) error {
	v, done, err := db.Get(key)
	if err != nil {
		return err
	}
	b := slices.Clone(v)
	b[at] ^= 4
	if reseal != nil {
		reseal(key, b)
	}
	return errors.Join(done.Close(), db.Set(key, b, pebble.Sync))
}

func compact(t *testing.T, l *wal.Log, seq uint64, chunks int) {
	t.Helper()
	err := l.Compact(context.Background(), storetest.MarkAt(seq, 1), slices.Values(storetest.Chunks(chunks)), seq)
	if err != nil {
		t.Fatal(err)
	}
}

func wantCheckpoint(t *testing.T, l *wal.Log, seq uint64, chunks int) {
	t.Helper()
	mark, got, err := l.Checkpoint(context.Background(), math.MaxUint64)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range got {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if mark != storetest.MarkAt(seq, 1) || n != chunks {
		t.Fatalf("got checkpoint %d of %d chunks, want %d of %d", mark.Seq, n, seq, chunks)
	}
}
