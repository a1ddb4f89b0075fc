package ops_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// every is each operation on the agent id, some in more than one form.
func every(id registry.AgentID) []ops.Operation {
	agent := registry.Agent{ID: id, Hostname: "new", Incarnation: "i2"}
	broken := registry.Agent{ID: id, Hostname: "\xff"}
	grace := time.Hour
	return []ops.Operation{
		ops.Admit{Agent: agent}, ops.Admit{Agent: broken}, ops.Admit{Agent: agent, Supersedes: "i1"},
		ops.Update{Agent: agent}, ops.Update{Agent: broken}, ops.Update{Agent: agent, Supersedes: "i1"},
		ops.Readmit{Agent: agent}, ops.Readmit{Agent: broken}, ops.Readmit{Agent: agent, Supersedes: "i1"},
		ops.Replace{Old: id, Agent: registry.Agent{ID: "fresh"}}, ops.Replace{Old: "none", Agent: agent},
		ops.Replace{Old: id, Agent: registry.Agent{ID: "fresh", Hostname: "\xff"}},
		ops.Restore{ID: id, Status: registry.Status{State: registry.Gone}},
		ops.Restore{ID: id, Status: registry.Status{State: registry.Admitted}},
		ops.MarkUnreachable{ID: id, At: noon}, ops.MarkGone{ID: id, At: noon}, ops.Remove{ID: id},
		ops.MarkUnreachable{ID: id, At: noon.AddDate(1000, 0, 0)}, ops.MarkGone{ID: id, At: noon.AddDate(1000, 0, 0)},
		ops.Drain{ID: id}, ops.Drain{ID: id, MaxGrace: &grace, MarkGone: true}, ops.MarkDrained{ID: id},
		ops.Deactivate{ID: id}, ops.Reactivate{ID: id},
		ops.Prune{Unreachable: []registry.AgentID{id}}, ops.Prune{Gone: []registry.AgentID{id}},
		ops.SetMaster{},
		ops.Put{Table: "jobs", Key: string(id), Value: "v"}, ops.Put{Table: "\xff", Key: string(id), If: ops.AtRevision(7)},
		ops.Put{Table: "jobs", Key: string(id), If: ops.AtRevision(7)}, ops.Put{Table: "jobs", Key: "there", If: ops.Absent()},
		ops.Put{Table: "jobs", Key: string(id), Value: strings.Repeat("v", registry.MaxValue+1)},
		ops.Delete{Table: "jobs", Key: string(id)}, ops.Delete{Table: "jobs", Key: "there"}, ops.Delete{Table: "\xff", Key: string(id)},
		ops.Delete{Table: "jobs", Key: string(id), If: ops.AtRevision(7)}, ops.Delete{Table: "jobs", Key: "there", If: ops.AtRevision(7)},
		ops.PutPod{Pod: pod(string(id))}, ops.PutPod{Pod: pod("/there"), New: true}, ops.PutPod{Pod: registry.Pod{ID: "/" + string(id)}},
		ops.RemovePod{ID: "/" + string(id)}, ops.RemovePod{ID: "/there"},
	}
}

func pod(id string) registry.Pod {
	return registry.Pod{ID: id, Version: noon, Definition: []byte(`{"id":"` + id + `"}`)}
}

// everyState is a registry with an agent in each state there is, drained or not.
func everyState(t *testing.T) *registry.Registry {
	t.Helper()
	d := registry.New().Draft()
	for _, s := range []registry.State{registry.Admitted, registry.Unreachable, registry.Gone} {
		for _, drain := range []registry.DrainState{0, registry.Draining, registry.Drained} {
			if s == registry.Gone && drain != 0 {
				continue
			}
			id := registry.AgentID(fmt.Sprintf("%v-%v", s, drain))
			status := registry.Status{State: s, Deactivated: drain != 0, Drain: registry.Drain{State: drain}}
			agent := registry.Agent{ID: id, Hostname: "old", Incarnation: "i1"}
			if err := (ops.Restore{ID: id, Status: status, Agent: &agent}).Apply(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, op := range []ops.Operation{ops.Put{Table: "jobs", Key: "there", Value: "v"}, ops.PutPod{Pod: pod("/there")}} {
		if _, err := d.Try(op.Apply); err != nil {
			t.Fatal(err)
		}
	}
	return d.Freeze()
}

func TestRefusedOperationsLeaveTheDraftAsItWas(t *testing.T) {
	reg := everyState(t)
	ids := []registry.AgentID{"unknown", ""}
	for e := range reg.Entries() {
		ids = append(ids, e.ID())
	}
	refused := 0
	for _, id := range ids {
		for _, op := range every(id) {
			d := reg.Draft()
			rows := string(d.Rows())
			changed, err := d.Try(op.Apply)
			if err == nil {
				continue
			}
			refused++
			if changed || string(d.Rows()) != rows || !same(reg, d.Freeze()) {
				t.Errorf("%T of %q was refused (%v), and changed the draft", op, id, err)
			}
			if errs := d.Freeze().Check(); len(errs) > 0 {
				t.Errorf("%T of %q was refused (%v), and left %v", op, id, err, errs)
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d operations were refused; the test means to see more", refused)
	}
}

// A caller that applies an operation without Try can still go on after a
// refusal, except that a Replace by an unacceptable agent has removed the old
// one by then: that is what Try is for.
func TestRefusedOperationsRecordNothingEvenOutsideTry(t *testing.T) {
	reg := everyState(t)
	for e := range reg.Entries() {
		for _, op := range every(e.ID()) {
			if r, ok := op.(ops.Replace); ok && r.Agent.Hostname == "\xff" {
				continue
			}
			d := reg.Draft()
			if err := op.Apply(d); err != nil && (d.Changes() > 0 || d.Digest() != reg.Digest() || d.Revision() != reg.Revision()) {
				t.Errorf("%T of %q was refused (%v), and recorded %d changes", op, e.ID(), err, d.Changes())
			}
		}
	}
}

func TestEveryRefusalNamesOperationAndAgentKeyOrPod(t *testing.T) {
	reg := everyState(t)
	for e := range reg.Entries() {
		for _, op := range every(e.ID()) {
			err := op.Apply(reg.Draft())
			if err == nil {
				continue
			}
			var refusal *ops.Error
			var key *ops.KeyError
			var pod *ops.PodError
			switch op.(type) {
			case ops.SetMaster:
				continue // is about no agent
			case ops.Put, ops.Delete:
				if !errors.As(err, &key) || key.Op == "" || key.Table == "" || key.Key == "" {
					t.Errorf("%T of %q: %v is not an *ops.KeyError with an operation, a table and a key", op, e.ID(), err)
				}
				continue
			case ops.PutPod, ops.RemovePod:
				if !errors.As(err, &pod) || pod.Op == "" || pod.Pod == "" {
					t.Errorf("%T of %q: %v is not an *ops.PodError with an operation and a pod", op, e.ID(), err)
				}
				continue
			}
			if !errors.As(err, &refusal) || refusal.Op == "" || refusal.Agent == "" {
				t.Errorf("%T of %q: %v is not an *ops.Error with an operation and an agent", op, e.ID(), err)
			}
		}
	}
}

func TestIncarnationErrorNamesBothMachines(t *testing.T) {
	d := registry.New().Draft()
	first := registry.Agent{ID: "a1", Hostname: "host-1", Port: 5051, Incarnation: "i1"}
	second := registry.Agent{ID: "a1", Hostname: "host-2", Port: 5052, Incarnation: "i2"}
	if err := (ops.Admit{Agent: first}).Apply(d); err != nil {
		t.Fatal(err)
	}
	for _, op := range []ops.Operation{ops.Admit{Agent: second}, ops.Update{Agent: second}, ops.Readmit{Agent: second}} {
		var got *ops.IncarnationError
		if err := op.Apply(d); !errors.As(err, &got) {
			t.Errorf("%T: %v has no *ops.IncarnationError", op, err)
			continue
		}
		want := ops.IncarnationError{
			Admitted: ops.Claimant{Hostname: "host-1", Port: 5051, Incarnation: "i1"},
			Claims:   ops.Claimant{Hostname: "host-2", Port: 5052, Incarnation: "i2"},
		}
		if *got != want {
			t.Errorf("%T names %+v, want %+v", op, *got, want)
		}
	}
}
