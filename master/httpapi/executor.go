package httpapi

import (
	"cmp"
	"reflect"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
)

// executorsInState is how executors look.
var executorsInState = &kind[*master.Executor]{asInState, appendExecutor, sizeOfExecutor, noteExecutors, func(old, now *master.Executor) bool {
	return old.AgentID == now.AgentID && reflect.DeepEqual(old.Info.Resources, now.Info.Resources)
}}

func noteExecutors(executors []*master.Executor) *note {
	n := &note{}
	for _, e := range executors {
		n.of(allocatedTo(e.Info.Resources))
		n.used.use(e.AgentID, e.Info.Resources)
	}
	n.used.compact()
	return n
}

func sizeOfExecutor(e *master.Executor) int { return len(e.Info.Command) + len(e.Info.Name) }

// appendExecutor writes an executor.
func appendExecutor(b []byte, e *master.Executor) []byte {
	info := e.Info
	b = append(b, '{')
	b = text(b, "executor_id", info.ID)
	b = text(b, "name", info.Name)
	b = text(b, "framework_id", info.FrameworkID)
	b = command(b, info.Command)
	var all totals
	all.use(e.AgentID, info.Resources)
	b = appendTotals(key(b, "resources"), &all)
	if len(info.Resources) > 0 {
		b = text(b, "role", allocatedTo(info.Resources))
	}
	b = labels(b, info.Labels)
	b = optText(b, "type", info.Type)
	b = text(b, "slave_id", e.AgentID)
	return append(b, '}')
}

// command writes the arguments as argv, and of the files to fetch only what
// they are and whether they can be run.
func command(b []byte, c wire.Raw) []byte {
	m := pick(c, "shell", "value", "arguments", "environment", "uris")
	b = append(key(b, "command"), '{')
	b = raw(b, "shell", m[0])
	b = raw(b, "value", m[1])
	b = append(key(b, "argv"), cmp.Or(m[2], "[]")...)
	b = raw(b, "environment", m[3])
	b = append(key(b, "uris"), '[')
	for uri := range elements(m[4]) {
		m := pick(uri, "value", "executable")
		b = append(next(b), '{')
		b = append(key(b, "value"), cmp.Or(m[0], `""`)...)
		b = append(key(b, "executable"), cmp.Or(m[1], "false")...)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}
