package wal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// wantOnlyLosses checks that a store is whole but for one accepted loss, which
// a check tells of in these words; or wholly whole, where there are none.
func wantOnlyLosses(t *testing.T, dir, words string) {
	t.Helper()
	findings := check(t, dir)
	switch {
	case words == "" && len(findings) == 0:
	case words != "" && len(findings) == 1 && findings[0].Severity == wal.SeverityNote && strings.Contains(findings[0].Problem, words):
	default:
		t.Fatalf("after it was opened for writing: %+v; want a loss: %q", findings, words)
	}
}

// TestAnAcceptedLossBeginsANewHistory loses records twice.
func TestAnAcceptedLossBeginsANewHistory(t *testing.T) {
	dir := afterCrash(t, 60)
	var ended []store.Earlier
	for i, left := range []uint64{20, 25} {
		damage(t, newestFile(t, dir, "*.log"), func(b []byte) []byte { return b[:300] }) // in the first record
		before := evidence(t, dir)
		ended = append(ended, store.Earlier{History: acceptable(t, dir), Until: left})
		l, err := wal.Open(dir, wal.Options{Logger: quiet, AcceptLoss: true})
		if err != nil {
			t.Fatal(err)
		}
		wantIdentity(t, l, ended)
		if err := l.AwaitWriting(); err != nil {
			t.Fatal(err)
		}
		if got := evidence(t, filepath.Join(dir, "quarantine", strconv.Itoa(i+1))); !reflect.DeepEqual(got, before) {
			t.Fatalf("quarantine holds %q, want %q", keys(got), keys(before))
		}
		appendTo(t, l, left+1, left+5)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = reopen(t, dir, nil)
		wantIdentity(t, l, ended)
		info, err := l.Info()
		if err != nil || len(info.Losses) != i+1 || info.Losses[i].Left.Seq != left || info.Losses[i].Quarantine != uint64(i+1) {
			t.Fatalf("info has the losses %+v, error %v", info.Losses, err)
		}
		appendTo(t, l, left+6, left+9)
		crashed := filepath.Join(t.TempDir(), "crashed")
		l.DB().TestOnlyWaitForCleaning()
		copyDir(t, dir, crashed) // the last records are only in Pebble's log
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		wantFindings(t, dir, i+1)
		dir = crashed
	}
}

// acceptable checks that a store is refused for its loss, and returns its history.
func acceptable(t *testing.T, dir string) store.HistoryID {
	t.Helper()
	if _, err := wal.Open(dir, wal.Options{Logger: quiet}); !errors.As(err, new(*wal.LostRecordsError)) {
		t.Fatalf("got error %v, want a LostRecordsError", err)
	}
	before := tree(t, dir)
	l, err := wal.Open(dir, wal.Options{Logger: quiet, AcceptLoss: true, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	id := l.Identity()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, dir); after != before {
		t.Fatal("reading with AcceptLoss changed the directory")
	}
	return id.History
}

func wantIdentity(t *testing.T, l *wal.Log, ended []store.Earlier) {
	t.Helper()
	id := l.Identity()
	if !slices.Equal(id.Earlier, ended) {
		t.Fatalf("earlier histories are %v, want %v", id.Earlier, ended)
	}
	for _, e := range ended {
		if id.History == e.History || id.HistoryAt(e.Until) == id.History {
			t.Fatalf("history %s goes on after a loss", id.History)
		}
	}
	if last := ended[len(ended)-1].Until; id.HistoryAt(last+1) != id.History {
		t.Fatalf("record %d is of history %s, want %s", last+1, id.HistoryAt(last+1), id.History)
	}
}

func wantFindings(t *testing.T, dir string, losses int) {
	t.Helper()
	findings := check(t, dir)
	for _, f := range findings {
		if f.Severity != wal.SeverityNote {
			t.Fatalf("finding %+v", f)
		}
	}
	if len(findings) != losses {
		t.Fatalf("findings %+v, want one for each of %d losses", findings, losses)
	}
}

// evidence reads what belongs into quarantine, and checks who may read it.
func evidence(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"STORE", "WITNESS", "pebble/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if name := filepath.Base(path); name == "LOCK" || strings.HasSuffix(name, ".sst") {
				continue
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[path[len(dir):]] = string(b)
		}
	}
	if strings.Contains(dir, "quarantine") {
		wantPrivate(t, dir)
	}
	return files
}

func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err == nil && i.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, i.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func keys(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestALossBehindAnEarlierOneShortensBoth: what the first history had left
// beyond the second loss is not its own any more.
func TestALossBehindAnEarlierOneShortensBoth(t *testing.T) {
	a, b, c := store.HistoryID{1}, store.HistoryID{2}, store.HistoryID{3}
	at := storetest.MarkAt
	got := store.Identity{History: c, Earlier: wal.Ended([]wal.Loss{{History: a, Left: at(20, 1)}, {History: b, Left: at(15, 1)}})}
	for seq, want := range map[uint64]store.HistoryID{1: a, 15: a, 16: c, 20: c, 21: c} {
		if h := got.HistoryAt(seq); h != want {
			t.Errorf("record %d is of history %s, want %s", seq, h, want)
		}
	}
}

// TestAWitnessFromBeforeALossIsNoWitness: once the acceptance is complete, the
// files of the history that ended do not pass for those of the next.
func TestAWitnessFromBeforeALossIsNoWitness(t *testing.T) {
	dir := afterCrash(t, 60)
	remove(t, newestFile(t, dir, "*.log"))
	accept(t, dir, true)
	for name, files := range map[string][]string{"WITNESS": {"WITNESS"}, "both": {"WITNESS", "STORE"}} {
		t.Run(name, func(t *testing.T) {
			old := filepath.Join(t.TempDir(), "old")
			copyDir(t, dir, old)
			l := reopen(t, old, nil)
			appendTo(t, l, 21, 22)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				b, err := os.ReadFile(filepath.Join(old, "quarantine", "1", f))
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(old, f), string(b))
			}
			if err := mustNotBeShorter(t, name, old, 22); !errors.As(err, new(*wal.LostRecordsError)) {
				t.Fatalf("got error %v, want a LostRecordsError", err)
			}
		})
	}
}

// TestTheEpochOfALostRecordIsNotGivenOutAgain, although no record has it now.
func TestTheEpochOfALostRecordIsNotGivenOutAgain(t *testing.T) {
	const epoch = 5
	live, dir := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "crashed")
	fill(t, live, 20)
	l, err := wal.Open(live, wal.Options{Logger: quiet, WitnessEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	durable, err := l.Append(storetest.Rec(21, epoch, 700))
	if err != nil || durable() != nil {
		t.Fatal("record 21 was not appended", err)
	}
	copyDir(t, live, dir)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	remove(t, newestFile(t, dir, "*.log"))
	for _, accept := range []bool{true, false} {
		l, err := wal.Open(dir, wal.Options{Logger: quiet, AcceptLoss: accept})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.AwaitWriting(); err != nil {
			t.Fatal(err)
		}
		if got := l.Identity().Epoch; got != epoch {
			t.Errorf("the highest epoch is %d, want %d; with the loss accepted just now: %v", got, epoch, accept)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatSaysThatALossWasAcceptedIsNotLostWithTheLog: the same disk may lose
// the end of Pebble's log a second time.
func TestWhatSaysThatALossWasAcceptedIsNotLostWithTheLog(t *testing.T) {
	dir, crashed := afterCrash(t, 60), filepath.Join(t.TempDir(), "crashed")
	remove(t, newestFile(t, dir, "*.log"))
	l, err := wal.Open(dir, wal.Options{Logger: quiet, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	want := l.Identity()
	if err := l.AwaitWriting(); err != nil {
		t.Fatal(err)
	}
	l.DB().TestOnlyWaitForCleaning() // a file must not go while it is copied
	copyDir(t, dir, crashed)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	remove(t, newestFile(t, crashed, "*.log"))
	l = reopen(t, crashed, nil)
	if got := l.Identity(); !reflect.DeepEqual(got, want) {
		t.Fatalf("identity is %+v, want %+v", got, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantRecordsTo(l *wal.Log, last uint64) error {
	got, err := storetest.Collect(l.Records(context.Background(), 0))
	if err != nil {
		return err
	}
	if uint64(len(got)) != last {
		return errors.New("the store is shorter, or longer, than it should be")
	}
	for i, r := range got {
		if err := storetest.SameRecord(r, storetest.Rec(uint64(i+1), 1, 700)); err != nil {
			return err
		}
	}
	return nil
}
