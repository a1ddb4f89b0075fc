package httpapi

import (
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eaba02dc/registrar/agent/wire"
)

// containerStatus shows what /state shows of the container of a task, in the
// order and form it has there: less than the agent sends, and labels of a
// network as a plain array.
func containerStatus(b []byte, status wire.Raw) []byte {
	if status == "" {
		return b
	}
	m := pick(status, "container_id", "network_infos", "cgroup_info")
	b = append(key(b, "container_status"), '{')
	b = raw(b, "container_id", m[0])
	if m[1] != "" {
		b = append(key(b, "network_infos"), '[')
		for info := range elements(m[1]) {
			b = appendNetwork(next(b), info)
		}
		b = append(b, ']')
	}
	b = raw(b, "cgroup_info", m[2])
	return append(b, '}')
}

func appendNetwork(b []byte, info wire.Raw) []byte {
	m := pick(info, "groups", "labels", "ip_addresses", "name", "port_mappings")
	b = append(b, '{')
	b = raw(b, "groups", m[0])
	b = raw(b, "labels", pick(m[1], "labels")[0])
	b = raw(b, "ip_addresses", m[2])
	b = raw(b, "name", m[3])
	b = raw(b, "port_mappings", m[4])
	return append(b, '}')
}

// pick is the members of an object that have these names, "" for those that it
// does not have. What is no object has none.
func pick(object wire.Raw, names ...string) []wire.Raw {
	found := make([]wire.Raw, len(names))
	d := jsontext.NewDecoder(strings.NewReader(string(object)))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return found
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		is := name.String()
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		for i := range names {
			if names[i] == is {
				found[i] = wire.Raw(value)
			}
		}
	}
	return found
}

// elements are those of an array. What is no array has none.
func elements(array wire.Raw) iter.Seq[wire.Raw] {
	return func(yield func(wire.Raw) bool) {
		d := jsontext.NewDecoder(strings.NewReader(string(array)))
		if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
			return
		}
		for d.PeekKind() != ']' {
			value, err := d.ReadValue()
			if err != nil || !yield(wire.Raw(value)) {
				return
			}
		}
	}
}
