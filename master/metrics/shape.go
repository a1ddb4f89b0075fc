package metrics

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Shape is what the blocks of one kind have in common: how their names go on
// behind the prefix. It does not change.
type Shape struct {
	families []Family
	members  []Member // in the order of their names
	byName   order
	byFamily order
	spans    []span // of each family in byFamily
}

type span struct{ from, to int }

// order is how a form has the metrics of a block one behind another.
type order struct {
	index []int32 // in members, of what stands at each place
	place []int32 // of each member, less than 0 if it is left out
}

func newOrder(index []int32, members int) order {
	o := order{index, slices.Repeat([]int32{-1}, members)}
	for at, i := range index {
		o.place[i] = int32(at)
	}
	return o
}

// order is that of a form.
func (s *Shape) order(f Form) *order {
	if f == Prometheus {
		return &s.byFamily
	}
	return &s.byName
}

// Family is metrics that Prometheus knows by one name, and tells apart by a label.
type Family struct {
	Name, Help string
	Counter    bool   // else it is a gauge; the name of a counter ends in _total
	Label      string // "" if there is one metric in each block
}

// Member is a metric of a block: what its name ends with, and where it is for
// Prometheus: in which of the families, with which value of its label; less than 0
// is nowhere.
type Member struct {
	Name   string
	Family int
	Value  string
}

// NewShape is a shape of members, in any order. Two of one name are a mistake of
// the program. All shapes in a [Table] have the same families.
func NewShape(families []Family, members []Member) *Shape {
	s := &Shape{families: families, members: slices.Clone(members)}
	slices.SortFunc(s.members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	var byName, byFamily []int32
	for i, m := range s.members {
		if i > 0 && s.members[i-1].Name == m.Name {
			panic(fmt.Sprintf("metrics: a shape has %q twice", m.Name))
		}
		byName = append(byName, int32(i))
	}
	for f := range families {
		from := len(byFamily)
		for i, m := range s.members {
			if m.Family == f {
				byFamily = append(byFamily, int32(i))
			}
		}
		s.spans = append(s.spans, span{from, len(byFamily)})
	}
	s.byName, s.byFamily = newOrder(byName, len(members)), newOrder(byFamily, len(members))
	return s
}

// Index is where a block has the metric whose name ends so; the program knows
// that there is one.
func (s *Shape) Index(name string) int {
	i, ok := slices.BinarySearchFunc(s.members, name, func(m Member, name string) int { return strings.Compare(m.Name, name) })
	if !ok {
		panic(fmt.Sprintf("metrics: a shape has no %q", name))
	}
	return i
}

// Members yields what a block of this shape has, in the order of the names.
func (s *Shape) Members() iter.Seq[Member] { return slices.Values(s.members) }

// Len is how many metrics a block of this shape has.
func (s *Shape) Len() int { return len(s.members) }
