package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// earlyAt is when agents were lost here; the inputs say 200.
var earlyAt = time.Unix(100, 0)

// inputs are entries of agent "a" as an input may have them.
var inputs = map[string]string{
	"admitted":    `{"slaves":{"slaves":[{"info":{"id":{"value":"a"},"hostname":"new","port":1}}]}}`,
	"deactivated": `{"slaves":{"slaves":[{"deactivated":true,"info":{"id":{"value":"a"},"hostname":"h","port":1}}]}}`,
	"draining": `{"slaves":{"slaves":[{"drain_info":{"state":"DRAINING","config":{"mark_gone":true,"max_grace_period":{"nanoseconds":5}}},
		"info":{"id":{"value":"a"},"hostname":"h","port":1}}]}}`,
	"drained":     `{"slaves":{"slaves":[{"drain_info":{"state":"DRAINED","config":{}},"info":{"id":{"value":"a"},"hostname":"h","port":1}}]}}`,
	"same":        `{"slaves":{"slaves":[{"info":{"id":{"value":"a"},"hostname":"h","port":1}}]}}`,
	"recovered":   `{"slaves":[],"recovered_slaves":[{"id":"a","hostname":"h","port":1}]}`,
	"unreachable": `{"unreachable":{"slaves":[{"id":{"value":"a"},"timestamp":{"nanoseconds":200000000000}}]}}`,
	"gone":        `{"gone":{"slaves":[{"id":{"value":"a"},"timestamp":{"nanoseconds":200000000000}}]}}`,
}

// standings make a registry in which agent "a" stands somewhere.
var standings = map[string][]ops.Operation{
	"unknown":     nil,
	"admitted":    {admitA},
	"deactivated": {admitA, ops.Deactivate{ID: "a"}},
	"draining":    {admitA, ops.Drain{ID: "a"}},
	"drained":     {admitA, ops.Drain{ID: "a"}, ops.MarkDrained{ID: "a"}},
	"unreachable": {admitA, ops.MarkUnreachable{ID: "a", At: earlyAt}},
	"only an ID":  {ops.Restore{ID: "a", Status: registry.Status{State: registry.Unreachable, At: earlyAt}}},
	"gone":        {admitA, ops.MarkGone{ID: "a", At: earlyAt}},
}

var admitA = ops.Admit{Agent: registry.Agent{ID: "a", Hostname: "h", Port: 1, Incarnation: "boot", Labels: map[string]string{"k": "v"}}}

func TestImportBringsAnAgentToWhatTheInputSays(t *testing.T) {
	for _, c := range []struct{ here, input, effects, end string }{
		{"unknown", "admitted", "admitted", "admitted new"},
		{"unknown", "draining", "admitted", "admitted h DRAINING"},
		{"unknown", "unreachable", "added as unreachable", "unreachable at 200"},
		{"unknown", "gone", "added as gone", "gone at 200"},

		{"admitted", "same", "unchanged", "admitted h boot"},
		{"admitted", "admitted", "updated", "admitted new boot"},
		{"admitted", "recovered", "unchanged", "admitted h boot"},
		{"admitted", "unreachable", "marked unreachable", "unreachable h boot at 200"},
		{"admitted", "gone", "marked gone", "gone h boot at 200"},
		{"admitted", "deactivated", "drained or deactivated", "admitted h boot deactivated"},
		{"admitted", "draining", "drained or deactivated", "admitted h boot DRAINING"},
		{"admitted", "drained", "drained or deactivated", "admitted h boot DRAINED"},

		{"deactivated", "same", "drained or deactivated here, stays so", "admitted h boot deactivated"},
		{"deactivated", "recovered", "unchanged", "admitted h boot deactivated"},
		{"deactivated", "draining", "drained or deactivated", "admitted h boot DRAINING"},
		{"draining", "draining", "unchanged", "admitted h boot DRAINING"},
		{"draining", "drained", "drained or deactivated", "admitted h boot DRAINED"},
		{"draining", "deactivated", "drained or deactivated here, stays so", "admitted h boot DRAINING"},
		{"draining", "unreachable", "drained or deactivated here, stays so, marked unreachable", "unreachable h boot at 200 DRAINING"},
		{"drained", "draining", "drained or deactivated here, stays so", "admitted h boot DRAINED"},

		{"unreachable", "same", "readmitted", "admitted h boot"},
		{"unreachable", "admitted", "readmitted", "admitted new boot"},
		{"unreachable", "unreachable", "unchanged", "unreachable h boot at 100"},
		{"unreachable", "gone", "marked gone", "gone h boot at 200"},
		{"only an ID", "admitted", "readmitted", "admitted new"},

		{"gone", "admitted", "gone here, stays gone", "gone h boot at 100"},
		{"gone", "unreachable", "gone here, stays gone", "gone h boot at 100"},
		{"gone", "gone", "unchanged", "gone h boot at 100"},
	} {
		t.Run(c.here+"/"+c.input, func(t *testing.T) {
			reg, in := with(t, registry.New(), standings[c.here]...), spoolOf(t, inputs[c.input])
			end, effects := imported(t, reg, in)
			if effects != c.effects {
				t.Errorf("effects: %s, want %s", effects, c.effects)
			}
			if got := standing(t, end); got != c.end {
				t.Errorf("agent ends as %q, want %q", got, c.end)
			}
			if again, _ := imported(t, end, in); again.Revision() != end.Revision() {
				t.Errorf("importing it again makes revision %d of %d", again.Revision(), end.Revision())
			}
		})
	}
}

func with(t *testing.T, reg *registry.Registry, operations ...ops.Operation) *registry.Registry {
	t.Helper()
	d := reg.Draft()
	for _, op := range operations {
		if _, err := d.Try(op.Apply); err != nil {
			t.Fatal(err)
		}
	}
	return d.Freeze()
}

// imported is reg after an import, and what the import made of agents.
func imported(t *testing.T, reg *registry.Registry, in *spool) (*registry.Registry, string) {
	t.Helper()
	dry := rehearse(reg)
	if _, err := walk(t.Context(), in, reg, dry.try); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range effects {
		if n := dry.count[e]; n > 1 {
			t.Errorf("one agent counts %d times as %s", n, e)
		} else if n == 1 {
			list = append(list, string(e))
		}
	}
	// What stays is read more easily first.
	if len(list) == 2 && list[1] == string(staysOrdered) {
		list[0], list[1] = list[1], list[0]
	}
	return dry.draft.Freeze(), strings.Join(list, ", ")
}

func spoolOf(t *testing.T, input string) *spool {
	t.Helper()
	src, err := sourceOf("-", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSpool(t.Context(), src, progressOn(&cobra.Command{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// standing describes agent "a".
func standing(t *testing.T, reg *registry.Registry) string {
	t.Helper()
	e, ok := reg.Entry("a")
	if !ok {
		return "unknown"
	}
	a, err := e.Agent()
	if err != nil {
		t.Fatal(err)
	}
	s := e.Status()
	words := []string{s.State.String(), a.Hostname, a.Incarnation}
	if !s.At.IsZero() {
		words = append(words, fmt.Sprintf("at %d", s.At.Unix()))
	}
	switch {
	case s.Drain.State != 0:
		words = append(words, s.Drain.State.String())
	case s.Deactivated:
		words = append(words, "deactivated")
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func TestImportSetsTheMasterOnlyWhereNoneIsKnown(t *testing.T) {
	in := spoolOf(t, `{"id":"m2","hostname":"h","slaves":[]}`)
	end, effects := imported(t, registry.New(), in)
	if m, _ := end.Master(); m.ID != "m2" || effects != "master set" {
		t.Errorf("master is %q, effects %s", m.ID, effects)
	}
	reg := with(t, registry.New(), ops.SetMaster{Master: registry.Master{ID: "m1"}})
	end, effects = imported(t, reg, in)
	if m, _ := end.Master(); m.ID != "m1" || effects != "" {
		t.Errorf("master is %q, effects %s", m.ID, effects)
	}
}

// However far an import came before it was interrupted, the same import again
// ends where an uninterrupted one does.
func TestInterruptedImportIsMendedByRepeatingIt(t *testing.T) {
	reg := registry.New()
	var list []*spool // an input for each agent
	for here := range standings {
		for name := range inputs {
			id := strings.ReplaceAll(here+" "+name, " ", "-")
			reg = with(t, reg, renamed(standings[here], registry.AgentID(id))...)
			list = append(list, spoolOf(t, strings.ReplaceAll(inputs[name], `"a"`, fmt.Sprintf("%q", id))))
		}
	}
	var operations []ops.Operation
	for _, in := range list {
		if _, err := walk(t.Context(), in, reg, func(steps []step) error {
			for _, s := range steps {
				if s.op != nil {
					operations = append(operations, s.op)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	whole := with(t, reg, operations...)
	for n := range operations {
		broken := with(t, reg, operations[:n]...)
		for _, in := range list {
			broken, _ = imported(t, broken, in)
		}
		if broken.Digest() != whole.Digest() {
			t.Fatalf("after %d of %d operations, repeating the import ends elsewhere", n, len(operations))
		}
	}
}

// renamed is operations on another agent than "a".
func renamed(operations []ops.Operation, id registry.AgentID) (list []ops.Operation) {
	for _, op := range operations {
		switch o := op.(type) {
		case ops.Admit:
			o.Agent.ID = id
			op = o
		case ops.Deactivate:
			o.ID = id
			op = o
		case ops.Drain:
			o.ID = id
			op = o
		case ops.MarkDrained:
			o.ID = id
			op = o
		case ops.MarkUnreachable:
			o.ID = id
			op = o
		case ops.Restore:
			o.ID = id
			op = o
		case ops.MarkGone:
			o.ID = id
			op = o
		}
		list = append(list, op)
	}
	return list
}

func TestImportNamesThePlaceOfARefusedAgent(t *testing.T) {
	long := strings.Repeat("x", registry.MaxAgent)
	input := `{"slaves":[{"id":"ok","hostname":"h"},{"id":"a","hostname":"` + long + `"}]}`
	reg := registry.New()
	_, err := walk(t.Context(), spoolOf(t, input), reg, rehearse(reg).try)
	if err == nil || !strings.HasPrefix(err.Error(), `slaves[1]: restore agent "a": `) {
		t.Errorf("error is %.200v, want the place and the operation", err)
	}
}
