package main

import (
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// agentJSON is our own JSON form of an agent: what apply --file reads, and
// what inspect --json and export write. What is empty is left out.
type agentJSON struct {
	ID          string            `json:"id"`
	Incarnation string            `json:"incarnation,omitzero"`
	Hostname    string            `json:"hostname,omitzero"`
	Port        uint16            `json:"port,omitzero"`
	Resources   []resourceJSON    `json:"resources,omitempty"`
	Attributes  []attributeJSON   `json:"attributes,omitempty"`
	Domain      *domainJSON       `json:"domain,omitempty"`
	Checkpoint  bool              `json:"checkpoint,omitzero"`
	Labels      map[string]string `json:"labels,omitempty"`
	Payload     []byte            `json:"payload,omitempty"` // base64
}

type domainJSON struct {
	Region string `json:"region"`
	Zone   string `json:"zone"`
}

type attributeJSON struct {
	Name string `json:"name"`
	valueJSON
}

type resourceJSON struct {
	Name string `json:"name"`
	valueJSON
	Reservations []reservationJSON `json:"reservations,omitempty"`
}

// valueJSON has one of its fields; which one says of what kind the value is.
type valueJSON struct {
	Scalar *float64     `json:"scalar,omitzero"`
	Ranges *[]rangeJSON `json:"ranges,omitzero"`
	Set    *[]string    `json:"set,omitzero"`
	Text   *string      `json:"text,omitzero"`
}

type rangeJSON struct {
	Begin uint64 `json:"begin"`
	End   uint64 `json:"end"`
}

type reservationJSON struct {
	Role      string      `json:"role"`
	Dynamic   bool        `json:"dynamic,omitzero"`
	Principal string      `json:"principal,omitzero"`
	Labels    []labelJSON `json:"labels,omitempty"`
}

// labelJSON leaves the value out for a label that has none.
type labelJSON struct {
	Key   string  `json:"key"`
	Value *string `json:"value,omitzero"`
}

// entryJSON is our own JSON form of an entry of the registry.
type entryJSON struct {
	ID          string     `json:"id"`
	State       string     `json:"state"`
	Since       uint64     `json:"since"`       // the revision at which it came into its state
	At          *time.Time `json:"at,omitzero"` // when it became unreachable or gone
	Drain       *drainJSON `json:"drain,omitempty"`
	Deactivated bool       `json:"deactivated,omitzero"`
	// Agent is missing for an entry that was imported without one.
	Agent *agentJSON `json:"agent,omitempty"`
}

type drainJSON struct {
	State    string `json:"state"`
	MaxGrace string `json:"max_grace,omitzero"` // as in "1h30m0s"
	MarkGone bool   `json:"mark_gone,omitzero"`
}

// toEntryJSON decodes the entry's agent; an error is a damaged entry.
func toEntryJSON(e registry.Entry) (entryJSON, error) {
	a, err := e.Agent()
	return entryAndAgentJSON(e, a), err
}

// entryAndAgentJSON is for those who have the agent decoded already.
func entryAndAgentJSON(e registry.Entry, a registry.Agent) entryJSON {
	s := e.Status()
	out := entryJSON{
		ID: string(e.ID()), State: s.State.String(), Since: e.Since(),
		Drain: toDrainJSON(s.Drain), Deactivated: s.Deactivated,
	}
	if !s.At.IsZero() {
		at := s.At.UTC()
		out.At = &at
	}
	if e.Known() {
		out.Agent = toAgentJSON(a)
	}
	return out
}

func toDrainJSON(d registry.Drain) *drainJSON {
	if d.State == 0 {
		return nil
	}
	out := &drainJSON{State: d.State.String(), MarkGone: d.MarkGone}
	if d.MaxGrace != nil {
		out.MaxGrace = d.MaxGrace.String()
	}
	return out
}

func toAgentJSON(a registry.Agent) *agentJSON {
	out := &agentJSON{
		ID: string(a.ID), Incarnation: a.Incarnation, Hostname: a.Hostname, Port: a.Port,
		Checkpoint: a.Checkpoint, Labels: a.Labels, Payload: a.Payload,
	}
	if a.Domain != (registry.Domain{}) {
		out.Domain = &domainJSON{a.Domain.Region, a.Domain.Zone}
	}
	for _, r := range a.Resources {
		out.Resources = append(out.Resources,
			resourceJSON{r.Name, toValueJSON(r.Value), toReservationsJSON(r.Reservations)})
	}
	for _, attr := range a.Attributes {
		out.Attributes = append(out.Attributes, attributeJSON{attr.Name, toValueJSON(attr.Value)})
	}
	return out
}

func toValueJSON(v registry.Value) valueJSON {
	switch v.Kind {
	case registry.KindScalar:
		return valueJSON{Scalar: &v.Scalar}
	case registry.KindRanges:
		ranges := make([]rangeJSON, len(v.Ranges))
		for i, r := range v.Ranges {
			ranges[i] = rangeJSON(r)
		}
		return valueJSON{Ranges: &ranges}
	case registry.KindSet:
		set := append([]string{}, v.Set...)
		return valueJSON{Set: &set}
	default:
		return valueJSON{Text: &v.Text}
	}
}

func toReservationsJSON(reservations []registry.Reservation) []reservationJSON {
	var out []reservationJSON
	for _, r := range reservations {
		labels := make([]labelJSON, len(r.Labels))
		for i, l := range r.Labels {
			labels[i].Key = l.Key
			if !l.Bare {
				labels[i].Value = &l.Value
			}
		}
		out = append(out, reservationJSON{r.Role, r.Dynamic, r.Principal, labels})
	}
	return out
}
