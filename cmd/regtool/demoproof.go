package main

import (
	"fmt"
	"reflect"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// proof says what a crash left of a number of admissions.
type proof struct {
	Answered int // were answered for, and all are there
	Whole    int // were not, and are there all the same, whole
	Absent   int // were not, and are not there at all
}

// prove holds the registry after the crash against the one before it and the
// answers that came through: every admission that was answered must be there,
// every other wholly or not at all, and nothing else may have changed. The
// latter is shown by making the same registry without a crash: equal contents
// have equal digests.
func prove(before, after *registry.Registry, answered map[registry.AgentID]bool, count int) (proof, error) {
	var p proof
	without := before.Draft()
	for i := range count {
		want := demoAgent(i)
		e, there := after.Entry(want.ID)
		switch {
		case !there && answered[want.ID]:
			return p, fmt.Errorf("agent %q was acknowledged and is lost", want.ID)
		case !there:
			p.Absent++
			continue
		case answered[want.ID]:
			p.Answered++
		default:
			p.Whole++
		}
		if got, err := e.Agent(); err != nil || e.State() != registry.Admitted || !reflect.DeepEqual(got, want) {
			return p, fmt.Errorf("agent %q is half there: %v, %+v, %v", want.ID, e.State(), got, err)
		}
		if _, err := without.Try(ops.Admit{Agent: want}.Apply); err != nil {
			return p, fmt.Errorf("make the registry without a crash: %w", err)
		}
	}
	if without.Digest() != after.Digest() || without.Count() != after.Count() {
		return p, fmt.Errorf("the registry has %d entries and digest %v, without a crash it would have %d and %v",
			after.Count(), after.Digest(), without.Count(), without.Digest())
	}
	return p, nil
}
