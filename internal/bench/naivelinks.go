package bench

import (
	"strconv"
	"sync"
)

// naiveLinks is what libprocess had before MESOS-2182, for comparison only: one
// map from linkee to linkers under one lock, scanned at each exit.
type naiveLinks struct {
	mu      sync.Mutex
	links   map[naiveID]map[naiveID]struct{} // linkee to linkers
	notices []naiveNotice
}

// naiveID names a process: its name and its address, "" for a local one.
type naiveID struct{ name, address string }

type naiveNotice struct{ linker, linkee naiveID }

func newNaiveLinks() *naiveLinks { return &naiveLinks{links: map[naiveID]map[naiveID]struct{}{}} }

func (n *naiveLinks) link(linker, linkee naiveID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.links[linkee] == nil {
		n.links[linkee] = map[naiveID]struct{}{}
	}
	n.links[linkee][linker] = struct{}{}
	return true
}

// unlink is ours: libprocess has none to this day.
func (n *naiveLinks) unlink(linker, linkee naiveID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, had := n.links[linkee][linker]
	delete(n.links[linkee], linker)
	return had
}

// exit visits every entry, to take p out of those it linked to.
func (n *naiveLinks) exit(p naiveID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, linkers := range n.links {
		delete(linkers, p)
	}
	n.tell(p)
}

// lose visits every entry, for those at the address.
func (n *naiveLinks) lose(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for linkee := range n.links {
		if linkee.address == address {
			n.tell(linkee)
		}
	}
}

func (n *naiveLinks) tell(linkee naiveID) {
	for linker := range n.links[linkee] {
		n.notices = append(n.notices, naiveNotice{linker, linkee})
	}
	delete(n.links, linkee)
}

// deliver takes every notice that waits.
func (n *naiveLinks) deliver() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.notices
	n.notices = nil
	return len(taken)
}

func naiveNamed(prefix, address string, n int) []naiveID {
	all := make([]naiveID, n)
	for i := range all {
		all[i] = naiveID{prefix + strconv.Itoa(i), address}
	}
	return all
}

func naivePairs(at linksAt) *naiveLinks {
	n := newNaiveLinks()
	linkees := naiveNamed("linkee-", linkAddress, at.links)
	for i, linker := range naiveNamed("linker-", "", at.links) {
		n.link(linker, linkees[i])
	}
	return n
}

func (n *naiveLinks) measured(act func()) (linksSample, error) {
	m := startMeter()
	act()
	notices := n.deliver()
	took, _ := m.stop()
	return linksSample{took.Seconds(), notices}, nil
}

func naiveExits(at linksAt) (linksSample, error) {
	n := naivePairs(at)
	all := naiveNamed("stranger-", "", at.exits)
	return n.measured(func() { n.exitAll(all) })
}

func (n *naiveLinks) exitAll(all []naiveID) {
	for _, p := range all {
		n.exit(p)
	}
}

func naiveNodeLoss(at linksAt) (linksSample, error) {
	n := naivePairs(at)
	return n.measured(func() { n.lose(linkAddress) })
}

var naiveLinkee = naiveID{name: "linkee"}

func naiveFanIn(at linksAt) (linksSample, error) {
	n := newNaiveLinks()
	for _, linker := range naiveNamed("linker-", "", at.links) {
		n.link(linker, naiveLinkee)
	}
	return n.measured(func() { n.exit(naiveLinkee) })
}

func naiveChurn(at linksAt) (s linksSample, err error) {
	n := naivePairs(at)
	all := naiveNamed("stranger-", "", at.exits)
	lost := 0
	s, err = n.measured(func() {
		for _, p := range all {
			if !n.link(p, naiveLinkee) || !n.unlink(p, naiveLinkee) {
				lost++
			}
		}
	})
	if lost > 0 {
		err = errLost
	}
	return s, err
}

func naiveStallExits(at linksAt) (linksSample, error) {
	n := naivePairs(at)
	all := naiveNamed("stranger-", "", min(at.exits, maxNaiveStall))
	return n.stall(func() { n.exitAll(all) })
}

func naiveStallNodeLoss(at linksAt) (linksSample, error) {
	n := naivePairs(at)
	return n.stall(func() { n.lose(linkAddress) })
}

func (n *naiveLinks) stall(act func()) (linksSample, error) {
	p, q := naiveID{name: "prober"}, naiveID{name: "probed"}
	wait, err := longestWait(func() bool { return n.link(p, q) }, func() bool { return n.unlink(p, q) }, act)
	return linksSample{wait.Seconds(), n.deliver()}, err
}
