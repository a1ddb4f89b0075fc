package registry

import (
	"time"

	"github.com/eaba02dc/registrar/internal/pack"
)

// Rows are what the log and checkpoints hold. A group of rows is
//
//	version  uint   1
//	rows     until the end of the bytes
//
// and one row is four msgpack values, one after another:
//
//	since    uint   revision of the change (for an agent: at which it came into its state)
//	table    uint   1 agents, 2 master, 3 keys of user tables, 4 pods; never renumbered
//	key      str    an agent's ID, "" of the master, a pod's ID
//	         bin    name of a user table, NUL, key
//	body     bin    the value, or nil for a deletion
//
// The bodies of tables other than the agents' are described where the table is
// made: master.go, keys.go, pod.go.
//
// The body of an agent is its own version, its status and what it says of itself:
//
//	version  uint   1
//	status   array  [state, at ns, deactivated, drain state, grace ns or nil, mark gone]
//	info     array  [hostname, resources, attributes, port, checkpoint,
//	                 region, zone, incarnation, labels, payload], or nothing
//
// An array that ends in default values (0, "", false, nil, empty) leaves them
// out, so that a later version can append fields and a value has exactly one
// encoding: equal agents are equal bytes. Numbers take their shortest form; a
// scalar is a uint when it is whole and below 2^53, else a 64-bit float.
//
//	resource    [name, kind, value] or [name, kind, value, reservations]
//	attribute   [name, kind, value]
//	value       by kind: scalar; array of begin, end, begin, end, …; array of str; str
//	reservation [role, dynamic, principal, labels], defaults at the end left out
//	label       [key] or [key, value]
//	labels      of an agent: array of key, value, key, value, … sorted by key
//
// | format | since | change | read by |
// |--------|-------|--------|---------|
// | 1      | v0.1  | as above | all   |
const (
	rowsVersion  = 1
	agentVersion = 1
)

// Bounds on what one agent may be.
const (
	// MaxID is the most bytes an AgentID may have.
	MaxID = 255
	// MaxAgent is the most bytes an agent may take encoded.
	MaxAgent = 1 << 20
)

// buffer and parser are pack's writer and reader with the values of this
// package added.
type (
	buffer struct{ *pack.Writer }
	parser struct{ pack.Reader }
)

func newBuffer() *buffer { return &buffer{pack.NewWriter()} }

// rowHead starts a row; its body or a null follows. It returns where the part
// that the digest covers begins.
func (b *buffer) rowHead(since uint64, table uint8, key string) int {
	b.Uint(since)
	at := len(b.Bytes)
	b.Uint(uint64(table))
	if t := tables[table]; t != nil && t.bytes {
		b.BinLen(len(key))
		b.Bytes = append(b.Bytes, key...)
	} else {
		b.Str(key)
	}
	return at
}

// agentRow appends the row of an agent and returns what the digest covers of it.
func (b *buffer) agentRow(e *entry, scratch *buffer) []byte {
	at := b.rowHead(e.since, agentTable, string(e.id))
	scratch.Reset()
	scratch.agentHead(&e.status)
	b.BinLen(len(scratch.Bytes) + len(e.info))
	b.Bytes = append(append(b.Bytes, scratch.Bytes...), e.info...)
	return b.Bytes[at:]
}

// agentHead is the body of an agent up to its info.
func (b *buffer) agentHead(s *status) {
	b.Uint(agentVersion)
	b.status(s)
}

// row appends a row of any other table and returns what the digest covers of it.
func (b *buffer) row(v *row) []byte {
	at := b.rowHead(v.since, v.table.id, v.key)
	b.BinLen(len(v.body))
	b.Bytes = append(b.Bytes, v.body...)
	return b.Bytes[at:]
}

func (b *buffer) status(s *status) {
	n := s.encodedLen()
	b.Array(n)
	for i := range n {
		switch i {
		case 0:
			b.Uint(uint64(s.state))
		case 1:
			b.Int(s.at)
		case 2:
			b.Bool(s.deactivated)
		case 3:
			b.Uint(uint64(s.drain))
		case 4:
			if s.grace == nil {
				b.Nil()
			} else {
				b.Int(int64(*s.grace))
			}
		case 5:
			b.Bool(s.markGone)
		}
	}
}

func (s *status) encodedLen() int {
	switch {
	case s.markGone:
		return 6
	case s.grace != nil:
		return 5
	case s.drain != 0:
		return 4
	case s.deactivated:
		return 3
	case s.at != 0:
		return 2
	}
	return 1
}

func (p *parser) status() (s status) {
	for i := range p.Array(6) {
		switch i {
		case 0:
			s.state = State(p.Uint(uint64(Gone)))
		case 1:
			s.at = p.Int()
		case 2:
			s.deactivated = p.Bool()
		case 3:
			s.drain = DrainState(p.Uint(uint64(Drained)))
		case 4:
			if !p.Nil() {
				grace := time.Duration(p.Int())
				s.grace = &grace
			}
		case 5:
			s.markGone = p.Bool()
		}
	}
	return s
}
