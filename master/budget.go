package master

import (
	"container/list"
	"context"
	"slices"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// budget counts who was marked unreachable lately, in all and by fault domain.
type budget struct {
	Budget
	all     scope
	domains map[registry.Domain]*scope
	recent  *list.List // of mark, the oldest first
	byAgent map[registry.AgentID]*list.Element
}

// scope is a part of the cluster that has a budget.
type scope struct {
	members, marked, waiting int
	since                    time.Time // when it froze; zero if it is not frozen
}

// mark is an agent that was marked unreachable and counts.
type mark struct {
	id     registry.AgentID
	domain registry.Domain
	at     time.Duration
}

func newBudget(o Budget) budget {
	return budget{Budget: o, domains: map[registry.Domain]*scope{}, recent: list.New(), byAgent: map[registry.AgentID]*list.Element{}}
}

func (s *scope) frozen() bool { return !s.since.IsZero() }

// allows says whether so many in all may be marked.
func (s *scope) allows(marked int, share float64, least int) bool {
	return share >= 1 || marked <= max(least, int(share*float64(s.members+s.marked)))
}

// scope is that of a domain; there is none for agents without one.
func (b *budget) scope(d registry.Domain) *scope {
	if d == (registry.Domain{}) {
		return nil
	}
	s := b.domains[d]
	if s == nil {
		s = &scope{}
		b.domains[d] = s
	}
	return s
}

func (b *budget) each(d registry.Domain, f func(*scope)) {
	f(&b.all)
	if s := b.scope(d); s != nil {
		if f(s); *s == (scope{}) {
			delete(b.domains, d)
		}
	}
}

// joins counts a member; one that was marked is forgiven.
func (b *budget) joins(m *member, d registry.Domain) {
	b.leaves(m)
	b.forgive(m.id)
	m.domain, m.counted = d, true
	b.each(d, func(s *scope) { s.members++ })
}

func (b *budget) leaves(m *member) {
	if m.counted {
		m.counted = false
		b.each(m.domain, func(s *scope) { s.members-- })
	}
}

func (b *budget) waits(m *member, n int) { b.each(m.domain, func(s *scope) { s.waiting += n }) }

// marks counts a member that is being marked, as a member no more. One that an
// operator let pass is not held against the others.
func (b *budget) marks(m *member, now time.Duration) {
	b.leaves(m)
	if m.exempt {
		return
	}
	b.byAgent[m.id] = b.recent.PushBack(mark{m.id, m.domain, now})
	b.each(m.domain, func(s *scope) { s.marked++ })
}

// forgive lets a mark count no more.
func (b *budget) forgive(id registry.AgentID) {
	e := b.byAgent[id]
	if e == nil {
		return
	}
	delete(b.byAgent, id)
	v := b.recent.Remove(e).(mark)
	b.each(v.domain, func(s *scope) { s.marked-- })
}

// expire forgives what is older than the window. While something is frozen, time
// stands still: a freeze is for somebody to look at.
func (b *budget) expire(now time.Duration) {
	for e := b.recent.Front(); e != nil && now-e.Value.(mark).at >= b.Window; e = b.recent.Front() {
		b.forgive(e.Value.(mark).id)
	}
}

// affordable says whether the budget allows to mark an agent now, and freezes
// what it does not allow.
func (l *loop) affordable(m *member, now time.Duration) bool {
	b := &l.waiting.budget
	if !b.all.allows(b.all.marked+1, b.Share, b.Least) {
		l.freeze(registry.Domain{}, &b.all)
		return false
	}
	s := b.scope(m.domain)
	if s == nil || !s.frozen() && s.allows(s.marked+1, b.DomainShare, b.Least) {
		return true
	}
	if !s.frozen() {
		l.freeze(m.domain, s)
	}
	if l.waiting.held[m.domain] == nil {
		l.waiting.held[m.domain] = list.New()
	}
	l.waiting.add(m, l.waiting.held[m.domain])
	return false
}

func (l *loop) freeze(d registry.Domain, s *scope) {
	s.since = l.now
	l.frozen = append(l.frozen, Freeze{Domain: d, Since: l.now, Marked: s.marked, Waiting: s.waiting})
	l.changed = true
	l.log.Error("too many agents are away: no more are marked unreachable until they come back; if they are gone for good, raise --removal-budget and start again, or call Master.Unfreeze",
		"region", d.Region, "zone", d.Zone, "members", s.members, "marked", s.marked, "waiting", s.waiting)
}

// thaw ends the freezes of which the marked and the waiting fit the budget.
func (l *loop) thaw(now time.Duration) {
	b := &l.waiting.budget
	if len(l.frozen) == 0 {
		b.expire(now)
		return
	}
	l.frozen = slices.DeleteFunc(slices.Clone(l.frozen), func(f Freeze) bool {
		s, share := &b.all, b.Share
		if f.Domain != (registry.Domain{}) {
			s, share = b.scope(f.Domain), b.DomainShare
		}
		if !s.allows(s.marked+s.waiting, share, b.Least) {
			return false
		}
		l.melt(f.Domain, s)
		return true
	})
}

func (l *loop) melt(d registry.Domain, s *scope) {
	s.since = time.Time{}
	l.changed = true
	if held := l.waiting.held[d]; held != nil {
		for e := held.Front(); e != nil; e = held.Front() {
			l.waiting.add(e.Value.(*member), l.waiting.list)
		}
		delete(l.waiting.held, d)
	}
	l.log.Info("agents are marked unreachable again", "region", d.Region, "zone", d.Zone)
}

// Unfreeze ends all freezes: those that wait are marked unreachable, whatever
// the budget says, and it begins anew ([Budget]).
func (m *Master) Unfreeze(ctx context.Context, by By) error {
	return m.do(ctx, func(l *loop, answer func(error)) {
		l.log.Warn("freeze was ended", "principal", by.Principal, "reason", by.Reason, "waiting", l.waiting.len())
		b := &l.waiting.budget
		for b.recent.Len() > 0 {
			b.forgive(b.recent.Front().Value.(mark).id)
		}
		for _, f := range l.frozen {
			if f.Domain == (registry.Domain{}) {
				l.melt(f.Domain, &b.all)
			} else {
				l.melt(f.Domain, b.scope(f.Domain))
			}
		}
		l.frozen = nil
		for e := l.waiting.list.Front(); e != nil; e = e.Next() {
			e.Value.(*member).exempt = true
		}
		answer(nil)
	})
}
