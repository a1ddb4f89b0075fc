package master

import (
	"container/list"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// member is what the loop keeps of an agent beside what it publishes: of every
// one that is admitted, and of others while something is under way for them.
type member struct {
	id     registry.AgentID
	doing  transition
	stream *Stream // that stands; nil if it is away
	agent  *Agent  // as it is now; nil if it has not registered with this master

	// away and due say that the agent is to come back by then.
	away *list.Element
	due  time.Duration
	// waits says that it is to be marked unreachable, and where it waits for that.
	waits *list.Element
	line  *list.List
	// overdue: it was to be marked unreachable while something was under way.
	overdue bool
	exempt  bool // from the budget: an operator let it pass
	// leaving is the UNREGISTER that waits for what is under way, or nil.
	leaving *leaving

	domain    registry.Domain  // that the budget counts it for
	counted   bool             // by the budget, as a member
	machine   machine          // by which it is found
	holds     map[string]*hold // by framework
	unsettled []string         // of holds, see settleHolds
}

// transition is what is under way for an agent in the registry: one at a time.
type transition string

const (
	nothing            transition = ""
	registering        transition = "registering"
	reregistering      transition = "coming back"
	markingUnreachable transition = "being marked unreachable"
	markingGone        transition = "being marked gone"
	removing           transition = "being removed"
	deciding           transition = "being drained, deactivated or reactivated"
)

// member finds an agent, or makes a place for it.
func (l *loop) member(id registry.AgentID) *member {
	m := l.members[id]
	if m == nil {
		m = &member{id: id}
		l.members[id] = m
	}
	return m
}

// present says that an agent is in one of the lists of the State.
func (l *loop) present(id registry.AgentID) bool {
	_, here := l.find(id)
	return here || l.isRecovered(id)
}

// settle ends what was under way, and does what had to wait for it.
func (l *loop) settle(m *member) {
	m.doing = nothing
	leaving, overdue := m.leaving, m.overdue
	m.leaving, m.overdue = nil, false
	switch {
	case !l.present(m.id):
		delete(l.members, m.id)
	case leaving != nil:
		l.unregister(m, leaving)
	case overdue:
		l.scheduleUnreachable(m)
	default:
		l.checkDrained(m)
	}
}

// leave takes an agent out of all lists, whose tasks have been seen to.
func (l *loop) leave(m *member) {
	if m.stream != nil {
		l.detach(m)
	}
	l.away.remove(m)
	if l.waiting.remove(m) {
		l.stats.UnreachableCanceled++
	}
	l.waiting.budget.leaves(m)
	l.isOn(m, machine{})
	if m.agent != nil {
		l.agents.Delete(l.edit, m.agent)
		l.sums.add(m.agent, -1)
		m.agent = nil
	}
	l.isBack(m.id)
	l.changed = true
}
