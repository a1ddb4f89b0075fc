package master

import (
	"log/slog"
	"unicode/utf8"

	"github.com/eaba02dc/registrar/registry"
)

// kind is something that happens to agents, one or 100,000 of them at once.
type kind struct {
	level     slog.Level
	one, many string // messages
}

var (
	disconnected = kind{slog.LevelInfo, "agent disconnected", "agents disconnected"}
	unreachable  = kind{slog.LevelWarn, "agent is unreachable", "agents are unreachable"}
	markedGone   = kind{slog.LevelInfo, "agent is gone", "agents are gone"}
	removed      = kind{slog.LevelInfo, "agent was removed", "agents were removed"}
	superseded   = kind{slog.LevelWarn, "agent was superseded by another host",
		"agents were superseded by other hosts"}
)

// maxNotes is how many of a kind are logged one by one in a turn. Of more, one
// line says how many they are, and names the first.
const maxNotes = 10

// maxNoted is how much of a text of an outsider is logged, in bytes: no host has
// a longer name.
const maxNoted = 253

// notes are what is to be logged when the turn ends.
type notes struct {
	order []kind
	of    map[kind]*noted
}

type noted struct {
	first [][]any // the attributes of up to maxNotes; the agent is before all others
	count int
}

// note logs that something happened to an agent, once it can be seen.
func (l *loop) note(k kind, id registry.AgentID, attributes ...any) {
	if l.notes.of == nil {
		l.notes.of = map[kind]*noted{}
		l.tell(l.logNotes)
	}
	n := l.notes.of[k]
	if n == nil {
		n = &noted{}
		l.notes.of[k] = n
		l.notes.order = append(l.notes.order, k)
	}
	if n.count++; n.count <= maxNotes {
		n.first = append(n.first, append([]any{"agent", id}, attributes...))
	}
}

func (l *loop) logNotes() {
	all := l.notes
	l.notes = notes{}
	for _, k := range all.order {
		n := all.of[k]
		if n.count > maxNotes {
			l.log.Log(l.ctx, k.level, k.many, "count", n.count, "first", n.agents())
			continue
		}
		for _, attributes := range n.first {
			l.log.Log(l.ctx, k.level, k.one, bounded(attributes)...)
		}
	}
}

// agents are the IDs of the first.
func (n *noted) agents() (ids []any) {
	for _, attributes := range n.first {
		ids = append(ids, attributes[1])
	}
	return bounded(ids)
}

// bounded cuts texts that are too long for a log.
func bounded(attributes []any) []any {
	for i, v := range attributes {
		switch v := v.(type) {
		case string:
			attributes[i] = cut(v)
		case registry.AgentID:
			attributes[i] = cut(string(v))
		}
	}
	return attributes
}

func cut(text string) string {
	if len(text) <= maxNoted {
		return text
	}
	n := maxNoted
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
