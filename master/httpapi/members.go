package httpapi

import (
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/registry"
)

// key begins a member of the object that is open in b. Names are ours and need
// no escapes.
func key(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// foreignKey begins a member whose name somebody else chose.
func foreignKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(jsonout.String(b, name), ':')
}

// next begins an element of the array that is open in b.
func next(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}

func text[S ~string](b []byte, name string, v S) []byte { return jsonout.String(key(b, name), v) }

func optText[S ~string](b []byte, name string, v S) []byte {
	if v == "" {
		return b
	}
	return text(b, name, v)
}

func texts(b []byte, name string, list []string) []byte {
	return jsonout.List(key(b, name), list, jsonout.String)
}

func double(b []byte, name string, v float64) []byte { return jsonout.Float(key(b, name), v) }

func integer(b []byte, name string, v int64) []byte { return jsonout.Int(key(b, name), v) }

func boolean(b []byte, name string, v bool) []byte { return jsonout.Bool(key(b, name), v) }

// raw hands on a value as it came, if there is one.
func raw(b []byte, name string, v wire.Raw) []byte {
	if v == "" {
		return b
	}
	return append(key(b, name), v...)
}

// seconds is the time in seconds since 1970, 0 for a time that is not known.
func seconds(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return double(b, name, 0)
	}
	return double(b, name, float64(t.Unix())+float64(t.Nanosecond())/1e9)
}

func optSeconds(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	return seconds(b, name, t)
}

func domain(b []byte, d registry.Domain) []byte {
	if d == (registry.Domain{}) {
		return b
	}
	b = append(key(b, "domain"), `{"fault_domain":{"region":{"name":`...)
	b = append(jsonout.String(b, d.Region), `},"zone":{"name":`...)
	return append(jsonout.String(b, d.Zone), `}}}`...)
}

func appendLabels(b []byte, list []registry.Label) []byte {
	return jsonout.List(b, list, func(b []byte, l registry.Label) []byte {
		b = text(append(b, '{'), "key", l.Key)
		if !l.Bare {
			b = text(b, "value", l.Value)
		}
		return append(b, '}')
	})
}

// labels is a list of labels as an array, if there is any.
func labels(b []byte, list []registry.Label) []byte {
	if len(list) == 0 {
		return b
	}
	return appendLabels(key(b, "labels"), list)
}
