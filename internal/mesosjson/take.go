package mesosjson

import (
	"math"
	"strconv"
	"time"
)

// want takes n if it is of kind k. A null is as good as nothing; another kind
// is an error.
func (n *node) want(k kind) *node {
	if n == nil {
		return nil
	}
	n.taken = true
	if n.kind == isNull {
		return nil
	}
	if n.kind != k {
		n.fail("is %v, not %v", n.kind, k)
		return nil
	}
	return n
}

// member is the first member of this name, not yet taken.
func (n *node) member(key string) *node {
	if n == nil {
		return nil
	}
	for _, kid := range n.kids {
		if kid.key == key {
			return kid
		}
	}
	return nil
}

// in takes the object of this name.
func (n *node) in(key string) *node { return n.member(key).want(isObject) }

// pass takes members whose loss is no loss, or that were seen to already.
func (n *node) pass(keys ...string) {
	for _, key := range keys {
		if kid := n.member(key); kid != nil {
			kid.swallow()
		}
	}
}

func (n *node) swallow() {
	n.taken = true
	for _, kid := range n.kids {
		kid.swallow()
	}
}

// list takes the array n and returns its elements.
func (n *node) list() []*node {
	if n = n.want(isArray); n == nil {
		return nil
	}
	return n.kids
}

// fields takes the object n and returns its members, in order; a name may
// stand more than once.
func (n *node) fields() []*node {
	if n = n.want(isObject); n == nil {
		return nil
	}
	return n.kids
}

// str takes a string. Bytes that are not UTF-8 were replaced when the token
// was read; they are an error here, for what is kept is kept exactly.
func (n *node) str() string {
	if n = n.want(isString); n == nil {
		return ""
	}
	if n.replaced {
		n.fail("is not valid UTF-8: %q", cut(n.text))
	}
	return n.text
}

func (n *node) truth() bool {
	n = n.want(isBool)
	return n != nil && n.text == "true"
}

// float takes a finite number.
func (n *node) float() float64 {
	if n = n.want(isNumber); n == nil {
		return 0
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		n.fail("%s is too large", cut(n.text))
	}
	return f
}

// whole takes a whole number, and takes 5.0 for one.
func (n *node) whole() int64 {
	if n = n.want(isNumber); n == nil {
		return 0
	}
	if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		n.fail("%s is not a whole number, or too large", cut(n.text))
		return 0
	}
	return int64(f)
}

// natural takes a whole number from 0 up to the largest uint64.
func (n *node) natural() uint64 {
	if n == nil {
		return 0
	}
	if u, err := strconv.ParseUint(n.text, 10, 64); n.kind == isNumber && err == nil {
		n.taken = true
		return u
	}
	i := n.whole()
	if i < 0 {
		n.fail("%d is less than 0", i)
		return 0
	}
	return uint64(i)
}

// port takes a port number; a missing one is other.
func (n *node) port(other uint16) uint16 {
	if n = n.want(isNumber); n == nil {
		return other
	}
	p := n.whole()
	if p < 1 || p > math.MaxUint16 {
		n.fail("%s is not a port", cut(n.text))
		return 0
	}
	return uint16(p)
}

// time takes {"nanoseconds": n}, counted from 1970.
func (n *node) time() time.Time {
	if n = n.want(isObject); n == nil {
		return time.Time{}
	}
	return time.Unix(0, n.member("nanoseconds").whole()).UTC()
}
