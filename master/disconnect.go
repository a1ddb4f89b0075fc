package master

import (
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/link"
	"github.com/eaba02dc/registrar/registry"
)

// disconnect takes in that a stream broke, or that its agent is silent: then it
// is not waited for, and marked unreachable as soon as it has its turn. It may
// come back before that. A notice of any but the stream that stands is late or
// has come before, and says nothing.
func (l *loop) disconnect(n link.Notice) {
	m := l.members[registry.AgentID(n.Linkee)]
	if m == nil || m.stream == nil || m.stream.generation.Load() != n.Generation {
		return
	}
	if n.Reason == silent && (m.doing == removing || m.doing == markingGone) {
		return // the stream ends with that, and says so
	}
	l.stats.Disconnections++
	s := m.stream
	l.detach(m)
	a, _ := l.agent(m.id)
	a.Connected = false
	l.put(m, a)
	if n.Reason == silent {
		l.tell(func() { s.end(&wire.Error{Message: string(silent) + "; register again"}) })
		l.scheduleUnreachable(m)
	} else {
		l.tell(func() { s.end(nil) })
		l.away.add(m, l.Master.now())
	}
	l.note(disconnected, m.id, "hostname", a.Info.Hostname, "reason", n.Reason)
}
