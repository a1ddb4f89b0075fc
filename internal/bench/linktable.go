package bench

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/master/link"
)

const linkAddress = "10.0.0.7:5051"

// errLost says that a link could not be made, or undone, where nothing ends it.
var errLost = errors.New("a link was not there")

// linkTable is a table with links: linkers to peers at one address, one each, or
// all of them to one process.
type linkTable struct {
	*link.Table
	inbox      *link.Inbox
	linkers    []*link.Process // held, as a program would hold its processes
	linkee     *link.Process   // of all, where there is one
	generation uint64          // of the address's connection
}

func newLinkTable() *linkTable {
	t := &linkTable{Table: link.NewTable()}
	t.inbox = t.NewInbox()
	t.generation = t.Connect(linkAddress)
	t.linkee = t.Start("linkee", nil)
	return t
}

// pairs makes n links, each between two that have no other.
func (t *linkTable) pairs(n int) {
	for i := range n {
		p := t.Start("linker-"+strconv.Itoa(i), t.inbox)
		p.LinkAt(linkAddress, "linkee-"+strconv.Itoa(i))
		t.linkers = append(t.linkers, p)
	}
}

// fan makes n links to one process.
func (t *linkTable) fan(n int) {
	for i := range n {
		p := t.Start("linker-"+strconv.Itoa(i), t.inbox)
		p.Link(t.linkee)
		t.linkers = append(t.linkers, p)
	}
}

// strangers are processes without links.
func (t *linkTable) strangers(n int) []*link.Process {
	all := make([]*link.Process, n)
	for i := range all {
		all[i] = t.Start("stranger-"+strconv.Itoa(i), t.inbox)
	}
	return all
}

// deliver takes every notice that waits.
func (t *linkTable) deliver() (n int) {
	for _, ok := t.inbox.Next(); ok; _, ok = t.inbox.Next() {
		n++
	}
	return n
}

// measured is a sample of what act takes until its notices are delivered.
func (t *linkTable) measured(act func()) (linksSample, error) {
	m := startMeter()
	act()
	n := t.deliver()
	took, _ := m.stop()
	return linksSample{took.Seconds(), n}, nil
}

func oursExits(at linksAt) (linksSample, error) {
	t := newLinkTable()
	t.pairs(at.links)
	all := t.strangers(at.exits)
	return t.measured(func() { exitAll(all) })
}

func exitAll(all []*link.Process) {
	for _, p := range all {
		p.Exit(link.Exited)
	}
}

func oursNodeLoss(at linksAt) (linksSample, error) {
	t := newLinkTable()
	t.pairs(at.links)
	return t.measured(t.lose)
}

func (t *linkTable) lose() { t.Break(linkAddress, t.generation, link.Lost) }

func oursFanIn(at linksAt) (linksSample, error) {
	t := newLinkTable()
	t.fan(at.links)
	return t.measured(func() { t.linkee.Exit(link.Exited) })
}

func oursChurn(at linksAt) (s linksSample, err error) {
	t := newLinkTable()
	t.pairs(at.links)
	all := t.strangers(at.exits)
	lost := 0
	s, err = t.measured(func() {
		for _, p := range all {
			if !p.Link(t.linkee) || !p.Unlink(t.linkee) {
				lost++
			}
		}
	})
	if lost > 0 {
		err = errLost
	}
	return s, err
}

func oursStallExits(at linksAt) (linksSample, error) {
	t := newLinkTable()
	t.pairs(at.links)
	all := t.strangers(at.exits)
	return t.stall(func() { exitAll(all) })
}

func oursStallNodeLoss(at linksAt) (linksSample, error) {
	t := newLinkTable()
	t.pairs(at.links)
	return t.stall(t.lose)
}

// stall is a sample of the longest wait of another process that links and
// unlinks all the time while act goes on.
func (t *linkTable) stall(act func()) (linksSample, error) {
	p, q := t.Start("prober", t.inbox), t.Start("probed", nil)
	wait, err := longestWait(func() bool { return p.Link(q) }, func() bool { return p.Unlink(q) }, act)
	return linksSample{wait.Seconds(), t.deliver()}, err
}

// longestWait calls link and unlink in turns, once before act and again and again
// while it goes on, and returns how long the slowest call took.
func longestWait(link, unlink func() bool, act func()) (longest time.Duration, err error) {
	startMeter() // for its garbage collection
	probe := func() {
		for _, call := range []func() bool{link, unlink} {
			began := time.Now()
			if !call() {
				err = errLost
			}
			longest = max(longest, time.Since(began))
		}
	}
	begun, stop := make(chan struct{}), make(chan struct{})
	var probing sync.WaitGroup
	probing.Go(func() {
		probe()
		close(begun)
		for !closed(stop) {
			probe()
		}
	})
	<-begun
	act()
	close(stop)
	probing.Wait()
	return longest, err
}
