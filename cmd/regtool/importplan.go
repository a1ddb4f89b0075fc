package main

import (
	"context"
	"fmt"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// effect is what an import makes of an agent, in the words of its summary.
type effect string

// The effects that change something, and those that do not.
const (
	newAdmitted    effect = "admitted"
	newUnreachable effect = "added as unreachable"
	newGone        effect = "added as gone"
	updated        effect = "updated"
	readmitted     effect = "readmitted"
	lost           effect = "marked unreachable"
	markedGone     effect = "marked gone"
	ordered        effect = "drained or deactivated"
	masterSet      effect = "master set"
	unchanged      effect = "unchanged"
	staysGone      effect = "gone here, stays gone"
	staysOrdered   effect = "drained or deactivated here, stays so"
)

// effects are in the order of the summary.
var effects = []effect{
	newAdmitted, newUnreachable, newGone, updated, readmitted, lost, markedGone, ordered, masterSet,
	unchanged, staysGone, staysOrdered,
}

// step is one operation of an import and what it amounts to if it changes
// something. Without an operation it is only worth telling.
type step struct {
	effect effect
	op     ops.Operation
}

// importSteps decides what an import does about one agent, given what the
// registry holds of it. The input is right about where an agent stands and
// what it says of itself; but gone is for good, and an order to drain or
// deactivate, given here, is not taken back by a file that knows nothing of
// it. A repeated import therefore finds nothing to do.
func importSteps(here registry.Entry, known bool, e mesosjson.Entry) ([]step, error) {
	if !known {
		return []step{{newIn(e.Status.State), ops.Restore{ID: e.ID, Status: e.Status, Agent: e.Agent}}}, nil
	}
	have := here.Status()
	if have.State == registry.Gone {
		if e.Status.State == registry.Gone {
			return nil, nil
		}
		return []step{{effect: staysGone}}, nil
	}
	switch e.Status.State {
	case registry.Gone:
		return []step{{markedGone, ops.MarkGone{ID: e.ID, At: e.Status.At}}}, nil
	case registry.Unreachable:
		var list []step
		if have.State == registry.Admitted {
			list = append(list, step{lost, ops.MarkUnreachable{ID: e.ID, At: e.Status.At}})
		}
		return append(list, orders(e, have)...), nil
	}
	agent, err := here.Agent()
	if err != nil {
		return nil, err
	}
	back := step{updated, ops.Update{Agent: e.Over(agent)}}
	if have.State == registry.Unreachable {
		back = step{readmitted, ops.Readmit{Agent: e.Over(agent)}}
	}
	return append([]step{back}, orders(e, have)...), nil
}

func newIn(s registry.State) effect {
	switch s {
	case registry.Unreachable:
		return newUnreachable
	case registry.Gone:
		return newGone
	}
	return newAdmitted
}

// orders brings a drain or deactivation as far as the input has it, and never
// back.
func orders(e mesosjson.Entry, have registry.Status) []step {
	want := e.Status
	if rank(want) < rank(have) {
		if e.Recovered {
			return nil // the input does not say
		}
		return []step{{effect: staysOrdered}}
	}
	if rank(want) == rank(have) {
		return nil
	}
	drain := step{ordered, ops.Drain{ID: e.ID, MaxGrace: want.Drain.MaxGrace, MarkGone: want.Drain.MarkGone}}
	drained := step{ordered, ops.MarkDrained{ID: e.ID}}
	switch {
	case want.Drain.State == 0:
		return []step{{ordered, ops.Deactivate{ID: e.ID}}}
	case want.Drain.State == registry.Draining:
		return []step{drain}
	case have.Drain.State == registry.Draining:
		return []step{drained}
	}
	return []step{drain, drained}
}

// rank is how far an agent is on its way out.
func rank(s registry.Status) int {
	switch {
	case s.Drain.State != 0:
		return 1 + int(s.Drain.State)
	case s.Deactivated:
		return 1
	}
	return 0
}

// masterSteps sets the master of a registry that never had one. Who leads a
// registry in use is for its masters to say.
func masterSteps(reg *registry.Registry, m *registry.Master) []step {
	if _, known := reg.Master(); known || m == nil {
		return nil
	}
	return []step{{masterSet, ops.SetMaster{Master: *m}}}
}

// rehearsal runs the operations of an import on a draft that is thrown away.
type rehearsal struct {
	draft *registry.Draft
	count map[effect]int
	tried int
}

func rehearse(reg *registry.Registry) *rehearsal {
	return &rehearsal{draft: reg.Draft(), count: map[effect]int{}}
}

// try runs the steps of one agent, or of the master, and counts what came of
// them.
func (r *rehearsal) try(steps []step) error {
	last := unchanged
	for _, s := range steps {
		changed := s.op == nil
		if s.op != nil {
			var err error
			if changed, err = r.draft.Try(s.op.Apply); err != nil {
				return err
			}
		}
		if changed && s.effect != last { // two operations may have one effect
			r.count[s.effect]++
			last = s.effect
		}
	}
	if last == unchanged {
		r.count[unchanged]++
	}
	// The draft keeps what it changed, for a log that is not wanted here.
	if r.tried++; r.tried%4096 == 0 {
		r.draft.Reset(r.draft.Freeze())
	}
	return nil
}

// changes is how many operations would change something.
func (r *rehearsal) changes(reg *registry.Registry) uint64 {
	return r.draft.Revision() - reg.Revision()
}

// walk reads the input and hands the steps of each agent, and then of the
// master, to each, in order. An agent stands in the input once, so reg may be
// the registry from before the import throughout.
func walk(ctx context.Context, in *spool, reg *registry.Registry, each func([]step) error) (mesosjson.Report, error) {
	r, err := in.reader(ctx)
	if err != nil {
		return mesosjson.Report{}, err
	}
	report, err := mesosjson.Read(r, func(e mesosjson.Entry) error {
		here, known := reg.Entry(e.ID)
		steps, err := importSteps(here, known, e)
		if err == nil {
			err = each(steps)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		return nil
	})
	if err != nil {
		return report, err
	}
	if steps := masterSteps(reg, report.Master); steps != nil {
		err = each(steps)
	}
	return report, err
}
