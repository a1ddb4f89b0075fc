package master

import (
	"github.com/eaba02dc/registrar/master/link"
	"github.com/eaba02dc/registrar/registry"
)

// disconnect takes in that a stream broke. A notice of any but the stream that
// stands is late or has come before, and says nothing.
func (l *loop) disconnect(n link.Notice) {
	m := l.members[registry.AgentID(n.Linkee)]
	if m == nil || m.stream == nil || m.stream.generation.Load() != n.Generation {
		return
	}
	l.stats.Disconnections++
	s := m.stream
	l.detach(m)
	l.tell(func() { s.end(nil) })
	a, _ := l.agent(m.id)
	a.Connected = false
	l.put(a)
	l.away.add(m, l.Master.now())
	l.note(disconnected, "agent", m.id, "hostname", a.Info.Hostname, "reason", n.Reason)
}
