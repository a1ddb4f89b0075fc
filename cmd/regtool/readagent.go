package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	// Unlike encoding/json it refuses duplicate names, names in the wrong case
	// and text that is not UTF-8. It is the standard library's encoding/json/v2
	// to be, and can make room for it once that needs no GOEXPERIMENT.
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eaba02dc/registrar/registry"
)

// maxAgentFile bounds what apply reads: an agent of the largest size whose
// bytes JSON writes in up to six characters each ("\u0000"), and its names.
const maxAgentFile = 8 * registry.MaxAgent

// readAgent reads one agent in our JSON form, alone or as inspect lists it. It refuses what it does not
// know, so that a misspelt field is not lost in silence; the error names the
// field.
func readAgent(r io.Reader) (registry.Agent, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxAgentFile+1))
	if err != nil {
		return registry.Agent{}, err
	}
	if len(data) > maxAgentFile {
		return registry.Agent{}, fmt.Errorf("more than %d bytes; an agent takes up to %d", maxAgentFile, registry.MaxAgent)
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		return readListed(data)
	}
	var a agentJSON
	if err := json.Unmarshal(data, &a, json.RejectUnknownMembers(true)); err != nil {
		return registry.Agent{}, explainJSON(data, err)
	}
	return a.agent()
}

// readListed reads the agent of what inspect prints of one: its state and the
// rest of the registry's own account of it are passed over.
func readListed(data []byte) (registry.Agent, error) {
	var list []entryJSON
	if err := json.Unmarshal(data, &list, json.RejectUnknownMembers(true)); err != nil {
		return registry.Agent{}, explainJSON(data, err)
	}
	if len(list) != 1 {
		return registry.Agent{}, fmt.Errorf("a list of %s: it must hold one", counted(len(list), "agent"))
	}
	if list[0].Agent == nil {
		return registry.Agent{}, fmt.Errorf("nothing is known of agent %q but its ID", list[0].ID)
	}
	return list[0].Agent.agent()
}

// explainJSON says where in the text err is, in the words of the text and not
// of Go's types.
func explainJSON(data []byte, err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s: %w", place(syntax.JSONPointer, data, syntax.ByteOffset), syntax.Err)
	}
	var meaning *json.SemanticError
	if !errors.As(err, &meaning) {
		return err
	}
	where := place(meaning.JSONPointer, data, meaning.ByteOffset)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%s: unknown field", where)
	case meaning.Err != nil:
		return fmt.Errorf("%s: %w", where, meaning.Err)
	default:
		return fmt.Errorf("%s: a JSON %v does not fit here", where, meaning.JSONKind)
	}
}

func place(field jsontext.Pointer, data []byte, offset int64) string {
	line := 1
	for _, c := range data[:min(offset, int64(len(data)))] {
		if c == '\n' {
			line++
		}
	}
	if field == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d, field %q", line, string(field))
}

// agent is a in the registry's form. Whether the registry takes it is for
// [registry.Agent.Validate] to say.
func (a *agentJSON) agent() (registry.Agent, error) {
	out := registry.Agent{
		ID: registry.AgentID(a.ID), Incarnation: a.Incarnation, Hostname: a.Hostname, Port: a.Port,
		Checkpoint: a.Checkpoint, Labels: a.Labels, Payload: a.Payload,
	}
	if a.Domain != nil {
		out.Domain = registry.Domain{Region: a.Domain.Region, Zone: a.Domain.Zone}
	}
	for i, r := range a.Resources {
		v, err := r.value()
		if err != nil {
			return out, fmt.Errorf(`field "/resources/%d": %w`, i, err)
		}
		out.Resources = append(out.Resources,
			registry.Resource{Name: r.Name, Value: v, Reservations: fromReservationsJSON(r.Reservations)})
	}
	for i, attr := range a.Attributes {
		v, err := attr.value()
		if err != nil {
			return out, fmt.Errorf(`field "/attributes/%d": %w`, i, err)
		}
		out.Attributes = append(out.Attributes, registry.Attribute{Name: attr.Name, Value: v})
	}
	return out, nil
}

func (v *valueJSON) value() (registry.Value, error) {
	var found []registry.Value
	if v.Scalar != nil {
		found = append(found, registry.Scalar(*v.Scalar))
	}
	if v.Ranges != nil {
		ranges := make([]registry.Range, len(*v.Ranges))
		for i, r := range *v.Ranges {
			ranges[i] = registry.Range(r)
		}
		found = append(found, registry.Ranges(ranges...))
	}
	if v.Set != nil {
		found = append(found, registry.Set(*v.Set...))
	}
	if v.Text != nil {
		found = append(found, registry.Text(*v.Text))
	}
	if len(found) != 1 {
		return registry.Value{}, errors.New("one of scalar, ranges, set and text must be there")
	}
	return found[0], nil
}

func fromReservationsJSON(reservations []reservationJSON) []registry.Reservation {
	var out []registry.Reservation
	for _, r := range reservations {
		var labels []registry.Label
		for _, l := range r.Labels {
			label := registry.Label{Key: l.Key, Bare: l.Value == nil}
			if l.Value != nil {
				label.Value = *l.Value
			}
			labels = append(labels, label)
		}
		out = append(out, registry.Reservation{Role: r.Role, Dynamic: r.Dynamic, Principal: r.Principal, Labels: labels})
	}
	return out
}
