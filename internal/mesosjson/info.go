package mesosjson

import (
	"cmp"

	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/registry"
)

// appendInfo writes a SlaveInfo message.
func appendInfo(b []byte, a registry.Agent) []byte {
	b = append(b, '{')
	if len(a.Attributes) > 0 {
		b = append(b, `"attributes":`...)
		b = jsonout.List(b, a.Attributes, appendAttribute)
		b = append(b, ',')
	}
	b = append(b, `"checkpoint":`...)
	b = jsonout.Bool(b, a.Checkpoint)
	b = appendDomain(b, a.Domain)
	b = append(b, `,"hostname":`...)
	b = jsonout.String(b, a.Hostname)
	b = appendID(append(b, ','), a.ID)
	b = append(b, `,"port":`...)
	b = jsonout.Int(b, int64(cmp.Or(a.Port, defaultPort)))
	if len(a.Resources) > 0 {
		b = append(b, `,"resources":`...)
		b = jsonout.List(b, a.Resources, appendResource)
	}
	return append(b, '}')
}

// appendDomain writes the member "domain" and a comma before it, if there is
// a domain.
func appendDomain(b []byte, d registry.Domain) []byte {
	if d == (registry.Domain{}) {
		return b
	}
	b = append(b, `,"domain":{"fault_domain":{"region":{"name":`...)
	b = jsonout.String(b, d.Region)
	b = append(b, `},"zone":{"name":`...)
	b = jsonout.String(b, d.Zone)
	return append(b, `}}}`...)
}

func appendAttribute(b []byte, a registry.Attribute) []byte {
	b = append(b, `{"name":`...)
	b = jsonout.String(b, a.Name)
	b = appendValue(b, a.Value)
	b = append(b, `,"type":`...)
	b = jsonout.String(b, a.Value.Kind.String())
	return append(b, '}')
}

// appendResource writes a resource the way a registry holds it: with a role,
// as long as one role is all there is to say.
func appendResource(b []byte, r registry.Resource) []byte {
	b = append(b, `{"name":`...)
	b = jsonout.String(b, r.Name)
	kind := r.Value.Kind
	if kind == registry.KindRanges {
		b = appendValue(b, r.Value)
	}
	switch {
	case len(r.Reservations) == 0:
		b = append(b, `,"role":"*"`...)
	case len(r.Reservations) == 1 && isRole(r.Reservations[0]):
		b = appendRole(b, r.Reservations[0])
	default:
		b = append(b, `,"reservations":`...)
		b = jsonout.List(b, r.Reservations, appendReservation)
	}
	if kind != registry.KindRanges {
		b = appendValue(b, r.Value)
	}
	b = append(b, `,"type":`...)
	return append(jsonout.String(b, kind.String()), '}')
}

// isRole reports whether a role, or a role and who reserved it, is all there
// is to a reservation.
func isRole(v registry.Reservation) bool {
	return v.Role != "*" && (v.Dynamic || v.Principal == "" && len(v.Labels) == 0)
}

// appendRole writes a reservation in the form of before reservations could
// refine each other.
func appendRole(b []byte, v registry.Reservation) []byte {
	if v.Dynamic {
		b = append(b, `,"reservation":`...)
		first := len(b)
		b = appendLabels(b, v.Labels)
		b = appendMember(b, "principal", v.Principal)
		b = closeObject(b, first)
	}
	return appendMember(b, "role", v.Role)
}

func appendReservation(b []byte, v registry.Reservation) []byte {
	first := len(b)
	b = appendLabels(b, v.Labels)
	b = appendMember(b, "principal", v.Principal)
	b = appendMember(b, "role", v.Role)
	kind := "STATIC"
	if v.Dynamic {
		kind = "DYNAMIC"
	}
	b = appendMember(b, "type", kind)
	return closeObject(b, first)
}

// appendMember writes a comma and a member, unless its text is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b = append(b, `,"`+name+`":`...)
	return jsonout.String(b, text)
}

// closeObject turns members written since first, each behind a comma, into an
// object.
func closeObject(b []byte, first int) []byte {
	if len(b) == first {
		return append(b, "{}"...)
	}
	b[first] = '{'
	return append(b, '}')
}

func appendLabels(b []byte, labels []registry.Label) []byte {
	if len(labels) == 0 {
		return b
	}
	b = append(b, `,"labels":{"labels":`...)
	b = jsonout.List(b, labels, func(b []byte, l registry.Label) []byte {
		b = append(b, `{"key":`...)
		b = jsonout.String(b, l.Key)
		if !l.Bare {
			b = append(b, `,"value":`...)
			b = jsonout.String(b, l.Value)
		}
		return append(b, '}')
	})
	return append(b, '}')
}

// appendValue writes the field that goes with a value's kind, behind a comma.
func appendValue(b []byte, v registry.Value) []byte {
	switch v.Kind {
	case registry.KindScalar:
		b = append(b, `,"scalar":{"value":`...)
		return append(jsonout.Float(b, v.Scalar), '}')
	case registry.KindRanges:
		b = append(b, `,"ranges":{`...)
		if len(v.Ranges) > 0 {
			b = append(b, `"range":`...)
			b = jsonout.List(b, v.Ranges, appendRange)
		}
		return append(b, '}')
	case registry.KindSet:
		b = append(b, `,"set":{`...)
		if len(v.Set) > 0 {
			b = append(b, `"item":`...)
			b = jsonout.List(b, v.Set, jsonout.String)
		}
		return append(b, '}')
	default:
		b = append(b, `,"text":{"value":`...)
		return append(jsonout.String(b, v.Text), '}')
	}
}

func appendRange(b []byte, r registry.Range) []byte {
	b = append(b, `{"begin":`...)
	b = jsonout.Uint(b, r.Begin)
	b = append(b, `,"end":`...)
	return append(jsonout.Uint(b, r.End), '}')
}

// appendMaster writes the registry's member "master".
func appendMaster(b []byte, m registry.Master) []byte {
	b = append(b, `{"info":`...)
	first := len(b)
	if m.IP != "" {
		b = append(b, `,"address":`...)
		b = appendAddress(b, m)
	}
	if len(m.Capabilities) > 0 {
		b = append(b, `,"capabilities":`...)
		b = appendCapabilities(b, "type", m.Capabilities)
	}
	b = appendDomain(b, m.Domain)
	b = appendMember(b, "hostname", m.Hostname)
	b = append(b, `,"id":`...)
	b = jsonout.String(b, m.ID)
	b = append(b, `,"ip":`...)
	b = jsonout.Uint(b, uint64(orderNetwork(m.IP)))
	b = appendMember(b, "pid", m.PID)
	b = append(b, `,"port":`...)
	b = jsonout.Int(b, int64(cmp.Or(m.Port, defaultMasterPort)))
	b = appendMember(b, "version", m.Version)
	return append(closeObject(b, first), '}')
}

func appendAddress(b []byte, m registry.Master) []byte {
	first := len(b)
	b = appendMember(b, "hostname", m.Hostname)
	b = appendMember(b, "ip", m.IP)
	b = append(b, `,"port":`...)
	b = jsonout.Int(b, int64(cmp.Or(m.Port, defaultMasterPort)))
	return closeObject(b, first)
}

// appendCapabilities writes each name as an object with this one field.
func appendCapabilities(b []byte, field string, names []string) []byte {
	return jsonout.List(b, names, func(b []byte, name string) []byte {
		b = append(b, `{"`+field+`":`...)
		return append(jsonout.String(b, name), '}')
	})
}
