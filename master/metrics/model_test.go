package metrics

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/internal/jsonout"
)

// naive is a Table that anybody understands.
type naive map[string]float64

func (n naive) v0() (b []byte) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(n)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonout.Float(append(jsonout.String(b, name), ':'), n[name])
	}
	return append(b, '}')
}

func (n naive) v1() (b []byte) {
	b = append(b, '[')
	for i, name := range slices.Sorted(maps.Keys(n)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonout.String(append(b, `{"name":`...), name), `,"value":`...)
		b = append(jsonout.Float(b, n[name]), '}')
	}
	return append(b, ']')
}

func (n naive) protobuf() (b []byte) {
	for _, name := range slices.Sorted(maps.Keys(n)) {
		var m []byte
		m = protowire.AppendString(protowire.AppendTag(m, 1, protowire.BytesType), name)
		m = fixed64(protowire.AppendTag(m, 2, protowire.Fixed64Type), n[name])
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), m)
	}
	return b
}

// series is how often the values of blocks stand in Prometheus's text.
func (n naive) series() map[string]float64 {
	all := map[string]float64{}
	for name, v := range n {
		switch parts := strings.Split(name, "/"); {
		case len(parts) != 3 && len(parts) != 4 || parts[0] != "block":
		case len(parts) == 3 && parts[2] == "subscribed":
			all["fw_subscribed "+parts[1]] = v
		case len(parts) == 4 && parts[2] == "calls":
			all["fw_calls_total "+parts[1]+" "+parts[3]] = v
		}
	}
	return all
}

var families = []Family{
	{Name: "fw_calls_total", Help: "Calls.", Counter: true, Label: "call"},
	{Name: "fw_subscribed", Help: "Subscribed."},
}

// shapeOf is a shape of three names and of so many more that there is more than
// one word of marks.
func shapeOf(more int) *Shape {
	members := []Member{{"subscribed", 1, ""}, {"calls", -1, ""}, {`calls/a"b`, 0, `a"b`}}
	for i := range more {
		members = append(members, Member{fmt.Sprintf("calls/%d", i), 0, fmt.Sprint(i)})
	}
	return NewShape(families, members)
}

func written(t interface{ Fatal(...any) }, table *Table, f Form) []byte {
	var b bytes.Buffer
	if err := table.Snapshot(context.Background()).Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSnapshotsAreWhatASortedMapHolds(t *testing.T) {
	small, large := shapeOf(0), shapeOf(70)
	rapid.Check(t, func(t *rapid.T) {
		var table Table
		model := naive{}
		counters, gauges, blocks := map[string]*Counter{}, map[string]*Gauge{}, map[string]*Block{}
		name := rapid.StringMatching(`[a-c]{1,2}(/[a-c"_.-])?`)
		id := rapid.StringMatching(`[a-c.-]{1,3}`)
		forget := func(prefix string) {
			for name := range model {
				if strings.HasPrefix(name, prefix) {
					delete(model, name)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"counter": func(t *rapid.T) {
				n := name.Draw(t, "name")
				c, err := table.Counter(n)
				if _, taken := model[n]; taken != (err != nil) {
					t.Fatalf("Counter(%q): %v, and taken is %v", n, err, taken)
				}
				if err == nil {
					counters[n], model[n] = c, 0
				}
			},
			"gauge": func(t *rapid.T) {
				n := name.Draw(t, "name")
				if g, err := table.Gauge(n); err == nil {
					gauges[n], model[n] = g, 0
				}
			},
			"remove": func(t *rapid.T) {
				n := name.Draw(t, "name")
				if _, there := model[n]; there != (table.Remove(n) == nil) {
					t.Fatalf("Remove(%q) does not know what is there", n)
				}
				delete(model, n)
				delete(counters, n)
				delete(gauges, n)
			},
			"count": func(t *rapid.T) {
				for _, n := range slices.Sorted(maps.Keys(counters)) {
					counters[n].Inc()
					model[n]++
				}
			},
			"set": func(t *rapid.T) {
				for _, n := range slices.Sorted(maps.Keys(gauges)) {
					v := rapid.Float64Range(-1e9, 1e9).Draw(t, "value")
					gauges[n].Set(v)
					model[n] = v
				}
			},
			"block": func(t *rapid.T) {
				prefix := "block/" + id.Draw(t, "id") + "/"
				shape := rapid.SampledFrom([]*Shape{small, large}).Draw(t, "shape")
				b, err := table.Block(prefix, `id="`+strings.Split(prefix, "/")[1]+`"`, shape)
				if taken := blocks[prefix] != nil; taken != (err != nil) {
					t.Fatalf("Block(%q): %v, and taken is %v", prefix, err, taken)
				}
				if err != nil {
					return
				}
				blocks[prefix] = b
				for _, m := range shape.members {
					model[prefix+m.Name] = 0
				}
			},
			"remove block": func(t *rapid.T) {
				if len(blocks) == 0 {
					t.Skip()
				}
				prefix := rapid.SampledFrom(slices.Sorted(maps.Keys(blocks))).Draw(t, "prefix")
				if err := table.Remove(prefix); err != nil {
					t.Fatal(err)
				}
				delete(blocks, prefix)
				forget(prefix)
			},
			"change blocks": func(t *rapid.T) {
				for _, prefix := range slices.Sorted(maps.Keys(blocks)) {
					b := blocks[prefix]
					for range rapid.IntRange(0, 5).Draw(t, "times") {
						i := rapid.IntRange(0, b.shape.Len()-1).Draw(t, "index")
						v := rapid.SampledFrom([]int64{0, 1, 9, 10, 12345, -1, 1 << 60}).Draw(t, "value")
						b.Set(i, v)
						b.Add(i, 1)
						model[prefix+b.shape.members[i].Name] = float64(v + 1)
					}
				}
			},
			"forget": func(*rapid.T) { table.Forget() },
			"v0": func(t *rapid.T) {
				if got := written(t, &table, V0); !bytes.Equal(got, model.v0()) {
					t.Fatalf("got  %s\nwant %s", got, model.v0())
				}
			},
			"v1": func(t *rapid.T) {
				if got := written(t, &table, V1JSON); !bytes.Equal(got, model.v1()) {
					t.Fatalf("got  %s\nwant %s", got, model.v1())
				}
			},
			"protobuf": func(t *rapid.T) {
				got := written(t, &table, V1Protobuf)
				if !bytes.Equal(got, model.protobuf()) {
					t.Fatalf("got  %q\nwant %q", got, model.protobuf())
				}
				if n := table.Snapshot(context.Background()).SizeV1Protobuf(); n != len(got) {
					t.Fatalf("it was to have %d bytes, and has %d", n, len(got))
				}
			},
			"prometheus": func(t *rapid.T) {
				if got, want := parsed(t, written(t, &table, Prometheus)), model.series(); !maps.Equal(got, want) {
					t.Fatalf("got  %v\nwant %v", got, want)
				}
			},
		})
	})
}

// parsed is what Prometheus's own parser reads.
func parsed(t *rapid.T, text []byte) map[string]float64 {
	p := expfmt.NewTextParser(model.LegacyValidation)
	found, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	all := map[string]float64{}
	for name, f := range found {
		for _, m := range f.Metric {
			key := name
			for _, label := range []string{"id", "call"} {
				for _, l := range m.Label {
					if l.GetName() == label {
						key += " " + l.GetValue()
					}
				}
			}
			if _, twice := all[key]; twice {
				t.Fatalf("%s stands there twice", key)
			}
			all[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}
