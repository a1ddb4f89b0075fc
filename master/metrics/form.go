package metrics

import (
	"encoding/binary"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eaba02dc/registrar/internal/jsonout"
)

// Form is how values are written.
type Form int

// The forms. V0 is a JSON object with a member for each name, V1JSON an array of
// objects with a name and a value, V1Protobuf the same as the fields of Mesos's
// GetMetrics. In Prometheus's text only blocks are written, family by family.
const (
	V0 Form = iota
	V1JSON
	V1Protobuf
	Prometheus
	forms

	// OpenMetrics is Prometheus but for what is said of each family.
	OpenMetrics
)

// style is how one form writes a metric of a block: what leads to the value, the
// value, and what follows. In JSON a comma leads.
type style struct {
	lead  func(to []byte, b *Block, i int) []byte
	value func(to []byte, v int64) []byte
	tail  string
}

var styles = [forms]style{
	V0:         {lead: leadV0, value: jsonInt},
	V1JSON:     {lead: leadV1, value: jsonInt, tail: "}"},
	V1Protobuf: {lead: leadProtobuf, value: func(to []byte, v int64) []byte { return fixed64(to, float64(v)) }},
	Prometheus: {lead: leadPrometheus, value: func(to []byte, v int64) []byte { return strconv.AppendInt(to, v, 10) }, tail: "\n"},
}

// jsonInt is a whole number as jsonout.Float writes it, sooner.
func jsonInt(to []byte, v int64) []byte {
	if v > 1<<53 || v < -1<<53 {
		return jsonout.Float(to, float64(v))
	}
	return append(strconv.AppendInt(to, v, 10), '.', '0')
}

func fixed64(to []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
}

func leadV0(to []byte, b *Block, i int) []byte {
	return append(b.name(append(to, ','), i), ':')
}

func leadV1(to []byte, b *Block, i int) []byte {
	return append(b.name(append(to, `,{"name":`...), i), `,"value":`...)
}

// name is the name of a metric of a block, in JSON.
func (b *Block) name(to []byte, i int) []byte {
	to = jsonout.String(to, b.prefix)
	to = to[:len(to)-1]
	n := len(to)
	to = jsonout.String(to, b.shape.members[i].Name)
	return append(to[:n], to[n+1:]...)
}

// The fields of GetMetrics and Metric in Mesos's v1 operator API.
const (
	metricField = 1
	nameField   = 1
	valueField  = 2
)

func leadProtobuf(to []byte, b *Block, i int) []byte {
	return leadMetric(to, b.prefix, b.shape.members[i].Name)
}

// leadMetric is a Metric up to its value; more is the rest of its name.
func leadMetric(to []byte, name, more string) []byte {
	n := len(name) + len(more)
	to = protowire.AppendTag(to, metricField, protowire.BytesType)
	to = protowire.AppendVarint(to, uint64(metricSize(n)))
	to = protowire.AppendTag(to, nameField, protowire.BytesType)
	to = protowire.AppendVarint(to, uint64(n))
	to = append(append(to, name...), more...)
	return protowire.AppendTag(to, valueField, protowire.Fixed64Type)
}

// metricSize is the size of a Metric with a name of n bytes.
func metricSize(n int) int {
	return protowire.SizeTag(nameField) + protowire.SizeBytes(n) + protowire.SizeTag(valueField) + protowire.SizeFixed64()
}

func fieldSize(n int) int { return protowire.SizeTag(metricField) + protowire.SizeBytes(metricSize(n)) }

func leadPrometheus(to []byte, b *Block, i int) []byte {
	m := &b.shape.members[i]
	f := &b.shape.families[m.Family]
	to = append(append(append(to, f.Name...), '{'), b.labels...)
	if f.Label != "" {
		to = append(append(append(to, ','), f.Label...), `="`...)
		to = append(append(to, EscapeLabel(m.Value)...), '"')
	}
	return append(to, "} "...)
}
