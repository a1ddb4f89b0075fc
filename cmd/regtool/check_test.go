package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// Bytes that are whole and mean nothing are found too: the checksums vouch for
// what was written, not for its sense.
func TestCheckFindsRecordsWithoutAMeaning(t *testing.T) {
	dir, l := newStore(t)
	durable, err := l.Append(store.Record{Mark: store.Mark{Seq: 1, Epoch: 1, Revision: 1, Count: 1}, First: 1, Data: []byte("not rows")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(durable(), l.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := checkDir(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if got.Sound || len(got.Findings) != 1 || got.Findings[0].Severity != wal.SeverityError ||
		got.Findings[0].Place != "registry" || !strings.Contains(got.Findings[0].Problem, "record 1") {
		t.Errorf("got %+v", got)
	}
	code, stdout, stderr := call(t, t.Context(), "check", "--dir", dir)
	if code != exitFailed || !strings.Contains(stdout, "\nerror     registry  ") || !strings.Contains(stderr, "1 finding") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestCheckListsADamagedAgentOnce(t *testing.T) {
	sound, d := registry.New().Draft(), registry.New().Draft()
	agent, status := registry.Agent{ID: "a1", Hostname: "host-1"}, registry.Status{State: registry.Admitted}
	if err := sound.PutAgent(agent, status); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(sound.Rows(), []byte("\xa6host-1"), []byte("\xc1host-1"), 1) // no text begins so
	if err := d.Redo(damaged, 1); err != nil {
		t.Fatal(err)
	}
	got := &diagnosis{}
	got.checkRegistry(d.Freeze())
	if len(got.Findings) != 1 || got.Findings[0].Place != "registry" || !strings.Contains(got.Findings[0].Problem, `"a1"`) {
		t.Errorf("got %+v, want one finding that names the agent", got.Findings)
	}
}

func TestCheckOfAnEmptyRegistryIsSound(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := checkDir(t.Context(), dir, false)
	want := &diagnosis{Sound: true, Findings: []wal.Finding{}, Digest: registry.New().Digest().String()}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestErrorsSayWhatToDoNext(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{wal.ErrNotExist, "regtool import --dir D FILE makes one"},
		{wal.ErrLocked, "stop the program that has it open first, or use what that program offers"},
		{wal.ErrVersion, "use the regtool that wrote it, or a newer one"},
		{registry.ErrVersion, "use the regtool that wrote it, or a newer one"},
		{&wal.CorruptError{Dir: "D", Err: errors.New("x")}, "regtool check --dir D lists all that is wrong"},
		{&wal.LostRecordsError{Dir: "D", From: 1}, "regtool check --dir D lists all that is wrong, --accept-loss goes on with what is left"},
		{&registry.CorruptError{Err: errors.New("x")}, "regtool check --dir D lists all that is wrong"},
		{&registrar.RecordError{Err: errors.New("x")}, "regtool check --dir D lists all that is wrong"},
		{&registrar.MismatchError{}, "regtool check --dir D lists all that is wrong"},
	} {
		got := advise("D", fmt.Errorf("open: %w", c.err))
		if !errors.Is(got, c.err) || !strings.HasSuffix(got.Error(), "; "+c.want) {
			t.Errorf("got %v, want it to end with %q", got, c.want)
		}
	}
	other := errors.New("other")
	if got := advise("D", other); got != other {
		t.Errorf("got %v", got)
	}
}

// A checkpoint that is wrong where no digest looks is found by replaying what
// led to it.
func TestDeepCheckFindsACheckpointThatIsNotWhatItsRecordsAmountTo(t *testing.T) {
	dir, l := newStore(t)
	r, err := registrar.Open(t.Context(), l, registrar.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	agent, key := ops.Admit{Agent: registry.Agent{ID: "a1"}}, ops.Put{Table: "t", Key: "k", Value: "v"}
	pod := ops.PutPod{Pod: registry.Pod{ID: "/p", Definition: []byte("{}")}}
	for _, op := range []ops.Operation{agent, ops.Remove{ID: "a1"}, agent, key, pod} {
		if _, err := r.Apply(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Stats()
	covers := store.Mark{Seq: s.Seq, Epoch: s.Epoch, Revision: s.Revision, Count: r.Snapshot().Count(), Digest: r.Snapshot().Digest()}
	forged := registry.New().Draft()
	for _, op := range []ops.Operation{agent, key, pod} { // at revisions 1 to 3, not 3 to 5
		if _, err := forged.Try(op.Apply); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Compact(t.Context(), covers, forged.Freeze().Chunks(1<<20), 0), r.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := checkDir(t.Context(), dir, false); err != nil || !got.Sound {
		t.Errorf("check finds %+v, %v", got, err)
	}
	got, err := checkDir(t.Context(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, f := range got.Findings {
		problems = append(problems, f.Place+": "+f.Problem)
	}
	if want := []string{
		"history: agents a1: it is in its state since revision 1, by the records since 3",
		"history: keys t k: it changed last at revision 2, by the records at 4",
		"history: pods /p: it changed last at revision 3, by the records at 5",
	}; !slices.Equal(problems, want) {
		t.Errorf("deep check finds\n%q, want\n%q", problems, want)
	}
}

// A registry in use that nobody may read cannot be looked at: that is no damage,
// nor is it reported as some.
func TestCheckOfARegistryInUseFindsNothing(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := wal.Open(dir, wal.Options{NoSocket: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, args := range [][]string{{"check", "--dir", dir}, {"check", "--dir", dir, "--deep", "--json"}} {
		code, stdout, stderr := call(t, t.Context(), args...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, "the store is in use") || strings.Contains(stderr, "finding") {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
