package registry

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// FieldError says which field of an agent, status, master, key or pod is not
// acceptable, and why. Nothing was changed.
type FieldError struct {
	Field  string // as in "resources[2].name"
	Reason string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

func badField(reason, format string, args ...any) error {
	return &FieldError{Field: fmt.Sprintf(format, args...), Reason: reason}
}

const notUTF8 = "is not valid UTF-8"

// Validate returns a [*FieldError] unless id is acceptable: 1 to [MaxID] bytes
// of UTF-8 without control characters, slashes or backslashes, and neither "."
// nor "..". These are Mesos's rules (validateID in src/common/validation.cpp);
// with them an ID can stand in a path and in the name of a metric.
func (id AgentID) Validate() error {
	switch {
	case id == "":
		return badField("is empty", "id")
	case len(id) > MaxID:
		return badField(fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), MaxID), "id")
	case id == "." || id == "..":
		return badField(fmt.Sprintf("%q is a name of a directory", string(id)), "id")
	case !utf8.ValidString(string(id)):
		return badField(notUTF8, "id")
	}
	for i := range len(id) { // bytes, not runes, as this runs for every agent that Redo reads
		if c := id[i]; notInID[c] {
			return badField(fmt.Sprintf("contains the character %q", c), "id")
		}
	}
	return nil
}

// notInID has the characters that no ID has.
var notInID = func() (t [256]bool) {
	for c := range ' ' {
		t[c] = true
	}
	t[0x7f], t['/'], t['\\'] = true, true, true
	return t
}()

// Validate returns a [*FieldError] that names the first unacceptable field, or
// nil: the ID must be valid, every string UTF-8, every scalar finite, no
// resource less than nothing, every range in order. The bound on the size,
// [MaxAgent], is held when the agent is put into a [Draft].
func (a *Agent) Validate() error {
	if err := a.ID.Validate(); err != nil {
		return err
	}
	for _, f := range [...]struct{ name, text string }{
		{"hostname", a.Hostname}, {"incarnation", a.Incarnation},
		{"domain.region", a.Domain.Region}, {"domain.zone", a.Domain.Zone},
	} {
		if !utf8.ValidString(f.text) {
			return badField(notUTF8, "%s", f.name)
		}
	}
	for i := range a.Resources {
		if err := a.Resources[i].validate(i); err != nil {
			return err
		}
	}
	for i := range a.Attributes {
		if err := validateNamed("attributes", i, a.Attributes[i].Name, &a.Attributes[i].Value); err != nil {
			return err
		}
	}
	for k, v := range a.Labels {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return badField(notUTF8, "labels[%q]", k)
		}
	}
	return nil
}

func (r *Resource) validate(i int) error {
	if err := validateNamed("resources", i, r.Name, &r.Value); err != nil {
		return err
	}
	switch {
	case r.Value.Kind == KindText:
		return badField("a resource cannot be a text", "resources[%d].value", i)
	case r.Value.Kind == KindScalar && r.Value.Scalar < 0:
		return badField(fmt.Sprintf("%v is less than nothing", r.Value.Scalar), "resources[%d].value", i)
	}
	for j := range r.Reservations {
		v := &r.Reservations[j]
		if v.Role == "" {
			return badField("is empty", "resources[%d].reservations[%d].role", i, j)
		}
		if !utf8.ValidString(v.Role) {
			return badField(notUTF8, "resources[%d].reservations[%d].role", i, j)
		}
		if !utf8.ValidString(v.Principal) {
			return badField(notUTF8, "resources[%d].reservations[%d].principal", i, j)
		}
		for k, l := range v.Labels {
			if !utf8.ValidString(l.Key) || !utf8.ValidString(l.Value) {
				return badField(notUTF8, "resources[%d].reservations[%d].labels[%d]", i, j, k)
			}
		}
	}
	return nil
}

func validateNamed(list string, i int, name string, v *Value) error {
	if !utf8.ValidString(name) {
		return badField(notUTF8, "%s[%d].name", list, i)
	}
	if reason := v.invalid(); reason != "" {
		return badField(reason, "%s[%d].value", list, i)
	}
	return nil
}

// invalid says what is wrong with v, or nothing.
func (v *Value) invalid() string {
	switch v.Kind {
	case KindScalar:
		if math.IsNaN(v.Scalar) || math.IsInf(v.Scalar, 0) {
			return fmt.Sprintf("%v is not a finite number", v.Scalar)
		}
	case KindRanges:
		for _, r := range v.Ranges {
			if r.Begin > r.End {
				return fmt.Sprintf("range %d-%d ends before it begins", r.Begin, r.End)
			}
		}
	case KindSet:
		for _, s := range v.Set {
			if !utf8.ValidString(s) {
				return notUTF8
			}
		}
	case KindText:
		if !utf8.ValidString(v.Text) {
			return notUTF8
		}
	default:
		return fmt.Sprintf("kind %d is not known", v.Kind)
	}
	return ""
}

// The times that fit into nanoseconds since 1970.
var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// Validate returns a [*FieldError] for a status that no agent can have.
func (s *Status) Validate() error {
	switch {
	case s.State < Admitted || s.State > Gone:
		return badField(fmt.Sprintf("%d is not a state", s.State), "state")
	case s.State == Admitted && !s.At.IsZero():
		return badField("an admitted agent has no time of transition", "at")
	case !s.At.IsZero() && (s.At.Before(firstTime) || s.At.After(lastTime)):
		return badField("is out of range (years 1678 to 2262)", "at")
	case s.Drain.State > Drained:
		return badField(fmt.Sprintf("%d is not a drain state", s.Drain.State), "drain.state")
	case s.Drain.State == 0 && s.Drain != Drain{}:
		return badField("a drain without a state", "drain.state")
	case s.Drain.State != 0 && !s.Deactivated:
		return badField("a draining agent is deactivated", "deactivated")
	case s.Drain.MaxGrace != nil && *s.Drain.MaxGrace < 0:
		return badField(fmt.Sprintf("is %v, less than 0", *s.Drain.MaxGrace), "drain.max_grace")
	case s.State == Gone && s.Deactivated:
		return badField("a gone agent is neither drained nor deactivated", "deactivated")
	}
	return nil
}
