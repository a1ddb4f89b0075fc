package registry

import (
	"math"
	"slices"
)

// infoFields is how many fields an agent's info has in this version.
const infoFields = 10

// info encodes what an agent says of itself, without its ID.
func (b *buffer) info(a *Agent) {
	n := a.infoLen()
	b.array(n)
	for i := range n {
		switch i {
		case 0:
			b.str(a.Hostname)
		case 1:
			b.resources(a.Resources)
		case 2:
			b.attributes(a.Attributes)
		case 3:
			b.uint(uint64(a.Port))
		case 4:
			b.bool(a.Checkpoint)
		case 5:
			b.str(a.Domain.Region)
		case 6:
			b.str(a.Domain.Zone)
		case 7:
			b.str(a.Incarnation)
		case 8:
			b.labelMap(a.Labels)
		case 9:
			b.binLen(len(a.Payload))
			b.bytes = append(b.bytes, a.Payload...)
		}
	}
}

func (a *Agent) infoLen() int {
	set := [infoFields]bool{
		a.Hostname != "", len(a.Resources) > 0, len(a.Attributes) > 0, a.Port != 0, a.Checkpoint,
		a.Domain.Region != "", a.Domain.Zone != "", a.Incarnation != "", len(a.Labels) > 0, len(a.Payload) > 0,
	}
	n := infoFields
	for n > 0 && !set[n-1] {
		n--
	}
	return n
}

func (p *parser) info(a *Agent) {
	for i := range p.array(infoFields) {
		switch i {
		case 0:
			a.Hostname = p.text()
		case 1:
			a.Resources = parseList(p, (*parser).resource)
		case 2:
			a.Attributes = parseList(p, (*parser).attribute)
		case 3:
			a.Port = uint16(p.uint(math.MaxUint16))
		case 4:
			a.Checkpoint = p.bool()
		case 5:
			a.Domain.Region = p.text()
		case 6:
			a.Domain.Zone = p.text()
		case 7:
			a.Incarnation = p.text()
		case 8:
			a.Labels = p.labelMap()
		case 9:
			a.Payload = slices.Clone(p.bin())
		}
	}
}

// parseList reads an array item by item; memory grows with the bytes read, not
// with the length announced.
func parseList[T any](p *parser, item func(*parser) T) []T {
	var list []T
	for range p.array(math.MaxInt32) {
		v := item(p)
		if p.err != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}

func (b *buffer) resources(list []Resource) {
	b.array(len(list))
	for i := range list {
		r := &list[i]
		if len(r.Reservations) == 0 {
			b.array(3)
		} else {
			b.array(4)
		}
		b.str(r.Name)
		b.value(&r.Value)
		if len(r.Reservations) > 0 {
			b.reservations(r.Reservations)
		}
	}
}

func (p *parser) resource() (r Resource) {
	n := p.array(4)
	if n < 3 {
		p.fail("a resource of %d fields", n)
		return r
	}
	r.Name = p.text()
	r.Value = p.value()
	if n == 4 {
		r.Reservations = parseList(p, (*parser).reservation)
	}
	return r
}

func (b *buffer) attributes(list []Attribute) {
	b.array(len(list))
	for i := range list {
		b.array(3)
		b.str(list[i].Name)
		b.value(&list[i].Value)
	}
}

func (p *parser) attribute() (a Attribute) {
	if n := p.array(3); n != 3 {
		p.fail("an attribute of %d fields", n)
		return a
	}
	a.Name = p.text()
	a.Value = p.value()
	return a
}

func (b *buffer) value(v *Value) {
	b.uint(uint64(v.Kind))
	switch v.Kind {
	case KindScalar:
		b.scalar(v.Scalar)
	case KindRanges:
		b.array(2 * len(v.Ranges))
		for _, r := range v.Ranges {
			b.uint(r.Begin)
			b.uint(r.End)
		}
	case KindSet:
		b.array(len(v.Set))
		for _, s := range v.Set {
			b.str(s)
		}
	case KindText:
		b.str(v.Text)
	}
}

func (p *parser) value() (v Value) {
	v.Kind = Kind(p.uint(uint64(KindText)))
	switch v.Kind {
	case KindScalar:
		v.Scalar = p.scalar()
	case KindRanges:
		ends := parseList(p, func(p *parser) uint64 { return p.uint(math.MaxUint64) })
		if len(ends)%2 != 0 {
			p.fail("a range without an end")
			return v
		}
		for pair := range slices.Chunk(ends, 2) {
			v.Ranges = append(v.Ranges, Range{pair[0], pair[1]})
		}
	case KindSet:
		v.Set = parseList(p, (*parser).text)
	case KindText:
		v.Text = p.text()
	}
	return v
}

// maxWhole bounds the scalars that are encoded as whole numbers: beyond it not
// every whole number is a float64.
const maxWhole = 1 << 53

func (b *buffer) scalar(f float64) {
	if f >= 0 && f < maxWhole && f == math.Trunc(f) {
		b.uint(uint64(f)) // also for -0, which equals 0
		return
	}
	b.float(f)
}

func (p *parser) scalar() float64 {
	if isUint(p.code()) {
		return float64(p.uint(maxWhole - 1))
	}
	return p.float()
}

func (b *buffer) reservations(list []Reservation) {
	b.array(len(list))
	for i := range list {
		r := &list[i]
		n := r.encodedLen()
		b.array(n)
		for f := range n {
			switch f {
			case 0:
				b.str(r.Role)
			case 1:
				b.bool(r.Dynamic)
			case 2:
				b.str(r.Principal)
			case 3:
				b.labels(r.Labels)
			}
		}
	}
}

func (r *Reservation) encodedLen() int {
	switch {
	case len(r.Labels) > 0:
		return 4
	case r.Principal != "":
		return 3
	case r.Dynamic:
		return 2
	}
	return 1
}

func (p *parser) reservation() (r Reservation) {
	for f := range p.array(4) {
		switch f {
		case 0:
			r.Role = p.text()
		case 1:
			r.Dynamic = p.bool()
		case 2:
			r.Principal = p.text()
		case 3:
			r.Labels = parseList(p, (*parser).label)
		}
	}
	return r
}

func (b *buffer) labels(list []Label) {
	b.array(len(list))
	for _, l := range list {
		if l.Bare {
			b.array(1)
			b.str(l.Key)
			continue
		}
		b.array(2)
		b.str(l.Key)
		b.str(l.Value)
	}
}

func (p *parser) label() (l Label) {
	n := p.array(2)
	if n == 0 {
		p.fail("a label without a key")
		return l
	}
	l.Key = p.text()
	if l.Bare = n == 1; !l.Bare {
		l.Value = p.text()
	}
	return l
}

func (b *buffer) labelMap(m map[string]string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b.array(2 * len(keys))
	for _, k := range keys {
		b.str(k)
		b.str(m[k])
	}
}

func (p *parser) labelMap() map[string]string {
	n := p.array(math.MaxInt32)
	if n%2 != 0 {
		p.fail("a label without a value")
		return nil
	}
	m := make(map[string]string)
	last := ""
	for i := range n / 2 {
		k := p.text()
		if i > 0 && k <= last {
			p.fail("label %q is out of order", k)
		}
		last, m[k] = k, p.text()
		if p.err != nil {
			return nil
		}
	}
	return m
}
