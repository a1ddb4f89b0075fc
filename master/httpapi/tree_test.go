package httpapi_test

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// tree is a JSON value that keeps what encoding/json throws away: the order of
// names, names that repeat, and how numbers are written.
type tree struct {
	kind  string // "object", "array", "string", "double", "integer", "bool" or "null"
	text  string // of what is neither object nor array
	names []string
	kids  []*tree
	bytes []byte
}

func decode(t rapid.TB, b []byte) *tree {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	v, err := d.ReadValue()
	if err != nil {
		t.Fatalf("%v in %.300s", err, b)
	}
	return parse(t, v.Clone())
}

func parse(t rapid.TB, v jsontext.Value) *tree {
	t.Helper()
	n := &tree{bytes: v}
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	token := func() jsontext.Token {
		token, err := d.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	value := func() jsontext.Value {
		v, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		return v.Clone()
	}
	first := token()
	switch first.Kind() {
	case '{':
		n.kind = "object"
		for d.PeekKind() != '}' {
			n.names = append(n.names, token().String())
			n.kids = append(n.kids, parse(t, value()))
		}
	case '[':
		n.kind = "array"
		for d.PeekKind() != ']' {
			n.kids = append(n.kids, parse(t, value()))
		}
	case '0':
		n.kind, n.text = "integer", string(v)
		if strings.ContainsAny(n.text, ".e") {
			n.kind = "double"
		}
	case '"':
		n.kind, n.text = "string", first.String()
	case 't', 'f':
		n.kind, n.text = "bool", string(v)
	default:
		n.kind = "null"
	}
	return n
}

// member is the last member of that name, nil if there is none.
func (n *tree) member(name string) *tree {
	for i := len(n.names) - 1; i >= 0; i-- {
		if n.names[i] == name {
			return n.kids[i]
		}
	}
	return nil
}

// at follows a path such as "slaves/0/resources".
func (n *tree) at(t rapid.TB, path string) *tree {
	t.Helper()
	for step := range strings.SplitSeq(path, "/") {
		if step == "" {
			continue
		}
		if i, err := strconv.Atoi(step); err == nil && n.kind == "array" && i < len(n.kids) {
			n = n.kids[i]
		} else if n = n.member(step); n == nil {
			t.Fatalf("%q: there is no %q", path, step)
		}
	}
	return n
}

// number is the value of a number that must be there.
func (n *tree) number(t rapid.TB, path string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(n.at(t, path).text, 64)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// strings are those of an array that must be there.
func (n *tree) strings(t rapid.TB, path string) []string {
	t.Helper()
	list := []string{}
	for _, kid := range n.at(t, path).kids {
		list = append(list, kid.text)
	}
	return list
}
