package wal_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// TestWhatTheWitnessSays: each way in which it can disagree with a store of 10
// records, or be damaged, and what an opening and a check make of it.
func TestWhatTheWitnessSays(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	fill(t, whole, 10)
	history := historyOf(t, whole)
	slots := func(marks ...store.Mark) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			var b []byte
			for i, m := range marks {
				b = append(b, wal.PutSlot(history, uint64(i+100), m)...)
			}
			write(t, path, string(b))
		}
	}
	flips := func(at ...int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			for _, a := range at {
				damage(t, path, flip(a))
			}
		}
	}
	other := storetest.MarkAt(10, 1)
	other.Digest[3]++
	count := storetest.MarkAt(7, 1)
	count.Count++
	for name, c := range map[string]struct {
		damage  func(t *testing.T, path string)
		lost    string // in the error; "" for none
		warning string // in a finding of a check that is no error
	}{
		"untouched":            {func(*testing.T, string) {}, "", ""},
		"behind":               {slots(storetest.MarkAt(4, 1), storetest.MarkAt(5, 1)), "", ""},
		"never advanced":       {slots(store.Mark{}, store.Mark{}), "", ""},
		"ahead":                {slots(storetest.MarkAt(10, 1), storetest.MarkAt(12, 1)), "revisions 11 to 12 are lost", ""},
		"another digest":       {slots(storetest.MarkAt(9, 1), other), "revision 10 is lost", ""},
		"another count before": {slots(storetest.MarkAt(6, 1), count), "record 7 is not the one", ""},
		"first slot damaged":   {flips(50), "", "slot 0"},
		"second slot damaged":  {flips(4096 + 50), "", "slot 1"},
		"both slots damaged":   {flips(50, 4096+50), "everything after revision 10 may be lost", ""},
		"one slot cut off":     {func(t *testing.T, p string) { damage(t, p, func(b []byte) []byte { return b[:5000] }) }, "", ""},
		"emptied":              {func(t *testing.T, p string) { write(t, p, "") }, "is damaged", ""},
		"zeroed":               {func(t *testing.T, p string) { write(t, p, strings.Repeat("\x00", 8192)) }, "is damaged", ""},
		"removed":              {remove, "WITNESS is missing", ""},
		"of another store": {func(t *testing.T, p string) {
			elsewhere := filepath.Join(t.TempDir(), "other")
			fill(t, elsewhere, 10)
			b, err := os.ReadFile(filepath.Join(elsewhere, "WITNESS"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, p, string(b))
		}, "of history", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			copyDir(t, whole, dir)
			c.damage(t, filepath.Join(dir, "WITNESS"))
			before := tree(t, dir)
			findings := check(t, dir)
			if got := slices.ContainsFunc(findings, func(f wal.Finding) bool { return f.Severity == wal.SeverityError }); got != (c.lost != "") {
				t.Fatalf("findings %+v", findings)
			}
			if c.warning != "" && !slices.ContainsFunc(findings, func(f wal.Finding) bool { return strings.Contains(f.Problem, c.warning) }) {
				t.Fatalf("findings %+v do not say %q", findings, c.warning)
			}
			for _, readOnly := range []bool{true, false} {
				l, err := wal.Open(dir, wal.Options{Logger: quiet, ReadOnly: readOnly})
				if c.lost == "" {
					if err != nil {
						t.Fatal(err)
					}
					if err := l.Close(); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if !errors.As(err, new(*wal.LostRecordsError)) || !strings.Contains(err.Error(), c.lost) {
					t.Fatalf("got error %v, want a LostRecordsError that says %q", err, c.lost)
				}
				if after := tree(t, dir); after != before {
					t.Fatal("the refusal changed the directory")
				}
			}
			accept(t, dir, c.lost != "")
			wantOnlyLosses(t, dir, c.lost)
			if got := readWitnessed(t, dir); got != storetest.MarkAt(10, 1) {
				t.Fatalf("after it was opened for writing the witness is at %+v", got)
			}
		})
	}
}

// TestASlotTornByACrashCostsOneStepOfTheWitness: the two slots are written in
// turn, so that whichever was under way, the other is one step behind at most.
func TestASlotTornByACrashCostsOneStepOfTheWitness(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	fill(t, whole, 10)
	l, err := wal.Open(whole, wal.Options{Logger: quiet, WitnessEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 11, 16)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var left []uint64
	for slot := range 2 {
		dir := filepath.Join(t.TempDir(), "torn")
		copyDir(t, whole, dir)
		damage(t, filepath.Join(dir, "WITNESS"), flip(slot*4096+50))
		testimony, err := wal.ReadWitness(dir)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, testimony.Seq)
	}
	if slices.Sort(left); !slices.Equal(left, []uint64{15, 16}) {
		t.Fatalf("with one slot or the other torn the witness is at %v, want 15 and 16", left)
	}
}

// TestNoSlotThatClaimsMoreStaysOnceTheLossIsAccepted: whichever slot is damaged
// then, the other one claims no more than there is.
func TestNoSlotThatClaimsMoreStaysOnceTheLossIsAccepted(t *testing.T) {
	dir := afterCrash(t, 60)
	remove(t, newestFile(t, dir, "*.log"))
	history := acceptable(t, dir)
	accept(t, dir, true)
	for slot := range 2 {
		torn := filepath.Join(t.TempDir(), "torn")
		copyDir(t, dir, torn)
		damage(t, filepath.Join(torn, "WITNESS"), flip(slot*4096+50))
		if got, err := wal.ReadWitness(torn); err != nil || got != storetest.MarkAt(20, 1) {
			t.Errorf("slot %d claims %+v, error %v; want record 20", 1-slot, got, err)
		}
		if got := historyOf(t, torn); got == history {
			t.Errorf("history %s goes on", got)
		}
		l := reopen(t, torn, nil)
		appendTo(t, l, 21, 22)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		wantOnlyLosses(t, torn, "revisions 21 to 60 are lost")
	}
}

// accept opens a store whose loss is accepted, and not a second time.
func accept(t *testing.T, dir string, lossy bool) {
	t.Helper()
	for _, acceptLoss := range []bool{true, false} {
		if !lossy && acceptLoss {
			continue
		}
		l, err := wal.Open(dir, wal.Options{Logger: quiet, AcceptLoss: acceptLoss, NoSocket: true})
		if err != nil {
			t.Fatal(err)
		}
		l.AwaitWriting()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func check(t *testing.T, dir string) (findings []wal.Finding) {
	t.Helper()
	err := wal.Check(context.Background(), dir, wal.Options{Logger: quiet}, func(f wal.Finding) { findings = append(findings, f) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func historyOf(t *testing.T, dir string) store.HistoryID {
	t.Helper()
	l, err := wal.Open(dir, wal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Identity().History
}
