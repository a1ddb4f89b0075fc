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
	b.Array(n)
	for i := range n {
		switch i {
		case 0:
			b.Str(a.Hostname)
		case 1:
			b.resources(a.Resources)
		case 2:
			b.attributes(a.Attributes)
		case 3:
			b.Uint(uint64(a.Port))
		case 4:
			b.Bool(a.Checkpoint)
		case 5:
			b.Str(a.Domain.Region)
		case 6:
			b.Str(a.Domain.Zone)
		case 7:
			b.Str(a.Incarnation)
		case 8:
			b.labelMap(a.Labels)
		case 9:
			b.BinLen(len(a.Payload))
			b.Bytes = append(b.Bytes, a.Payload...)
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
	for i := range p.Array(infoFields) {
		switch i {
		case 0:
			a.Hostname = p.Text()
		case 1:
			a.Resources = parseList(p, (*parser).resource)
		case 2:
			a.Attributes = parseList(p, (*parser).attribute)
		case 3:
			a.Port = uint16(p.Uint(math.MaxUint16))
		case 4:
			a.Checkpoint = p.Bool()
		case 5:
			a.Domain.Region = p.Text()
		case 6:
			a.Domain.Zone = p.Text()
		case 7:
			a.Incarnation = p.Text()
		case 8:
			a.Labels = p.labelMap()
		case 9:
			a.Payload = slices.Clone(p.Bin())
		}
	}
}

const incarnationField = 7

// endsBeforeIncarnation reports a short array that has no incarnation, which
// its first byte tells. It may miss one.
func endsBeforeIncarnation[B string | []byte](info B) bool {
	return info[0]&0xf0 == 0x90 && info[0]&0x0f <= incarnationField
}

// incarnationOf cannot fail: Encode wrote info, or redoAgent has read as far.
func incarnationOf(info string) string {
	if endsBeforeIncarnation(info) {
		return ""
	}
	var p parser
	p.Reset([]byte(info))
	return string(p.incarnation())
}

// incarnation reads an info up to the incarnation, and is a view of it; empty
// if there is none.
func (p *parser) incarnation() []byte {
	if p.Array(infoFields) <= incarnationField {
		return nil
	}
	p.Skip(incarnationField)
	return p.Str()
}

// parseList reads an array item by item; memory grows with the bytes read, not
// with the length announced.
func parseList[T any](p *parser, item func(*parser) T) []T {
	var list []T
	for range p.Array(math.MaxInt32) {
		v := item(p)
		if p.Err() != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}

func (b *buffer) resources(list []Resource) {
	b.Array(len(list))
	for i := range list {
		r := &list[i]
		if len(r.Reservations) == 0 {
			b.Array(3)
		} else {
			b.Array(4)
		}
		b.Str(r.Name)
		b.value(&r.Value)
		if len(r.Reservations) > 0 {
			b.reservations(r.Reservations)
		}
	}
}

func (p *parser) resource() (r Resource) {
	n := p.Array(4)
	if n < 3 {
		p.Fail("a resource of %d fields", n)
		return r
	}
	r.Name = p.Text()
	r.Value = p.value()
	if n == 4 {
		r.Reservations = parseList(p, (*parser).reservation)
	}
	return r
}

func (b *buffer) attributes(list []Attribute) {
	b.Array(len(list))
	for i := range list {
		b.Array(3)
		b.Str(list[i].Name)
		b.value(&list[i].Value)
	}
}

func (p *parser) attribute() (a Attribute) {
	if n := p.Array(3); n != 3 {
		p.Fail("an attribute of %d fields", n)
		return a
	}
	a.Name = p.Text()
	a.Value = p.value()
	return a
}

func (b *buffer) value(v *Value) {
	b.Uint(uint64(v.Kind))
	switch v.Kind {
	case KindScalar:
		b.scalar(v.Scalar)
	case KindRanges:
		b.Array(2 * len(v.Ranges))
		for _, r := range v.Ranges {
			b.Uint(r.Begin)
			b.Uint(r.End)
		}
	case KindSet:
		b.Array(len(v.Set))
		for _, s := range v.Set {
			b.Str(s)
		}
	case KindText:
		b.Str(v.Text)
	}
}

func (p *parser) value() (v Value) {
	v.Kind = Kind(p.Uint(uint64(KindText)))
	switch v.Kind {
	case KindScalar:
		v.Scalar = p.scalar()
	case KindRanges:
		ends := parseList(p, func(p *parser) uint64 { return p.Uint(math.MaxUint64) })
		if len(ends)%2 != 0 {
			p.Fail("a range without an end")
			return v
		}
		for pair := range slices.Chunk(ends, 2) {
			v.Ranges = append(v.Ranges, Range{pair[0], pair[1]})
		}
	case KindSet:
		v.Set = parseList(p, func(p *parser) string { return p.Text() })
	case KindText:
		v.Text = p.Text()
	}
	return v
}

// maxWhole bounds the scalars that are encoded as whole numbers: beyond it not
// every whole number is a float64.
const maxWhole = 1 << 53

func (b *buffer) scalar(f float64) {
	if f >= 0 && f < maxWhole && f == math.Trunc(f) {
		b.Uint(uint64(f)) // also for -0, which equals 0
		return
	}
	b.Float(f)
}

func (p *parser) scalar() float64 {
	if p.IsUint() {
		return float64(p.Uint(maxWhole - 1))
	}
	return p.Float()
}

func (b *buffer) reservations(list []Reservation) {
	b.Array(len(list))
	for i := range list {
		r := &list[i]
		n := r.encodedLen()
		b.Array(n)
		for f := range n {
			switch f {
			case 0:
				b.Str(r.Role)
			case 1:
				b.Bool(r.Dynamic)
			case 2:
				b.Str(r.Principal)
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
	for f := range p.Array(4) {
		switch f {
		case 0:
			r.Role = p.Text()
		case 1:
			r.Dynamic = p.Bool()
		case 2:
			r.Principal = p.Text()
		case 3:
			r.Labels = parseList(p, (*parser).label)
		}
	}
	return r
}

func (b *buffer) labels(list []Label) {
	b.Array(len(list))
	for _, l := range list {
		if l.Bare {
			b.Array(1)
			b.Str(l.Key)
			continue
		}
		b.Array(2)
		b.Str(l.Key)
		b.Str(l.Value)
	}
}

func (p *parser) label() (l Label) {
	n := p.Array(2)
	if n == 0 {
		p.Fail("a label without a key")
		return l
	}
	l.Key = p.Text()
	if l.Bare = n == 1; !l.Bare {
		l.Value = p.Text()
	}
	return l
}

func (b *buffer) labelMap(m map[string]string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b.Array(2 * len(keys))
	for _, k := range keys {
		b.Str(k)
		b.Str(m[k])
	}
}

func (p *parser) labelMap() map[string]string {
	n := p.Array(math.MaxInt32)
	if n%2 != 0 {
		p.Fail("a label without a value")
	}
	if n == 0 || p.Err() != nil {
		return nil
	}
	m := make(map[string]string)
	last := ""
	for i := range n / 2 {
		k := p.Text()
		if i > 0 && k <= last {
			p.Fail("label %q is out of order", k)
		}
		last, m[k] = k, p.Text()
		if p.Err() != nil {
			return nil
		}
	}
	return m
}
