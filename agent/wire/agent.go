package wire

import (
	"strconv"
	"strings"

	"github.com/eaba02dc/registrar/registry"
)

// Resource is an amount of something that a task or an executor uses.
type Resource struct {
	registry.Resource
	AllocationRole string // the role that it was offered to
	// Special is what sets the amount apart from others of its name; nil is
	// nothing.
	Special *Special
}

// Special is what a [registry.Resource] has no place for. What an agent has in
// all can therefore not be of this kind: such a record is refused.
type Special struct {
	ProviderID string
	Disk       Raw
	Revocable  Raw
	Shared     Raw
}

var agentID = id[registry.AgentID]()

var agent = object(
	opt("id", agentID, func(a *registry.Agent) *registry.AgentID { return &a.ID }),
	must("hostname", hostname, func(a *registry.Agent) *string { return &a.Hostname }),
	opt("port", whole[uint16](), func(a *registry.Agent) *uint16 { return &a.Port }),
	opt("resources", list(agentResource), func(a *registry.Agent) *[]registry.Resource { return &a.Resources }),
	opt("attributes", list(attribute), func(a *registry.Agent) *[]registry.Attribute { return &a.Attributes }),
	opt("domain", domain, func(a *registry.Agent) *registry.Domain { return &a.Domain }),
	opt("checkpoint", flag, func(a *registry.Agent) *bool { return &a.Checkpoint }),
	opt("labels", entries(plain), func(a *registry.Agent) *map[string]string { return &a.Labels }),
	opt("payload", data, func(a *registry.Agent) *[]byte { return &a.Payload }),
	opt("incarnation", incarnation, func(a *registry.Agent) *string { return &a.Incarnation }),
)

var domain = func() codec[registry.Domain] {
	part := object(must("name", plain, same))
	c := object(must("fault_domain", object(
		must("region", part, func(d *registry.Domain) *string { return &d.Region }),
		must("zone", part, func(d *registry.Domain) *string { return &d.Zone }),
	), same))
	c.none = func(d *registry.Domain) bool { return *d == registry.Domain{} }
	return c
}()

// labels are in Mesos's form, {"labels": [{"key": "…", "value": "…"}, …]}, in
// which keys may repeat.
var labels = object(opt("labels", list(label), same))

var label = func() codec[registry.Label] {
	c := object(
		must("key", plain, func(l *registry.Label) *string { return &l.Key }),
		opt("value", codec[registry.Label]{
			read:  func(r *reader, l *registry.Label) { l.Value, l.Bare = r.text(), false },
			write: func(w *writer, l *registry.Label) { w.text(l.Value) },
			none:  func(l *registry.Label) bool { return l.Bare },
		}, same),
	)
	read := c.read
	c.read = func(r *reader, l *registry.Label) { l.Bare = true; read(r, l) }
	return c
}()

// amount is a resource or an attribute as it stands in a record: what it is
// worth has a place by its type, and who it is set aside for has two forms.
type amount struct {
	Resource
	typ  string
	has  [registry.KindText + 1]bool
	role string // of before reservations could refine each other; so is old
	old  registry.Reservation
}

// worth has the members that say what an amount is worth.
var worth = []field[amount]{
	must("name", plain, func(a *amount) *string { return &a.Name }),
	must("type", codec[amount]{
		read: func(r *reader, a *amount) { a.typ = r.text() },
		write: func(w *writer, a *amount) {
			if a.Value.Kind > registry.KindText {
				w.fail("is no kind of value")
			}
			w.text(a.Value.Kind.String())
		},
	}, same),
	in(registry.KindScalar, opt("scalar", object(
		must("value", number, func(v *registry.Value) *float64 { return &v.Scalar }),
	), valueOf)),
	in(registry.KindRanges, opt("ranges", object(
		opt("range", list(span), func(v *registry.Value) *[]registry.Range { return &v.Ranges }),
	), valueOf)),
	in(registry.KindSet, opt("set", object(
		opt("item", texts, func(v *registry.Value) *[]string { return &v.Set }),
	), valueOf)),
}

func valueOf(a *amount) *registry.Value { return &a.Value }

// in is a member that values of one kind have.
func in(k registry.Kind, f field[amount]) field[amount] {
	read := f.read
	f.read = func(r *reader, a *amount) { a.has[k] = true; read(r, a) }
	f.none = func(a *amount) bool { return a.Value.Kind != k }
	return f
}

var span = object(
	must("begin", whole[uint64](), func(r *registry.Range) *uint64 { return &r.Begin }),
	must("end", whole[uint64](), func(r *registry.Range) *uint64 { return &r.End }),
)

const noText = "a resource cannot be a text"

var (
	anAttribute = object(append(worth[:len(worth):len(worth)],
		in(registry.KindText, opt("text", object(
			must("value", plain, func(v *registry.Value) *string { return &v.Text }),
		), valueOf)),
	)...)
	aResource = object(append(worth[:len(worth):len(worth)],
		in(registry.KindText, opt("text", codec[amount]{
			read:  func(r *reader, _ *amount) { r.fail(noText) },
			write: func(w *writer, _ *amount) { w.fail(noText) },
		}, same)),
		opt("reservations", list(reservation), func(a *amount) *[]registry.Reservation { return &a.Reservations }),
		opt("role", role, func(a *amount) *string { return &a.role }),
		opt("reservation", oldReservation, func(a *amount) *registry.Reservation { return &a.old }),
		opt("allocation_info", object(
			opt("role", role, same[string]),
		), func(a *amount) *string { return &a.AllocationRole }),
		opt("provider_id", special(stringID, func(s *Special) *string { return &s.ProviderID }), same),
		opt("disk", special(raw, func(s *Special) *Raw { return &s.Disk }), same),
		opt("revocable", special(raw, func(s *Special) *Raw { return &s.Revocable }), same),
		opt("shared", special(raw, func(s *Special) *Raw { return &s.Shared }), same),
	)...)
)

// special is of what makes a resource special.
func special[V any](c codec[V], at func(*Special) *V) codec[amount] {
	return codec[amount]{
		read: func(r *reader, a *amount) {
			if a.Special == nil {
				a.Special = &Special{}
			}
			c.read(r, at(a.Special))
		},
		write: func(w *writer, a *amount) { c.write(w, at(a.Special)) },
		none:  func(a *amount) bool { return a.Special == nil || c.none(at(a.Special)) },
	}
}

var reservation = object(
	must("role", role, func(v *registry.Reservation) *string { return &v.Role }),
	opt("type", codec[bool]{
		read: func(r *reader, dynamic *bool) {
			typ := r.text()
			if *dynamic = typ == "DYNAMIC"; !*dynamic && typ != "STATIC" {
				r.fail(strconv.Quote(Shorten(typ)) + " is not a type of reservation")
			}
		},
		write: func(w *writer, dynamic *bool) {
			if *dynamic {
				w.text("DYNAMIC")
			} else {
				w.text("STATIC")
			}
		},
		none: func(*bool) bool { return false },
	}, func(v *registry.Reservation) *bool { return &v.Dynamic }),
	opt("principal", plain, func(v *registry.Reservation) *string { return &v.Principal }),
	opt("labels", labels, func(v *registry.Reservation) *[]registry.Label { return &v.Labels }),
)

// oldReservation is read, and never written.
var oldReservation = func() codec[registry.Reservation] {
	c := object(
		opt("principal", plain, func(v *registry.Reservation) *string { return &v.Principal }),
		opt("labels", labels, func(v *registry.Reservation) *[]registry.Label { return &v.Labels }),
	)
	read := c.read
	c.read = func(r *reader, v *registry.Reservation) { v.Dynamic = true; read(r, v) }
	return c
}()

var attribute = codec[registry.Attribute]{
	read: func(r *reader, v *registry.Attribute) {
		a := r.readAmount(anAttribute)
		*v = registry.Attribute{Name: a.Name, Value: a.Value}
	},
	write: func(w *writer, v *registry.Attribute) {
		anAttribute.write(w, &amount{Resource: Resource{Resource: registry.Resource{Name: v.Name, Value: v.Value}}})
	},
}

var resource = codec[Resource]{
	read: func(r *reader, v *Resource) {
		a := r.readAmount(aResource)
		if *v = a.Resource; v.Reservations == nil && a.role != "" && a.role != "*" {
			a.old.Role = a.role
			v.Reservations = []registry.Reservation{a.old}
		}
	},
	write: func(w *writer, v *Resource) { aResource.write(w, &amount{Resource: *v}) },
}

var agentResource = codec[registry.Resource]{
	read: func(r *reader, v *registry.Resource) {
		var all Resource
		if resource.read(r, &all); all.Special != nil {
			r.fail("is revocable, shared, or of a volume or provider: the registry keeps no such resources of an agent")
		}
		*v = all.Resource
	},
	write: func(w *writer, v *registry.Resource) { resource.write(w, &Resource{Resource: *v}) },
}

// readAmount keeps of a value what is of its type.
func (r *reader) readAmount(c codec[amount]) *amount {
	a := &r.amount
	*a = amount{}
	c.read(r, a)
	v := a.Value
	switch a.typ {
	case "SCALAR":
		a.Value = registry.Scalar(v.Scalar)
	case "RANGES":
		a.Value = registry.Ranges(v.Ranges...)
	case "SET":
		a.Value = registry.Set(v.Set...)
	case "TEXT":
		a.Value = registry.Text(v.Text)
	default:
		r.failIn("type", strconv.Quote(Shorten(a.typ))+" is not a type of value")
	}
	if !a.has[a.Value.Kind] {
		r.failIn(strings.ToLower(a.typ), missing)
	}
	return a
}
