package httpapi

import (
	"cmp"
	"maps"
	"slices"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// anyRole is the role of what is reserved for nobody.
const anyRole = "*"

// reservedFor is the role that a resource is reserved for: that of the last
// reservation, which refines those before it.
func reservedFor(r *registry.Resource) string {
	if n := len(r.Reservations); n > 0 {
		return r.Reservations[n-1].Role
	}
	return anyRole
}

func isShared(r *wire.Resource) bool     { return r.Special != nil && r.Special.Shared != "" }
func canBeRevoked(r *wire.Resource) bool { return r.Special != nil && r.Special.Revocable != "" }

// fullResources are an agent's resources as Mesos's Resource messages, as far as
// they are seen.
func fullResources(b []byte, a *master.Agent, view View) []byte {
	var free piles
	reserved := map[string]*piles{}
	for i := range a.Resources {
		if !view.knowsAll(&a.Resources[i]) {
			continue
		}
		p := &free
		if role := reservedFor(&a.Resources[i]); role != anyRole {
			if !view.Sees(role) {
				continue
			}
			if p = reserved[role]; p == nil {
				p = &piles{}
				reserved[role] = p
			}
		}
		p.add(&wire.Resource{Resource: a.Resources[i]})
	}
	b = append(key(b, "reserved_resources_full"), '{')
	for _, role := range slices.Sorted(maps.Keys(reserved)) {
		b = appendPiles(foreignKey(b, role), reserved[role])
	}
	b = append(b, '}')
	b = appendPiles(key(b, "unreserved_resources_full"), &free)
	b = appendPiles(key(b, "used_resources_full"), fullUse(a, view))
	return append(key(b, "offered_resources_full"), "[]"...)
}

// fullUse is what is used on an agent by those who are seen.
func fullUse(a *master.Agent, view View) *piles {
	var p piles
	for t := range a.Tasks() {
		if t.State.Terminal() || !view.sees(t.Resources) {
			continue
		}
		p.addSeen(t.Resources, view)
	}
	for e := range a.Executors() {
		if !view.sees(e.Resources) {
			continue
		}
		p.addSeen(e.Resources, view)
	}
	return &p
}

// piles are resources, added up where nothing but the amount tells them apart.
type piles struct {
	list  []*pile // in the order in which the first of each came
	alike map[string]*pile
}

type pile struct {
	resource wire.Resource // but its value
	sum      amount
}

func (p *piles) add(r *wire.Resource) {
	if isNothing(&r.Value) {
		return
	}
	bare := *r
	bare.Value = registry.Value{Kind: r.Value.Kind}
	it := string(appendResource(nil, &bare))
	same := p.alike[it]
	if same == nil {
		same = &pile{resource: bare, sum: amount{kind: r.Value.Kind}}
		if p.alike == nil {
			p.alike = map[string]*pile{}
		}
		p.alike[it] = same
		p.list = append(p.list, same)
	} else if isShared(r) {
		return // the same one, used by another too
	}
	same.sum.add(&r.Value)
}

// addSeen adds resources of somebody who is seen, but those that would name a role
// that is not to be known.
func (p *piles) addSeen(list []wire.Resource, view View) {
	for i := range list {
		if r := &list[i]; view.knows(cmp.Or(r.AllocationRole, anyRole)) && view.knowsAll(&r.Resource) {
			p.add(r)
		}
	}
}

func appendPiles(b []byte, p *piles) []byte {
	return jsonout.List(b, p.list, func(b []byte, one *pile) []byte {
		one.resource.Value = one.sum.value()
		return appendResource(b, &one.resource)
	})
}

// appendResource writes a Resource message as Mesos's endpoints have it: with
// the older fields role and reservation beside the reservations, as long as
// they can say the same.
func appendResource(b []byte, r *wire.Resource) []byte {
	b = append(b, '{')
	if r.Special != nil && r.Special.ProviderID != "" {
		b = append(key(b, "provider_id"), `{"value":`...)
		b = append(jsonout.String(b, r.Special.ProviderID), '}')
	}
	b = text(b, "name", r.Name)
	b = fullValue(b, &r.Value)
	b = oldRole(b, r.Reservations)
	if r.AllocationRole != "" {
		b = append(key(b, "allocation_info"), `{"role":`...)
		b = append(jsonout.String(b, r.AllocationRole), '}')
	}
	b = oldReservation(b, r.Reservations)
	if len(r.Reservations) > 0 {
		b = jsonout.List(key(b, "reservations"), r.Reservations, appendReservation)
	}
	if s := r.Special; s != nil {
		b = raw(b, "disk", s.Disk)
		b = raw(b, "revocable", s.Revocable)
		b = raw(b, "shared", s.Shared)
	}
	return append(b, '}')
}

func fullValue(b []byte, v *registry.Value) []byte {
	b = text(b, "type", v.Kind.String())
	switch v.Kind {
	case registry.KindScalar:
		b = append(key(b, "scalar"), `{"value":`...)
		b = jsonout.Float(b, v.Scalar)
	case registry.KindRanges:
		b = append(key(b, "ranges"), `{"range":`...)
		b = jsonout.List(b, v.Ranges, func(b []byte, r registry.Range) []byte {
			b = append(b, `{"begin":`...)
			b = append(jsonout.Uint(b, r.Begin), `,"end":`...)
			return append(jsonout.Uint(b, r.End), '}')
		})
	case registry.KindSet:
		b = append(key(b, "set"), `{"item":`...)
		b = jsonout.List(b, v.Set, jsonout.String)
	default:
		b = append(key(b, "text"), `{"value":`...)
		b = jsonout.String(b, v.Text)
	}
	return append(b, '}')
}

func oldRole(b []byte, list []registry.Reservation) []byte {
	switch len(list) {
	case 0:
		return text(b, "role", anyRole)
	case 1:
		return text(b, "role", list[0].Role)
	default:
		return b
	}
}

func oldReservation(b []byte, list []registry.Reservation) []byte {
	if len(list) != 1 || !list[0].Dynamic {
		return b
	}
	b = append(key(b, "reservation"), '{')
	return append(reservedBy(b, &list[0]), '}')
}

func appendReservation(b []byte, r registry.Reservation) []byte {
	kind := "STATIC"
	if r.Dynamic {
		kind = "DYNAMIC"
	}
	b = text(append(b, '{'), "type", kind)
	b = text(b, "role", r.Role)
	return append(reservedBy(b, &r), '}')
}

func reservedBy(b []byte, r *registry.Reservation) []byte {
	b = optText(b, "principal", r.Principal)
	if len(r.Labels) == 0 {
		return b
	}
	b = append(key(b, "labels"), `{"labels":`...)
	return append(appendLabels(b, r.Labels), '}')
}
