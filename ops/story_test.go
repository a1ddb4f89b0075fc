package ops_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// TestStories runs the files of testdata: one story a file, its commands on
// one registry that is empty at first. After `go test ./ops -rewrite` the files
// hold what the operations did; read the difference.
//
// A command is an operation (see parseOperation), or
//
//	show           every agent in order of arrival, the master, every key of user tables,
//	               every pod, what follows from them
//	order STATE    the agents in that state, those that came into it first first
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := story{registry: registry.New()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "show":
				return s.show()
			case "order":
				return s.order(d.CmdArgs[0].Key)
			}
			op, err := parseOperation(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			outcome := s.apply(op)
			for _, err := range s.registry.Check() {
				d.Fatalf(t, "after it: %v", err)
			}
			return outcome
		})
	})
}

// story is a registry and what happens to it.
type story struct{ registry *registry.Registry }

// apply does one operation and says what came of it.
func (s *story) apply(op ops.Operation) string {
	before := s.registry
	d := before.Draft()
	changed, err := d.Try(op.Apply)
	s.registry = d.Freeze()
	if !changed && !same(before, s.registry) {
		return "the draft was changed, and should not have been"
	}
	switch {
	case err != nil:
		return fmt.Sprintf("refused: %v\nreason: %s", err, reason(err))
	case !changed:
		return "unchanged"
	}
	return fmt.Sprintf("changed: revision %d", s.registry.Revision())
}

// same reports whether a and b cannot be told apart.
func same(a, b *registry.Registry) bool {
	entry := func(x, y registry.Entry) bool { return x == y }
	return a.Revision() == b.Revision() && a.Digest() == b.Digest() && a.Count() == b.Count() &&
		equalSeq(a.Entries(), b.Entries(), entry)
}

func equalSeq[T any](a, b iter.Seq[T], equal func(T, T) bool) bool {
	return slices.EqualFunc(slices.Collect(a), slices.Collect(b), equal)
}

// reasons are all that callers can test for.
var reasons = map[string]error{
	"ErrAdmitted": ops.ErrAdmitted, "ErrUnreachable": ops.ErrUnreachable, "ErrGone": ops.ErrGone,
	"ErrNotKnown": ops.ErrNotKnown, "ErrNotAdmitted": ops.ErrNotAdmitted, "ErrDraining": ops.ErrDraining,
	"ErrNotDraining": ops.ErrNotDraining, "ErrIncarnation": ops.ErrIncarnation,
	"ErrRevision": ops.ErrRevision, "ErrNoKey": ops.ErrNoKey,
	"ErrPodDefined": ops.ErrPodDefined, "ErrNoPod": ops.ErrNoPod,
}

// reason is what errors.Is and errors.As make of a refusal.
func reason(err error) string {
	var found []string
	for name, target := range reasons {
		if errors.Is(err, target) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	var field *registry.FieldError
	if errors.As(err, &field) {
		found = append(found, "field "+field.Field)
	}
	var refusal *ops.Error
	if errors.As(err, &refusal) {
		found = append(found, fmt.Sprintf("of agent %q", refusal.Agent))
	}
	var key *ops.KeyError
	if errors.As(err, &key) {
		found = append(found, fmt.Sprintf("of key %q in table %q", key.Key, key.Table))
	}
	var pod *ops.PodError
	if errors.As(err, &pod) {
		found = append(found, fmt.Sprintf("of pod %q", pod.Pod))
	}
	return strings.Join(found, ", ")
}

func (s *story) show() string {
	var b strings.Builder
	for e := range s.registry.Entries() {
		b.WriteString(describe(e) + "\n")
	}
	if m, ok := s.registry.Master(); ok {
		fmt.Fprintf(&b, "master %s %s\n", m.ID, m.Hostname)
	}
	for table := range s.registry.Tables() {
		for key, item := range s.registry.Keys(table, "") {
			fmt.Fprintf(&b, "key %q of %q since=%d value=%q\n", key, table, item.Revision, item.Value)
		}
	}
	for p := range s.registry.Pods() {
		fmt.Fprintf(&b, "pod %q since=%d version=%s definition=%q\n", p.ID, p.Revision, p.Version.Format(time.RFC3339Nano), p.Definition)
	}
	if c := s.registry.MinimumCapabilities(); len(c) > 0 {
		fmt.Fprintf(&b, "capabilities %s\n", strings.Join(c, " "))
	}
	return cmp.Or(b.String(), "nothing")
}

func describe(e registry.Entry) string {
	words := []string{string(e.ID()), e.State().String(), fmt.Sprintf("since=%d", e.Since())}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	a, err := e.Agent()
	s := e.Status()
	add(err != nil, "error=%v", err)
	add(!s.At.IsZero(), "at=%s", s.At.Format(time.RFC3339))
	add(!e.Known(), "no info")
	add(a.Hostname != "", "host=%s", a.Hostname)
	add(a.Incarnation != "", "incarnation=%s", a.Incarnation)
	add(s.Deactivated, "deactivated")
	add(s.Drain.State != 0, "%v", s.Drain.State)
	add(s.Drain.MaxGrace != nil, "grace=%v", s.Drain.MaxGrace)
	add(s.Drain.MarkGone, "mark-gone")
	return strings.Join(words, " ")
}

func (s *story) order(state string) string {
	var entries []registry.Entry
	for e := range s.registry.Entries(states[state]) {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b registry.Entry) int { return cmp.Compare(a.Since(), b.Since()) })
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s since=%d\n", e.ID(), e.Since())
	}
	return cmp.Or(b.String(), "nobody")
}
