package mesosjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eaba02dc/registrar/internal/jsonout"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isString
	isArray
	isObject
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// node is one JSON value in memory: an agent, or a part of one.
//
// What reads it takes from it what it understands; what nobody took is then
// known to be lost. The methods that take may be called on nil, as a missing
// member is, and then return nothing. The first thing wrong is kept in the
// document, so that reading an agent needs no error handling line by line.
type node struct {
	kind     kind
	taken    bool
	index    int    // in an array
	key      string // in an object
	text     string // of a string; the digits of a number; true or false
	kids     []*node
	replaced bool // of a string: some of its bytes were not UTF-8
	parent   *node
	doc      *document
	offset   int64
}

// document is what the nodes of one tree share.
type document struct {
	path    string // of the root, as in "slaves.slaves[12]"
	pattern string // the same for all its siblings: "slaves.slaves[]"
	begins  int64
	most    int64  // bytes it may take
	nodes   int    // read so far
	err     *Error // the first
}

// tree reads the value that begins with first into memory.
func (s *scanner) tree(d *document, first jsontext.Token) (*node, error) {
	return s.treeUpTo(maxValue, d, first)
}

func (s *scanner) treeUpTo(most int64, d *document, first jsontext.Token) (*node, error) {
	d.begins, d.most = s.dec.InputOffset(), most
	s.exact = true
	n, err := s.node(d, nil, first)
	s.exact = false
	if err == nil && int64(len(n.text)) > most { // its bytes came before the offset
		return nil, s.tooLong(d)
	}
	return n, err
}

func (s *scanner) tooLong(d *document) error {
	return s.errorf(d.path, "takes more than %d bytes", d.most)
}

func (s *scanner) node(d *document, parent *node, first jsontext.Token) (*node, error) {
	n := &node{doc: d, parent: parent, offset: s.dec.InputOffset()}
	if n.offset-d.begins > d.most {
		return nil, s.tooLong(d)
	}
	if d.nodes++; d.nodes > maxNodes {
		return nil, s.errorf(d.path, "holds more than %d values", maxNodes)
	}
	switch first.Kind() {
	case '{', '[':
		return n, s.children(n, first.Kind())
	case '"':
		n.kind, n.text = isString, first.String()
		n.replaced = !s.sound && strings.ContainsRune(n.text, utf8.RuneError)
	case '0':
		n.kind, n.text = isNumber, first.String()
	case 't', 'f':
		n.kind, n.text = isBool, first.String()
	}
	return n, nil
}

func (s *scanner) children(n *node, open jsontext.Kind) error {
	add := func(key string, index int, first jsontext.Token) error {
		kid, err := s.node(n.doc, n, first)
		if err != nil {
			return err
		}
		kid.key, kid.index = key, index
		n.kids = append(n.kids, kid)
		return nil
	}
	if open == '[' {
		n.kind = isArray
		return s.elements(n.doc.path, func(i int, first jsontext.Token) error { return add("", i, first) })
	}
	n.kind = isObject
	return s.members(n.doc.path, func(_, key string, first jsontext.Token) error { return add(key, 0, first) })
}

// fail notes the first thing wrong in the document, with n as its place.
func (n *node) fail(format string, args ...any) {
	if n.doc.err == nil {
		n.doc.err = &Error{Path: n.path(), Offset: n.offset, Reason: fmt.Sprintf(format, args...)}
	}
}

// path is the place of n in the input.
func (n *node) path() string {
	return n.place(n.doc.path, func(i int) string { return strconv.Itoa(i) })
}

// pattern is the path with no number between brackets.
func (n *node) pattern() string { return n.place(n.doc.pattern, func(int) string { return "" }) }

func (n *node) place(root string, index func(int) string) string {
	if n.parent == nil {
		return root
	}
	outer := n.parent.place(root, index)
	if n.parent.kind == isArray {
		return outer + "[" + index(n.index) + "]"
	}
	return join(outer, n.key)
}

// leftovers calls each for every part that holds something and was not taken.
func (n *node) leftovers(each func(*node)) {
	for _, kid := range n.kids {
		switch {
		case kid.taken:
			kid.leftovers(each)
		case !kid.empty():
			each(kid)
		}
	}
}

// empty reports whether nothing is lost with n.
func (n *node) empty() bool {
	switch n.kind {
	case isNull:
		return true
	case isString:
		return n.text == ""
	case isArray:
		return len(n.kids) == 0
	}
	return false // an empty object may say something by being there
}

// sample is the beginning of n as JSON.
func (n *node) sample() string {
	var b strings.Builder
	n.write(&b)
	return cut(b.String())
}

func (n *node) write(b *strings.Builder) {
	open, end := "{", "}"
	switch n.kind {
	case isNull:
		b.WriteString("null")
		return
	case isString:
		b.Write(jsonout.String(nil, cut(n.text)))
		return
	case isBool, isNumber:
		b.WriteString(n.text)
		return
	case isArray:
		open, end = "[", "]"
	}
	b.WriteString(open)
	for i, kid := range n.kids {
		if b.Len() > maxShown {
			return
		}
		if i > 0 {
			b.WriteString(",")
		}
		if n.kind == isObject {
			b.Write(jsonout.String(nil, cut(kid.key)))
			b.WriteString(":")
		}
		kid.write(b)
	}
	b.WriteString(end)
}
