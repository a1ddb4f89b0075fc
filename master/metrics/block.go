package metrics

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Block is the metrics of one of many things, as its [Shape] lays them out. They
// are whole numbers, counters and gauges alike.
type Block struct {
	prefix, labels string
	shape          *Shape
	size           int // in V1Protobuf
	values         []atomic.Int64
	// dirty has a bit for each value that changed since a reader looked. A value is
	// changed first and marked then; a reader takes the marks first and reads then.
	dirty []atomic.Uint64

	mu   sync.Mutex // of those who read
	look [forms]*look
}

func newBlock(prefix, labels string, shape *Shape) *Block {
	n := shape.Len()
	b := &Block{prefix: prefix, labels: labels, shape: shape, values: make([]atomic.Int64, n), dirty: make([]atomic.Uint64, max(1, (n+63)/64))}
	for i := range shape.members {
		b.size += fieldSize(len(prefix) + len(shape.members[i].Name))
	}
	return b
}

// Add adds to the value at an index of the shape.
func (b *Block) Add(i int, n int64) {
	b.values[i].Add(n)
	b.mark(i)
}

// Set makes v the value at an index of the shape.
func (b *Block) Set(i int, v int64) {
	b.values[i].Store(v)
	b.mark(i)
}

// mark sets a bit only if it is not set: that the next reader sees, who has not
// read the value yet.
func (b *Block) mark(i int) {
	word, bit := &b.dirty[i/64], uint64(1)<<(i%64)
	if word.Load()&bit == 0 {
		word.Or(bit)
	}
}

// Len is how many values there are.
func (b *Block) Len() int { return len(b.values) }

// Value is the value at an index of the shape.
func (b *Block) Value(i int) int64 { return b.values[i].Load() }

// look is what a block looks like in a form.
type look struct {
	bytes []byte
	start []uint32 // of each value in bytes, in the order of the form
	len   []uint8  // of each value
	stale []uint64 // a bit for each value that changed since, by its index in the shape
	late  bool     // a bit of stale may be set
}

// end is where in bytes a line of Prometheus ends.
func (l *look) end(at int) int { return int(l.start[at]) + int(l.len[at]) + len("\n") }

// up brings the look in a form up to date. Call it with mu held, and use what it
// returns before mu is let go.
func (b *Block) up(f Form, scratch *[]byte) *look {
	for w := range b.dirty {
		if b.dirty[w].Load() == 0 {
			continue
		}
		changed := b.dirty[w].Swap(0)
		for _, l := range b.look {
			if l != nil {
				l.stale[w] |= changed
				l.late = true
			}
		}
	}
	l := b.look[f]
	if l == nil {
		l = b.first(f, scratch)
		b.look[f] = l
		return l
	}
	if l.late {
		b.patch(l, f, scratch)
		l.late = false
	}
	return l
}

// first makes the look.
func (b *Block) first(f Form, scratch *[]byte) *look {
	style, order := &styles[f], b.shape.order(f).index
	l := &look{start: make([]uint32, len(order)), len: make([]uint8, len(order)), stale: make([]uint64, len(b.dirty))}
	to := (*scratch)[:0]
	for at, i := range order {
		to = style.lead(to, b, int(i))
		n := len(to)
		to = style.value(to, b.values[i].Load())
		l.start[at], l.len[at] = uint32(n), uint8(len(to)-n)
		to = append(to, style.tail...)
	}
	*scratch = to
	l.bytes = fitted(to)
	return l
}

// fitted is a copy with room to grow by little.
func fitted(b []byte) []byte { return append(make([]byte, 0, len(b)+len(b)/64), b...) }

// patch writes the values that are stale over what they were. If they are longer
// or shorter now, all moves.
func (b *Block) patch(l *look, f Form, scratch *[]byte) {
	style, place := &styles[f], b.shape.order(f).place
	var room [32]byte
	moved := false
	for w := range l.stale {
		left := l.stale[w]
		for rest := left; rest != 0; rest &= rest - 1 {
			bit := bits.TrailingZeros64(rest)
			at := place[64*w+bit]
			if at < 0 {
				left &^= 1 << bit
				continue
			}
			now := style.value(room[:0], b.values[64*w+bit].Load())
			if len(now) == int(l.len[at]) {
				copy(l.bytes[l.start[at]:], now)
				left &^= 1 << bit
			}
		}
		l.stale[w] = left
		moved = moved || left != 0
	}
	if moved {
		b.move(l, f, scratch)
	}
}

// move writes the rest of the stale values, and what is between them elsewhere.
func (b *Block) move(l *look, f Form, scratch *[]byte) {
	style, order := &styles[f], b.shape.order(f).index
	to, from := (*scratch)[:0], uint32(0)
	for at, start := range l.start {
		i := order[at]
		if l.stale[i/64]&(1<<(i%64)) == 0 {
			l.start[at] = start - from + uint32(len(to))
			continue
		}
		to = append(to, l.bytes[from:start]...)
		from = start + uint32(l.len[at])
		l.start[at] = uint32(len(to))
		to = style.value(to, b.values[i].Load())
		l.len[at] = uint8(uint32(len(to)) - l.start[at])
	}
	to = append(to, l.bytes[from:]...)
	*scratch = to
	clear(l.stale)
	if cap(l.bytes) < len(to) {
		l.bytes = fitted(to)
	} else {
		l.bytes = append(l.bytes[:0], to...)
	}
}

func (b *Block) forget() {
	b.mu.Lock()
	b.look = [forms]*look{}
	b.mu.Unlock()
}

func (b *Block) remembered() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.look {
		if l != nil {
			n += cap(l.bytes) + 4*cap(l.start) + cap(l.len) + 8*cap(l.stale)
		}
	}
	return n
}
