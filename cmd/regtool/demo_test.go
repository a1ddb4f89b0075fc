package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// admitted is a registry with these demo agents on top of one that was there.
func admitted(t *testing.T, numbers ...int) (before, after *registry.Registry) {
	t.Helper()
	d := registry.New().Draft()
	apply(t, d, ops.Admit{Agent: registry.Agent{ID: "old"}})
	before = d.Freeze()
	for _, i := range numbers {
		apply(t, d, ops.Admit{Agent: demoAgent(i)})
	}
	return before, d.Freeze()
}

func apply(t *testing.T, d *registry.Draft, op ops.Operation) {
	t.Helper()
	if _, err := d.Try(op.Apply); err != nil {
		t.Fatal(err)
	}
}

func answers(numbers ...int) map[registry.AgentID]bool {
	ids := map[registry.AgentID]bool{}
	for _, i := range numbers {
		ids[demoAgent(i).ID] = true
	}
	return ids
}

func TestProofCountsWhatIsThere(t *testing.T) {
	before, after := admitted(t, 0, 1, 2)
	got, err := prove(before, after, answers(0, 1), 5)
	if want := (proof{Answered: 2, Whole: 1, Absent: 2}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestProofFailsWhen(t *testing.T) {
	for name, c := range map[string]struct {
		after func(d *registry.Draft)
		want  string
	}{
		"an acknowledged agent is lost": {
			func(d *registry.Draft) { apply(t, d, ops.Remove{ID: demoAgent(1).ID}) },
			`agent "demo-agent-000001" was acknowledged and is lost`},
		"an agent is half there": {
			func(d *registry.Draft) {
				apply(t, d, ops.Update{Agent: registry.Agent{ID: demoAgent(1).ID, Hostname: "?"}})
			},
			`agent "demo-agent-000001" is half there`},
		"an older agent has changed": {
			func(d *registry.Draft) { apply(t, d, ops.Drain{ID: "old"}) },
			"the registry has 4 entries and digest"},
		"an agent is there that nobody admitted": {
			func(d *registry.Draft) { apply(t, d, ops.Admit{Agent: registry.Agent{ID: "new"}}) },
			"the registry has 5 entries and digest"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := admitted(t, 0, 1, 2)
			d := after.Draft()
			c.after(d)
			if _, err := prove(before, d.Freeze(), answers(0, 1, 2), 5); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestAnswersEndAtTheLastWholeLine(t *testing.T) {
	killed := false
	got, err := readAnswers(strings.NewReader("a1\na2\na3"), func() { killed = true })
	if err != nil || len(got) != 2 || !got["a1"] || !got["a2"] || killed {
		t.Errorf("got %v, %v, killed %v", got, err, killed)
	}
}

func TestInterruptedDemoKeepsOnlyWhatIsThere(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("interrupt signal received"))
	code, _, stderr := call(t, ctx, "demo")
	if code != exitFailed || stderr != "regtool demo: interrupted (interrupt signal received)\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	d := &demo{dir: tmp}
	if got, want := d.failed(errors.New("broken")).Error(), "broken; its registry is kept in "+tmp; got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
}
