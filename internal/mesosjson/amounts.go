package mesosjson

import (
	"strings"

	"github.com/eaba02dc/registrar/registry"
)

// stateResources reads an agent's resources from the form of a state that says
// most: lists of Resource messages (/slaves), amounts by role, or one sum for
// all roles (before 1.0). It reports whether there was any.
func stateResources(n *node) (list []registry.Resource, said bool) {
	if hasFullResources(n) {
		free, reserved := n.member("unreserved_resources_full"), n.member("reserved_resources_full")
		n.pass("resources", "unreserved_resources", "reserved_resources")
		list = resources(free)
		for _, role := range reserved.fields() {
			list = append(list, resources(role)...)
		}
		return list, true
	}
	free, reserved := n.member("unreserved_resources"), n.member("reserved_resources")
	if free != nil || reserved != nil {
		n.pass("resources")
		list = amounts(free, "")
		for _, role := range reserved.fields() {
			list = append(list, amounts(role, role.key)...)
		}
		return list, true
	}
	total := n.member("resources")
	return amounts(total, ""), total != nil
}

// hasFullResources reports whether an agent's resources come with all detail.
func hasFullResources(n *node) bool {
	return n.member("unreserved_resources_full") != nil || n.member("reserved_resources_full") != nil
}

// amounts reads {"cpus":4.0,"ports":"[31000-32000]","disks":"{a, b}"}. A
// master prints an amount of 0 for what an agent does not have.
func amounts(n *node, role string) []registry.Resource {
	var list []registry.Resource
	for _, field := range n.fields() {
		if strings.HasSuffix(field.key, "_revocable") {
			continue // not taken, and so reported
		}
		r := registry.Resource{Name: field.key, Value: amount(field)}
		if r.Value.Kind == registry.KindScalar && r.Value.Scalar == 0 {
			continue
		}
		if role != "" {
			r.Reservations = []registry.Reservation{{Role: role}}
		}
		list = append(list, r)
	}
	return list
}

func amount(n *node) registry.Value {
	if n.kind != isString {
		return registry.Scalar(n.float())
	}
	text := n.str()
	if r, ok := ParseRanges(text); ok {
		return registry.Ranges(r...)
	}
	if s, ok := ParseSet(text); ok {
		return registry.Set(s...)
	}
	n.fail("%q is neither a number nor ranges nor a set", cut(text))
	return registry.Value{}
}

// stateAttributes reads {"rack":"r12","level":3.0}. A string that looks like
// ranges or a set is one: an agent's own command line is read that way too.
func stateAttributes(n *node) []registry.Attribute {
	var list []registry.Attribute
	for _, field := range n.fields() {
		list = append(list, registry.Attribute{Name: field.key, Value: attribute(field)})
	}
	return list
}

func attribute(n *node) registry.Value {
	if n.kind != isString {
		return registry.Scalar(n.float())
	}
	text := n.str()
	if r, ok := ParseRanges(text); ok && len(r) > 0 {
		return registry.Ranges(r...)
	}
	if s, ok := ParseSet(text); ok && len(s) > 0 {
		return registry.Set(s...)
	}
	return registry.Text(text)
}
