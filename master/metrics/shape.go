package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// Shape is what the blocks of one kind have in common: how their names go on
// behind the prefix. It does not change.
type Shape struct {
	names    []string // in their order
	place    map[string]int
	families []Family
	of       []Member // of each name, in the order of names
	orders   [forms]order
	spans    []span // of each family, in the order of Prometheus
}

type span struct{ from, to int }

// order is how a form has the metrics of a block one behind another.
type order struct {
	index []int // in names, of what stands at each place
	place []int // of each name, less than 0 if it is left out
}

func newOrder(index []int, names int) order {
	o := order{index, slices.Repeat([]int{-1}, names)}
	for at, i := range index {
		o.place[i] = at
	}
	return o
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
	s := &Shape{families: families, of: slices.Clone(members), place: map[string]int{}}
	slices.SortFunc(s.of, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	for i, m := range s.of {
		if _, twice := s.place[m.Name]; twice {
			panic(fmt.Sprintf("metrics: a shape has %q twice", m.Name))
		}
		s.names, s.place[m.Name] = append(s.names, m.Name), i
	}
	var byName, byFamily []int
	for i := range s.names {
		byName = append(byName, i)
	}
	for f := range families {
		from := len(byFamily)
		for i, m := range s.of {
			if m.Family == f {
				byFamily = append(byFamily, i)
			}
		}
		s.spans = append(s.spans, span{from, len(byFamily)})
	}
	for f := range s.orders {
		s.orders[f] = newOrder(byName, len(s.names))
	}
	s.orders[Prometheus] = newOrder(byFamily, len(s.names))
	return s
}

// Index is where a block has the metric whose name ends so; the program knows
// that there is one.
func (s *Shape) Index(name string) int {
	i, ok := s.place[name]
	if !ok {
		panic(fmt.Sprintf("metrics: a shape has no %q", name))
	}
	return i
}

// Len is how many metrics a block of this shape has.
func (s *Shape) Len() int { return len(s.names) }
