package ops_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

var states = map[string]registry.State{
	"admitted": registry.Admitted, "unreachable": registry.Unreachable, "gone": registry.Gone,
}

var drainStates = map[string]registry.DrainState{"draining": registry.Draining, "drained": registry.Drained}

// arguments are those of one command; err is the first that does not parse.
type arguments struct {
	d   *datadriven.TestData
	err error
}

func (a *arguments) text(key string) string {
	if arg, ok := a.d.Arg(key); ok && len(arg.Vals) > 0 {
		text, err := strconv.Unquote(`"` + arg.Vals[0] + `"`) // for \xff and the like
		a.note(err)
		return text
	}
	return ""
}

func (a *arguments) note(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *arguments) has(key string) bool { return a.d.HasArg(key) }

func (a *arguments) id(key string) registry.AgentID { return registry.AgentID(a.text(key)) }

func (a *arguments) ids(key string) (ids []registry.AgentID) {
	if arg, ok := a.d.Arg(key); ok {
		for _, v := range arg.Vals {
			ids = append(ids, registry.AgentID(v))
		}
	}
	return ids
}

func (a *arguments) time(key string) (t time.Time) {
	if a.has(key) {
		var err error
		t, err = time.Parse(time.RFC3339, a.text(key))
		a.note(err)
	}
	return t
}

func (a *arguments) duration(key string) *time.Duration {
	if !a.has(key) {
		return nil
	}
	d, err := time.ParseDuration(a.text(key))
	a.note(err)
	return &d
}

func (a *arguments) agent() registry.Agent {
	g := registry.Agent{ID: a.id("id"), Hostname: a.text("host"), Incarnation: a.text("incarnation")}
	if a.has("port") {
		port, err := strconv.ParseUint(a.text("port"), 10, 16)
		a.note(err)
		g.Port = uint16(port)
	}
	if a.has("payload") { // its length
		n, err := strconv.Atoi(a.text("payload"))
		a.note(err)
		g.Payload = make([]byte, n)
	}
	return g
}

func (a *arguments) status() registry.Status {
	s := registry.Status{State: states[a.text("state")], At: a.time("at"), Deactivated: a.has("deactivated")}
	s.Drain = registry.Drain{State: drainStates[a.text("drain")], MaxGrace: a.duration("grace"), MarkGone: a.has("mark-gone")}
	return s
}

func (a *arguments) restore() ops.Restore {
	r := ops.Restore{ID: a.id("id"), Status: a.status()}
	if a.has("host") {
		g := a.agent()
		if a.has("agent-id") {
			g.ID = a.id("agent-id")
		}
		r.Agent = &g
	}
	return r
}

// value is the text given, or as many bytes as asked for.
func (a *arguments) value() string {
	if !a.has("value-bytes") {
		return a.text("value")
	}
	n, err := strconv.Atoi(a.text("value-bytes"))
	a.note(err)
	return strings.Repeat("x", n)
}

func (a *arguments) pod() registry.Pod {
	return registry.Pod{ID: a.text("id"), Version: a.time("version"), Definition: []byte(a.value())}
}

func (a *arguments) condition() ops.Condition {
	switch {
	case a.has("if-absent"):
		return ops.Absent()
	case !a.has("if-revision"):
		return ops.Condition{}
	}
	revision, err := strconv.ParseUint(a.text("if-revision"), 10, 64)
	a.note(err)
	return ops.AtRevision(revision)
}

// parseOperation reads a command such as
//
//	mark-unreachable id=a1 at=2026-01-02T15:04:05Z
func parseOperation(d *datadriven.TestData) (op ops.Operation, err error) {
	a := arguments{d: d}
	switch d.Cmd {
	case "admit":
		op = ops.Admit{Agent: a.agent(), Supersedes: a.text("supersedes")}
	case "update":
		op = ops.Update{Agent: a.agent(), Supersedes: a.text("supersedes")}
	case "readmit":
		op = ops.Readmit{Agent: a.agent(), Supersedes: a.text("supersedes")}
	case "replace":
		op = ops.Replace{Old: a.id("old"), Agent: a.agent()}
	case "restore":
		op = a.restore()
	case "mark-unreachable":
		op = ops.MarkUnreachable{ID: a.id("id"), At: a.time("at")}
	case "mark-gone":
		op = ops.MarkGone{ID: a.id("id"), At: a.time("at")}
	case "remove":
		op = ops.Remove{ID: a.id("id")}
	case "prune":
		op = ops.Prune{Unreachable: a.ids("unreachable"), Gone: a.ids("gone")}
	case "drain":
		op = ops.Drain{ID: a.id("id"), MaxGrace: a.duration("grace"), MarkGone: a.has("mark-gone")}
	case "mark-drained":
		op = ops.MarkDrained{ID: a.id("id")}
	case "deactivate":
		op = ops.Deactivate{ID: a.id("id")}
	case "reactivate":
		op = ops.Reactivate{ID: a.id("id")}
	case "set-master":
		op = ops.SetMaster{Master: registry.Master{ID: a.text("id"), Hostname: a.text("host")}}
	case "put":
		op = ops.Put{Table: a.text("table"), Key: a.text("key"), Value: a.value(), If: a.condition()}
	case "delete":
		op = ops.Delete{Table: a.text("table"), Key: a.text("key"), If: a.condition()}
	case "put-pod":
		op = ops.PutPod{Pod: a.pod(), New: a.has("new")}
	case "remove-pod":
		op = ops.RemovePod{ID: a.text("id")}
	default:
		a.note(fmt.Errorf("there is no operation %q", d.Cmd))
	}
	return op, a.err
}
