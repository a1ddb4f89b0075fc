package registrar_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

func request(id string, op ops.Operation) registrar.Request {
	return registrar.Request{Operation: op, ID: id}
}

// sendAll sends one request that is applied, one that changes nothing and one
// that is refused, and checks that each ends as it did when it was first sent.
func sendAll(t *testing.T, r *registrar.Registrar) {
	t.Helper()
	for _, c := range []struct {
		id   string
		op   ops.Operation
		want registrar.Result
		text string
	}{
		{"applied", admit("a"), registrar.Result{Revision: 1, Changed: true}, ""},
		{"unchanged", ops.Readmit{Agent: admit("a").Agent}, registrar.Result{Revision: 1}, ""},
		{"refused", admit("a"), registrar.Result{Revision: 1}, `admit agent "a": agent is already admitted`},
	} {
		got, err := r.Apply(t.Context(), request(c.id, c.op))
		if got != c.want || c.text == "" && err != nil {
			t.Errorf("request %q ended with %+v, %v; want %+v", c.id, got, err, c.want)
		}
		if c.text != "" && (err == nil || err.Error() != c.text || !errors.Is(err, ops.ErrAdmitted)) {
			t.Errorf("request %q ended with %v, want %q", c.id, err, c.text)
		}
		if again, known := r.Outcome(c.id); again != got || fmt.Sprint(known) != fmt.Sprint(err) {
			t.Errorf("outcome of %q is %+v, %v; it was %+v, %v", c.id, again, known, got, err)
		}
	}
}

func TestRequestSentAgainGetsItsFirstAnswerAlsoAfterReopening(t *testing.T) {
	for name, o := range map[string]registrar.Options{
		"from records":     {},
		"from checkpoints": {CheckpointBytes: 1, HistoryRecords: 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := store.NewMemory()
			for life := range 3 {
				r := open(t, m, o)
				sendAll(t, r)
				sendAll(t, r)
				apply(t, r, admit(fmt.Sprint("later ", life)))
				if o.CheckpointBytes > 0 { // else its life may be too short for one
					if err := r.Checkpoint(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if got := r.Stats(); got.Repeated != uint64(min(life, 1)*3+3) {
					t.Errorf("life %d: %d requests were repeated", life, got.Repeated)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				m = m.Reopen()
			}
		})
	}
}

func TestRequestWithAnIDIsWrittenDownEvenIfItChangesNothing(t *testing.T) {
	g := &gate{Store: store.NewMemory()}
	r := open(t, g, registrar.Options{})
	for i, op := range []ops.Operation{ops.Prune{}, ops.Remove{ID: "nobody"}} {
		r.Apply(t.Context(), request(fmt.Sprint(i), op))
		if n := g.appended(); n != i+2 { // the first is the epoch's
			t.Errorf("%d records after %d requests, want %d", n, i+1, i+2)
		}
	}
	if got := r.Snapshot().Revision(); got != 0 {
		t.Errorf("revision %d after requests that changed nothing", got)
	}
}

func TestRepeatedRequestIsAnsweredOnceTheFirstIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		first := submit(t, r, request("r", admit("a")))
		synctest.Wait()
		again := submit(t, r, request("r", admit("b"))) // its ID alone counts
		if !waiting(again) {
			t.Error("answered before the first is durable")
		}
		if _, err := r.Outcome("r"); !errors.Is(err, registrar.ErrNoRequest) {
			t.Errorf("outcome before it is durable: %v", err)
		}
		release(nil)
		want, _ := first.Wait(t.Context())
		if got, err := again.Wait(t.Context()); err != nil || got != want || !got.Changed {
			t.Errorf("the second ended with %+v, %v; the first with %+v", got, err, want)
		}
		wantAgents(t, r.Snapshot(), "a admitted")
	})
}

func TestRepeatedRequestOfALostRecordIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: store.NewMemory()}
		r := open(t, g, registrar.Options{})
		synctest.Wait() // the first record of the epoch is durable
		release := g.hold()
		submit(t, r, request("r", ops.Remove{ID: "nobody"}))
		synctest.Wait()
		again := submit(t, r, request("r", ops.Remove{ID: "nobody"}))
		synctest.Wait()
		release(errDisk)
		_, err := again.Wait(t.Context())
		if !errors.Is(err, registrar.ErrUnknown) || errors.Is(err, registrar.ErrNotApplied) {
			t.Errorf("ended with %v", err)
		}
		if _, err := r.Outcome("r"); !errors.Is(err, registrar.ErrNoRequest) {
			t.Errorf("outcome: %v", err)
		}
	})
}

// TestWindowOfRequestsDoesWhatAListDoes holds the answers against a list of the
// last few IDs, across reopenings that read records, checkpoints or both.
func TestWindowOfRequestsDoesWhatAListDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(t, "window")
		m := store.NewMemory()
		answers := map[string]string{}
		var window []string
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			r, err := registrar.Open(context.Background(), m, registrar.Options{
				Logger: quiet, MaxRequests: most, HistoryRecords: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			checkpoint := rapid.IntRange(0, 20).Draw(t, "checkpoint before")
			for i := range rapid.IntRange(0, 20).Draw(t, "requests") {
				if i == checkpoint {
					if err := r.Checkpoint(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				id := fmt.Sprint(rapid.IntRange(0, 8).Draw(t, "id"))
				got := text(r.Apply(context.Background(), request(id, drawOperation(t))))
				if want, known := answers[id]; known && got != want {
					t.Fatalf("request %s ended with %s, at first with %s", id, got, want)
				} else if !known {
					answers[id], window = got, append(window, id)
				}
				if len(window) > most {
					delete(answers, window[0])
					window = window[1:]
				}
				outcomes(t, r, answers)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			m = m.Reopen()
		}
	})
}

func text(result registrar.Result, err error) string { return fmt.Sprint(result, err) }

func outcomes(t *rapid.T, r *registrar.Registrar, answers map[string]string) {
	for id := range 9 {
		result, err := r.Outcome(fmt.Sprint(id))
		want, known := answers[fmt.Sprint(id)]
		if known && text(result, err) != want || !known && !errors.Is(err, registrar.ErrNoRequest) {
			t.Fatalf("outcome of %d is %+v, %v; want %q", id, result, err, want)
		}
	}
}

// verbose is an operation of an embedder that is refused at length.
type verbose struct{}

func (verbose) Apply(*registry.Draft) error { return errors.New(strings.Repeat("ä", 1000)) }

func TestLongRefusalIsKeptShort(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	if _, err := r.Apply(t.Context(), request("r", verbose{})); len(err.Error()) != 2000 {
		t.Errorf("at first: %v", err)
	}
	r.Close()
	r = open(t, m.Reopen(), registrar.Options{})
	var refused *registrar.RefusedError
	if _, err := r.Outcome("r"); !errors.As(err, &refused) || refused.Text != strings.Repeat("ä", 256) || refused.Unwrap() != nil {
		t.Errorf("after reopening: %v", err)
	}
}

func TestRefusalForTwoReasonsIsBothAfterReopening(t *testing.T) {
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	r.Apply(t.Context(), request("r", ops.Delete{Table: "t", Key: "k", If: ops.AtRevision(7)}))
	r.Close()
	r = open(t, m.Reopen(), registrar.Options{})
	if _, err := r.Outcome("r"); !errors.Is(err, ops.ErrNoKey) || !errors.Is(err, ops.ErrRevision) || errors.Is(err, ops.ErrGone) {
		t.Errorf("after reopening: %v", err)
	}
}

// TestEveryReasonOfOpsSurvivesReopening finds the reasons in the source of
// package ops, so that a new one is not forgotten.
func TestEveryReasonOfOpsSurvivesReopening(t *testing.T) {
	files, err := filepath.Glob("../ops/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Err") && reasons[v.Names[0].Name] == nil {
				t.Errorf("ops.%s is not tested here; does registrar/requests.go number it?", v.Names[0].Name)
			}
			return true
		})
	}
	m := store.NewMemory()
	r := open(t, m, registrar.Options{})
	for name, reason := range reasons {
		if _, err := r.Apply(t.Context(), request(name, refusedFor{reason})); !errors.Is(err, reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Close()
	r = open(t, m.Reopen(), registrar.Options{})
	for name, reason := range reasons {
		if _, err := r.Outcome(name); !errors.Is(err, reason) {
			t.Errorf("%s after reopening: %v", name, err)
		}
	}
}

var reasons = map[string]error{
	"ErrAdmitted": ops.ErrAdmitted, "ErrUnreachable": ops.ErrUnreachable, "ErrGone": ops.ErrGone,
	"ErrNotKnown": ops.ErrNotKnown, "ErrNotAdmitted": ops.ErrNotAdmitted, "ErrDraining": ops.ErrDraining,
	"ErrNotDraining": ops.ErrNotDraining, "ErrIncarnation": ops.ErrIncarnation, "ErrTooLarge": registrar.ErrTooLarge,
	"ErrRevision": ops.ErrRevision, "ErrNoKey": ops.ErrNoKey,
	"ErrPodDefined": ops.ErrPodDefined, "ErrNoPod": ops.ErrNoPod,
}

// refusedFor is an operation that is refused for a reason.
type refusedFor struct{ reason error }

func (o refusedFor) Apply(*registry.Draft) error { return fmt.Errorf("refused: %w", o.reason) }

// TestAnswersUnderWayDoNotTakeThePlaceOfDurableOnes crashes with a window full
// of answers that are durable and as many that never will be.
func TestAnswersUnderWayDoNotTakeThePlaceOfDurableOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		g := &gate{Store: m}
		o := registrar.Options{MaxRequests: 3, CheckpointBytes: 1}
		r := open(t, g, o)
		var want []registrar.Result
		for i := range 3 {
			want = append(want, apply(t, r, request(fmt.Sprint(i), admit(fmt.Sprint(i)))))
		}
		release := g.hold()
		for i := range 3 {
			submit(t, r, request(fmt.Sprint("lost ", i), admit(fmt.Sprint("lost ", i))))
		}
		synctest.Wait()
		if err := r.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds := func(r *registrar.Registrar) {
			t.Helper()
			for i := range 3 {
				if got, err := r.Outcome(fmt.Sprint(i)); err != nil || got != want[i] {
					t.Errorf("outcome of request %d: %+v, %v", i, got, err)
				}
			}
		}
		holds(r)
		release(errDisk)
		r.Close()
		again := open(t, m.Reopen(), o)
		holds(again)
		again.Close()
	})
}

func TestWhatARequestIsRefusedWithIsNotKept(t *testing.T) {
	r := open(t, store.NewMemory(), registrar.Options{})
	_, first := r.Apply(t.Context(), request("r", ops.Remove{ID: "a"}))
	_, again := r.Apply(t.Context(), request("r", ops.Remove{ID: "a"}))
	var refused *registrar.RefusedError
	if !errors.As(first, new(*ops.Error)) || !errors.As(again, &refused) || refused.Text != first.Error() || !errors.Is(again, ops.ErrNotAdmitted) {
		t.Errorf("first %v (%T), again %v (%T)", first, first, again, again)
	}
}
