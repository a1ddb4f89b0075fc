package mesosjson

import "github.com/eaba02dc/registrar/registry"

// resources reads a list of Resource messages, in the form they have had
// before reservations could refine each other (role, reservation) or since
// (reservations).
func resources(n *node) []registry.Resource {
	var list []registry.Resource
	for _, r := range n.list() {
		r = r.want(isObject)
		list = append(list, registry.Resource{
			Name:         r.member("name").str(),
			Value:        protoValue(r),
			Reservations: reservations(r),
		})
	}
	return list
}

func attributes(n *node) []registry.Attribute {
	var list []registry.Attribute
	for _, a := range n.list() {
		a = a.want(isObject)
		list = append(list, registry.Attribute{Name: a.member("name").str(), Value: protoValue(a)})
	}
	return list
}

// protoValue reads the value of a resource or an attribute: a type, and the
// field that goes with it.
func protoValue(n *node) registry.Value {
	switch t := n.member("type").str(); t {
	case "SCALAR":
		return registry.Scalar(n.in("scalar").member("value").float())
	case "RANGES":
		var list []registry.Range
		for _, r := range n.in("ranges").member("range").list() {
			r = r.want(isObject)
			list = append(list, registry.Range{
				Begin: r.member("begin").natural(), End: r.member("end").natural(),
			})
		}
		return registry.Ranges(list...)
	case "SET":
		var list []string
		for _, item := range n.in("set").member("item").list() {
			list = append(list, item.str())
		}
		return registry.Set(list...)
	case "TEXT":
		return registry.Text(n.in("text").member("value").str())
	default:
		if n != nil {
			n.fail("%q is not a type of value", cut(t))
		}
		return registry.Value{}
	}
}

// reservations reads for whom a resource is set aside. An answer may have both
// forms side by side; then the newer one says more.
func reservations(n *node) []registry.Reservation {
	if n.member("reservations") != nil {
		n.pass("role", "reservation")
		var list []registry.Reservation
		for _, v := range n.member("reservations").list() {
			list = append(list, refinedReservation(v.want(isObject)))
		}
		return list
	}
	role := n.member("role").str()
	if role == "" || role == "*" {
		return nil
	}
	v := registry.Reservation{Role: role}
	if d := n.in("reservation"); d != nil {
		v.Dynamic = true
		v.Principal = d.member("principal").str()
		v.Labels = labels(d.in("labels"))
	}
	return []registry.Reservation{v}
}

func refinedReservation(n *node) registry.Reservation {
	v := registry.Reservation{
		Role:      n.member("role").str(),
		Principal: n.member("principal").str(),
		Labels:    labels(n.in("labels")),
	}
	switch t := n.member("type").str(); t {
	case "DYNAMIC":
		v.Dynamic = true
	case "STATIC", "":
	default:
		n.fail("%q is not a type of reservation", cut(t))
	}
	return v
}

func labels(n *node) []registry.Label {
	var list []registry.Label
	for _, l := range n.member("labels").list() {
		l = l.want(isObject)
		value := l.member("value").want(isString)
		list = append(list, registry.Label{
			Key: l.member("key").str(), Value: value.str(), Bare: value == nil,
		})
	}
	return list
}

func domain(n *node) registry.Domain {
	fault := n.in("fault_domain")
	return registry.Domain{
		Region: fault.in("region").member("name").str(),
		Zone:   fault.in("zone").member("name").str(),
	}
}
