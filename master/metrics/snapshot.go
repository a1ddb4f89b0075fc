package metrics

import (
	"context"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/eaba02dc/registrar/internal/jsonout"
)

// Snapshot is the values of a [Table], to be written out. What is not pulled is
// read when it is written, so that it may be newer.
type Snapshot struct {
	entries []*entry
	pulled  map[*source][]float64 // nil for a source that did not answer
}

// Snapshot asks for all values at once, and waits for those that are pulled until
// ctx ends: what has not come then is left out.
func (t *Table) Snapshot(ctx context.Context) *Snapshot {
	s := &Snapshot{entries: t.all(), pulled: map[*source][]float64{}}
	asked := map[*source]*reading{}
	for _, e := range s.entries {
		if e.source != nil && asked[e.source] == nil {
			asked[e.source] = e.source.ask()
		}
	}
	for source, r := range asked {
		s.pulled[source] = r.wait(ctx)
	}
	return s
}

// value is the value of an entry that is no block; false if it has none now.
func (s *Snapshot) value(e *entry) (float64, bool) {
	switch {
	case e.counter != nil:
		return float64(e.counter.Value()), true
	case e.gauge != nil:
		v := e.gauge.Value()
		return v, finite(v)
	}
	values := s.pulled[e.source]
	if values == nil {
		return 0, false
	}
	v := values[e.index]
	return v, finite(v)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Each yields the names and values of what is in no block, in their order.
func (s *Snapshot) Each(yield func(name string, v float64) bool) {
	for _, e := range s.entries {
		if e.block != nil {
			continue
		}
		if v, ok := s.value(e); ok && !yield(e.key, v) {
			return
		}
	}
}

// Write writes all of it in a form, in pieces of some 256 KiB. It returns the
// first error of w.
func (s *Snapshot) Write(w io.Writer, f Form) error {
	out := newOutput(w)
	defer out.release()
	switch f {
	case V0:
		s.enclosed(out, f, '{', '}')
	case V1JSON:
		s.enclosed(out, f, '[', ']')
	case V1Protobuf:
		s.body(out, f)
	case Prometheus, OpenMetrics:
		s.families(out, f == OpenMetrics)
	}
	out.flush()
	return out.err
}

// enclosed writes a body of JSON. The comma that leads it gives its place to what
// opens it.
func (s *Snapshot) enclosed(out *output, f Form, open, shut byte) {
	out.open = open
	s.body(out, f)
	if out.open != 0 && len(out.b) == 0 {
		out.b = append(out.b, open)
	}
	out.b = append(out.b, shut)
}

func (s *Snapshot) body(out *output, f Form) {
	for i, e := range s.entries {
		if out.err != nil {
			return
		}
		fetch(s.entries, i)
		if e.block != nil {
			out.block(e.block, f)
			continue
		}
		if v, ok := s.value(e); ok {
			out.b = one(out.b, f, e.key, v)
			out.more()
		}
	}
}

// ahead is how many entries are fetched at once.
const ahead = 16

// fetch looks at the blocks that come next. Each lies somewhere else in memory: the
// processor waits for all of them at once here, and would for one after another.
func fetch(entries []*entry, at int) (marks uint64) {
	if at%ahead != 0 {
		return 0
	}
	for _, e := range entries[at:min(at+ahead, len(entries))] {
		if e.block != nil {
			marks |= e.block.dirty[0].Load()
		}
	}
	return marks
}

// one is a value that is in no block.
func one(to []byte, f Form, name string, v float64) []byte {
	switch f {
	case V0:
		return jsonout.Float(append(jsonout.String(append(to, ','), name), ':'), v)
	case V1JSON:
		to = append(jsonout.String(append(to, `,{"name":`...), name), `,"value":`...)
		return append(jsonout.Float(to, v), '}')
	default:
		return fixed64(leadMetric(to, name, ""), v)
	}
}

// SizeV1Protobuf is how many bytes [Snapshot.Write] has in that form.
func (s *Snapshot) SizeV1Protobuf() (n int) {
	for _, e := range s.entries {
		if e.block != nil {
			n += e.block.size
		} else if _, ok := s.value(e); ok {
			n += fieldSize(len(e.key))
		}
	}
	return n
}

// families writes what blocks have, each family of Prometheus as a whole.
func (s *Snapshot) families(out *output, open bool) {
	var blocks []*entry
	for _, e := range s.entries {
		if e.block != nil {
			blocks = append(blocks, e)
		}
	}
	if len(blocks) == 0 {
		return
	}
	families := blocks[0].block.shape.families
	for f := range families {
		out.head(&families[f], open)
		for i, e := range blocks {
			fetch(blocks, i)
			out.family(e.block, f)
		}
	}
}

// output is the writer of a snapshot: pieces that are large enough for the system.
type output struct {
	w       io.Writer
	b       []byte
	scratch []byte
	open    byte // in place of the first byte, if it is not 0
	err     error
	pooled  *buffers
}

// buffers are what an output works in.
type buffers struct{ b, scratch []byte }

// pieceSize is large, for a piece of unknown length takes two system calls, and fits
// the cache next to the processor, for it is copied there and away.
const pieceSize = 256 << 10

var pool = sync.Pool{New: func() any { return &buffers{make([]byte, 0, pieceSize+16<<10), nil} }}

func newOutput(w io.Writer) *output {
	p := pool.Get().(*buffers)
	return &output{w: w, b: p.b[:0], scratch: p.scratch, pooled: p}
}

func (o *output) release() {
	if cap(o.b) > 2*pieceSize {
		return
	}
	o.pooled.b, o.pooled.scratch = o.b[:0], o.scratch
	pool.Put(o.pooled)
}

// more writes what there is, if that is a piece.
func (o *output) more() {
	if len(o.b) >= pieceSize {
		o.flush()
	}
}

func (o *output) flush() {
	if len(o.b) == 0 {
		return
	}
	if o.open != 0 {
		o.b[0], o.open = o.open, 0
	}
	if o.err == nil {
		_, o.err = o.w.Write(o.b)
	}
	o.b = o.b[:0]
}

func (o *output) block(b *Block, f Form) {
	b.mu.Lock()
	o.b = append(o.b, b.up(f, &o.scratch).bytes...)
	b.mu.Unlock()
	o.more()
}

// family writes what a block has of a family.
func (o *output) family(b *Block, family int) {
	at := b.shape.spans[family]
	if at.from == at.to || o.err != nil {
		return
	}
	b.mu.Lock()
	l := b.up(Prometheus, &o.scratch)
	from := 0
	if at.from > 0 {
		from = l.end(at.from - 1)
	}
	o.b = append(o.b, l.bytes[from:l.end(at.to-1)]...)
	b.mu.Unlock()
	o.more()
}

// head says what a family is. OpenMetrics leaves out what the names of counters
// end with.
func (o *output) head(f *Family, open bool) {
	name, kind := f.Name, "gauge"
	if f.Counter {
		kind = "counter"
		if open {
			name = strings.TrimSuffix(name, "_total")
		}
	}
	o.b = append(o.b, "# HELP "+name+" "+f.Help+"\n# TYPE "+name+" "+kind+"\n"...)
}

// EscapeLabel is a value as it stands between the quotes of a label of Prometheus.
func EscapeLabel(v string) string { return labelEscapes.Replace(strings.ToValidUTF8(v, "�")) }

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
