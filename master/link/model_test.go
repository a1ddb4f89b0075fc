package link

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is the single map that libprocess had before MESOS-2182: linkee to
// linkers, scanned from end to end at every exit.
type model struct {
	links       map[who]map[*Process]bool
	gone        map[who]Reason
	connections map[string]uint64 // by address
	processes   []*Process
	expected    []string // notices, in no order within one step
}

// who is a linkee: a process, or a name at an address.
type who struct {
	process     *Process
	address, id string
}

func (m *model) expect(p *Process, w who, generation uint64, reason Reason) {
	id := w.id
	if w.process != nil {
		id = w.process.id
	}
	m.expected = append(m.expected, text(Notice{Linker: p, Address: w.address, Linkee: id, Generation: generation, Reason: reason}))
}

func text(n Notice) string {
	return fmt.Sprintf("%s@%d: %q at %q generation %d: %s", n.Linker.id, n.Linker.generation, n.Linkee, n.Address, n.Generation, n.Reason)
}

func (m *model) exited(p *Process) bool { _, gone := m.gone[who{process: p}]; return gone }

// end tells all linkers of the linkees that match.
func (m *model) end(generation uint64, reason Reason, matches func(who) bool) {
	for w, linkers := range m.links {
		if !matches(w) {
			continue
		}
		for p := range linkers {
			if p != w.process {
				m.expect(p, w, generation, reason)
			}
		}
		delete(m.links, w)
	}
}

func (m *model) link(p *Process, w who) bool {
	if m.exited(p) {
		return false
	}
	if w.process == nil && m.connections[w.address] == 0 {
		m.expect(p, w, 0, Absent)
		return false
	}
	if reason, gone := m.gone[w]; gone {
		m.expect(p, w, w.process.generation, reason)
		return false
	}
	if m.links[w] == nil {
		m.links[w] = map[*Process]bool{}
	}
	m.links[w][p] = true
	return true
}

func (m *model) unlink(p *Process, w who) bool {
	had := m.links[w][p]
	delete(m.links[w], p)
	return had
}

func (m *model) exit(p *Process, reason Reason) bool {
	if m.exited(p) {
		return false
	}
	for _, linkers := range m.links {
		delete(linkers, p)
	}
	m.gone[who{process: p}] = reason
	m.end(p.generation, reason, func(w who) bool { return w.process == p })
	return true
}

func (m *model) lose(address string, generation uint64, reason Reason) bool {
	if generation == 0 || m.connections[address] != generation {
		return false
	}
	delete(m.connections, address)
	m.end(generation, reason, func(w who) bool { return w.process == nil && w.address == address })
	return true
}

// TestTableAgreesWithTheNaiveMap does random things to both. The sizes are such
// that all forms of lists and indexes come up.
func TestTableAgreesWithTheNaiveMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable()
		inbox := table.NewInbox()
		m := &model{links: map[who]map[*Process]bool{}, gone: map[who]Reason{}, connections: map[string]uint64{}}
		m.start(t, table, inbox)
		actions := m.actions(table, inbox)
		actions[""] = func(t *rapid.T) { m.compare(t, table, inbox) }
		t.Repeat(actions)
	})
}

var addresses = rapid.SampledFrom([]string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"})

func (m *model) start(t *rapid.T, table *Table, inbox *Inbox) {
	p := table.Start(fmt.Sprintf("p%d", len(m.processes)), inbox)
	if g := p.Generation(); slices.ContainsFunc(m.processes, func(q *Process) bool { return q.generation >= g }) {
		t.Fatalf("generation %d is not newer than all before", g)
	}
	m.processes = append(m.processes, p)
}

func (m *model) actions(table *Table, inbox *Inbox) map[string]func(*rapid.T) {
	process := func(t *rapid.T) *Process { return rapid.SampledFrom(m.processes).Draw(t, "process") }
	remote := func(t *rapid.T) who {
		return who{address: addresses.Draw(t, "address"), id: fmt.Sprint(rapid.IntRange(0, 2*fewPeers).Draw(t, "id"))}
	}
	reason := rapid.SampledFrom([]Reason{Exited, Lost, Unreachable, "heartbeats missed"})
	return map[string]func(*rapid.T){
		"start": func(t *rapid.T) { m.start(t, table, inbox) },
		"link": func(t *rapid.T) {
			p, q := process(t), process(t)
			agree(t, "Link", p.Link(q), m.link(p, who{process: q}))
		},
		"link many": func(t *rapid.T) { // beyond maxScan at both ends
			crowd := make([]*Process, maxScan+8)
			for i := range crowd {
				m.start(t, table, inbox)
				crowd[i] = m.processes[len(m.processes)-1]
			}
			p, q := process(t), process(t)
			for _, c := range crowd {
				agree(t, "Link", p.Link(c), m.link(p, who{process: c}))
				agree(t, "Link", c.Link(q), m.link(c, who{process: q}))
			}
		},
		"unlink": func(t *rapid.T) {
			p, q := process(t), process(t)
			agree(t, "Unlink", p.Unlink(q), m.unlink(p, who{process: q}))
		},
		"link at": func(t *rapid.T) {
			p, w := process(t), remote(t)
			agree(t, "LinkAt", p.LinkAt(w.address, w.id), m.link(p, w))
		},
		"link many at": func(t *rapid.T) { // beyond fewPeers
			p, w := process(t), remote(t)
			for i := range 2 * fewPeers {
				w.id = fmt.Sprint(i)
				agree(t, "LinkAt", p.LinkAt(w.address, w.id), m.link(p, w))
			}
		},
		"unlink at": func(t *rapid.T) {
			p, w := process(t), remote(t)
			agree(t, "UnlinkAt", p.UnlinkAt(w.address, w.id), m.unlink(p, w))
		},
		"exit": func(t *rapid.T) {
			p, r := process(t), reason.Draw(t, "reason")
			if p == m.processes[0] {
				return // somebody must live, or nothing happens any more
			}
			agree(t, "Exit", p.Exit(r), m.exit(p, r))
		},
		"connect": func(t *rapid.T) {
			a := addresses.Draw(t, "address")
			was := m.connections[a]
			if m.connections[a] = table.Connect(a); m.connections[a] <= was {
				t.Fatalf("generation %d follows %d", m.connections[a], was)
			}
		},
		"break": func(t *rapid.T) {
			a, r := addresses.Draw(t, "address"), reason.Draw(t, "reason")
			g := m.connections[a] - uint64(rapid.IntRange(0, 1).Draw(t, "age"))
			agree(t, "Break", table.Break(a, g, r), m.lose(a, g, r))
		},
		"exit at": func(t *rapid.T) {
			w, r := remote(t), reason.Draw(t, "reason")
			g := m.connections[w.address]
			want := len(m.links[w]) > 0
			m.end(g, r, func(x who) bool { return x == w })
			agree(t, "ExitAt", table.ExitAt(w.address, g, w.id, r), want)
		},
	}
}

func agree(t *rapid.T, call string, got, want bool) {
	if got != want {
		t.Fatalf("%s returned %v, the naive map says %v", call, got, want)
	}
}

// compare takes what every step has left in the inbox, so the notices of one
// step are compared as a set, and those of different steps in their order. What
// is told to who exits in the same step is dropped, and never expected.
func (m *model) compare(t *rapid.T, table *Table, inbox *Inbox) {
	var got []string
	for n, ok := inbox.Next(); ok; n, ok = inbox.Next() {
		got = append(got, text(n))
	}
	slices.Sort(got)
	slices.Sort(m.expected)
	if !slices.Equal(got, m.expected) {
		t.Fatalf("notices\n%s\nthe naive map says\n%s", strings.Join(got, "\n"), strings.Join(m.expected, "\n"))
	}
	m.expected = nil
	if err := table.check(m.processes); err != nil {
		t.Fatal(err)
	}
}
