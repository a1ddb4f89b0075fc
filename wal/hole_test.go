package wal_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

const holeText = "records 21 to 40 are missing; what was in the registry then is in checkpoint 40, from where on the log can be read"

// withHole is a store whose log is gone, in which records 21 to last were: but
// a checkpoint covers those up to 40. The witness vouches for all of them.
func withHole(t *testing.T, last uint64) (dir string) {
	t.Helper()
	live, dir := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "crashed")
	fill(t, live, 20)
	l, err := wal.Open(live, wal.Options{Logger: quiet, WitnessEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	compactAt(t, l, 10, 0)
	appendTo(t, l, 21, 40)
	compactAt(t, l, 40, 0)
	appendTo(t, l, 41, last)
	l.DB().TestOnlyWaitForCleaning()
	copyDir(t, live, dir)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	remove(t, newestFile(t, dir, "*.log"))
	return dir
}

func compactAt(t *testing.T, l *wal.Log, seq, keepAfter uint64) {
	t.Helper()
	err := l.Compact(context.Background(), storetest.MarkAt(seq, 1), slices.Values(storetest.Chunks(9)), keepAfter)
	if err != nil {
		t.Fatal(err)
	}
}

// wantFloor checks that the log can be read from record 41 on, to its end, and
// says so to whoever begins before.
func wantFloor(t *testing.T, l *wal.Log, last uint64) {
	t.Helper()
	i, err := l.Info()
	if err != nil || i.First != 41 || i.Last.Seq != last || l.Oldest() != storetest.MarkAt(40, 1) {
		t.Errorf("records %d to %d are there, the oldest place is %+v, error %v; want 41 to %d", i.First, i.Last.Seq, l.Oldest(), err, last)
	}
	got, err := storetest.Collect(l.Records(context.Background(), 40))
	if err != nil || uint64(len(got)) != last-40 {
		t.Errorf("%d records are behind the hole, error %v", len(got), err)
	}
	got, err = storetest.Collect(l.Records(context.Background(), 0))
	if len(got) != 20 || !errors.Is(err, store.ErrCompacted) {
		t.Errorf("%d records are before the hole, error %v; want 20 and ErrCompacted", len(got), err)
	}
}

// TestACheckpointStandsInForRecordsThatAreGone: nothing that was acknowledged is
// lost, so the store opens, and says what is missing until Compact let go of it.
func TestACheckpointStandsInForRecordsThatAreGone(t *testing.T) {
	dir := withHole(t, 40)
	want := []wal.Finding{{Severity: wal.SeverityWarning, Place: "record 21", Problem: holeText}}
	last := uint64(40)
	for range 3 { // nothing follows; then records do, in a table of their own
		if got := check(t, dir); !reflect.DeepEqual(got, want) {
			t.Fatalf("findings %+v, want %+v", got, want)
		}
		var said strings.Builder
		l, err := wal.Open(dir, wal.Options{Logger: logTo(&said)})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), "from=21 to=40") {
			t.Errorf("the log does not say what is missing: %s", said.String())
		}
		wantFloor(t, l, last)
		appendTo(t, l, last+1, last+5)
		last += 5
		wantFloor(t, l, last)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l := reopen(t, dir, nil)
	compactAt(t, l, 50, 50)
	compactAt(t, l, 55, 55)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantOnlyLosses(t, dir, "")
	l = reopen(t, dir, nil)
	defer l.Close()
	if got, err := storetest.Collect(l.Records(context.Background(), 0)); len(got) != 0 || !errors.Is(err, store.ErrCompacted) {
		t.Errorf("%d records are left before the hole, error %v", len(got), err)
	}
}

// TestALossNamesTheRecordsThatACheckpointStandsInFor: they are lost too, but
// what was in the registry is not; and once that is accepted the store is sound.
func TestALossNamesTheRecordsThatACheckpointStandsInFor(t *testing.T) {
	dir := withHole(t, 45)
	_, err := wal.Open(dir, wal.Options{Logger: quiet})
	var lost *wal.LostRecordsError
	if !errors.As(err, &lost) {
		t.Fatalf("got error %v, want a LostRecordsError", err)
	}
	reason := "record 45 was on disk, and what is there ends at 40; " + holeText
	if lost.From != 21 || lost.To != 45 || lost.Recovered != storetest.MarkAt(40, 1) || lost.Reason != reason {
		t.Fatalf("lost %+v, want 21 to 45: %s", lost, reason)
	}
	l, err := wal.Open(dir, wal.Options{Logger: quiet, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 41, 43)
	wantFloor(t, l, 43)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantOnlyLosses(t, dir, "revisions 21 to 45 are lost: "+reason)
	var said strings.Builder
	l, err = wal.Open(dir, wal.Options{Logger: logTo(&said)})
	if err != nil || said.Len() > 0 {
		t.Fatalf("error %v, log %s", err, said.String())
	}
	defer l.Close()
	wantFloor(t, l, 43)
}

// TestTheRecordsBeforeAHoleStandInForNoDamagedCheckpoint: they lead to its
// beginning only.
func TestTheRecordsBeforeAHoleStandInForNoDamagedCheckpoint(t *testing.T) {
	dir := withHole(t, 40)
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.DB().Set(wal.ChunkKey(nil, 40, 1), []byte("damage"), nil); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, _, err = l.Checkpoint(context.Background(), 100)
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Place != "checkpoint" || corrupt.Seq != 40 {
		t.Errorf("got error %v, want the damage of checkpoint 40", err)
	}
	if m, _, err := l.Checkpoint(context.Background(), 30); err != nil || m.Seq != 10 {
		t.Errorf("before the hole the checkpoint is %d, error %v; want 10", m.Seq, err)
	}
}
