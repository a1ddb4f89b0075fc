package mesosjson

import (
	"bufio"
	"cmp"
	"io"
	"slices"

	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/registry"
)

// Write writes reg to w as a Mesos master answers /registrar(1)/registry:
// names in alphabetical order, no spaces, empty lists left out, defaults
// written out. Agents stand in the order in which they came into their state.
//
// What Mesos has no place for is left out: incarnations, labels and payloads
// of agents, and what is known of an agent that is unreachable or gone. An
// agent without a port gets Mesos's default, 5051. An error is the writer's, or
// a [*registry.CorruptError].
func Write(w io.Writer, reg *registry.Registry) error {
	out := bufio.NewWriterSize(w, 64<<10)
	sep := "{"
	for _, part := range parts(reg) {
		if part.agents != nil && len(part.agents) == 0 {
			continue
		}
		out.WriteString(sep + `"` + part.name + `":`)
		sep = ","
		if err := part.write(out); err != nil {
			return err
		}
	}
	if sep == "{" {
		out.WriteString(sep)
	}
	out.WriteString("}")
	return out.Flush()
}

// part is a member of the registry: a text, or a table of agents.
type part struct {
	name   string
	text   []byte
	agents []registry.Entry
	append func([]byte, registry.Entry) ([]byte, error)
}

// parts are in alphabetical order.
func parts(reg *registry.Registry) []part {
	list := []part{{name: "gone", agents: inOrder(reg, registry.Gone), append: appendGone}}
	if m, ok := reg.Master(); ok {
		list = append(list, part{name: "master", text: appendMaster(nil, m)})
	}
	if names := reg.MinimumCapabilities(); len(names) > 0 {
		list = append(list, part{name: "minimum_capabilities", text: appendCapabilities(nil, "capability", names)})
	}
	return append(list,
		part{name: "slaves", agents: inOrder(reg, registry.Admitted), append: appendAdmitted},
		part{name: "unreachable", agents: inOrder(reg, registry.Unreachable), append: appendUnreachable})
}

// inOrder is the agents in a state in the order in which they came into it;
// never nil.
func inOrder(reg *registry.Registry, state registry.State) []registry.Entry {
	list := make([]registry.Entry, 0, reg.Len(state))
	for e := range reg.Entries(state) {
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b registry.Entry) int { return cmp.Compare(a.Since(), b.Since()) })
	return list
}

// write leaves errors of out to its Flush.
func (p part) write(out *bufio.Writer) error {
	if p.agents == nil {
		out.Write(p.text)
		return nil
	}
	out.WriteString(`{"slaves":[`)
	var b []byte
	for i, e := range p.agents {
		b = b[:0]
		if i > 0 {
			b = append(b, ',')
		}
		b, err := p.append(b, e)
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	out.WriteString(`]}`)
	return nil
}

func appendGone(b []byte, e registry.Entry) ([]byte, error) {
	b = appendID(append(b, '{'), e.ID())
	b = appendTimestamp(append(b, ','), e)
	return append(b, '}'), nil
}

func appendUnreachable(b []byte, e registry.Entry) ([]byte, error) {
	b = appendStatus(append(b, '{'), e.Status())
	b = appendID(append(b, ','), e.ID())
	b = appendTimestamp(append(b, ','), e)
	return append(b, '}'), nil
}

func appendAdmitted(b []byte, e registry.Entry) ([]byte, error) {
	a, err := e.Agent()
	if err != nil {
		return b, err
	}
	b = appendStatus(append(b, '{'), e.Status())
	b = append(b, `,"info":`...)
	return append(appendInfo(b, a), '}'), nil
}

func appendID(b []byte, id registry.AgentID) []byte {
	b = append(b, `"id":{"value":`...)
	return append(jsonout.String(b, string(id)), '}')
}

// appendTimestamp writes 1970 for a time that is not known: the field must be
// there.
func appendTimestamp(b []byte, e registry.Entry) []byte {
	var nanoseconds int64
	if at := e.Status().At; !at.IsZero() {
		nanoseconds = at.UnixNano()
	}
	b = append(b, `"timestamp":{"nanoseconds":`...)
	return append(jsonout.Int(b, nanoseconds), '}')
}

func appendStatus(b []byte, s registry.Status) []byte {
	b = append(b, `"deactivated":`...)
	b = jsonout.Bool(b, s.Deactivated)
	if s.Drain.State == 0 {
		return b
	}
	b = append(b, `,"drain_info":{"config":{"mark_gone":`...)
	b = jsonout.Bool(b, s.Drain.MarkGone)
	if s.Drain.MaxGrace != nil {
		b = append(b, `,"max_grace_period":{"nanoseconds":`...)
		b = append(jsonout.Int(b, int64(*s.Drain.MaxGrace)), '}')
	}
	b = append(b, `},"state":`...)
	return append(jsonout.String(b, s.Drain.State.String()), '}')
}
