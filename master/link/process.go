package link

import "sync/atomic"

// Process is a process of this program: it links, and may be linked to. It is
// named by its handle: what was never started cannot be linked to.
type Process struct {
	peer
	table *Table
	inbox *Inbox
	gone  atomic.Bool // changed under the lock only; an inbox reads it without

	out   *edge // its links, a list by nextOut
	outs  int
	index map[*peer]*edge // of out, by linkee; nil until [Process.find] needs it
}

// Start registers a process. Its notices go to inbox, which it may share; nil is
// for a process that only others link to.
func (t *Table) Start(id string, inbox *Inbox) *Process {
	if inbox != nil && inbox.table != t {
		panic("link: process " + id + " and its inbox belong to different tables")
	}
	p := &Process{peer: peer{id: id}, table: t, inbox: inbox}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.generation++
	p.generation = t.generation
	return p
}

// ID is what Start was told.
func (p *Process) ID() string { return p.id }

// Generation is unlike that of any other process or connection of its table.
func (p *Process) Generation() uint64 { return p.generation }

// Link asks for a notice when q exits. It returns true if the link stands now,
// new or from before; false if q had exited, and then the notice is in the
// inbox already, or if p had, and then nothing was done. O(1).
func (p *Process) Link(q *Process) bool {
	t := p.linking()
	if q.table != t {
		panic("link: " + p.id + " and " + q.id + " belong to different tables")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return p.link(&q.peer, q.gone.Load())
}

// LinkAt asks for a notice when the connection to an address breaks, or the peer
// of that name is said to have exited there. It returns as Link does; an address
// without a connection is one that is gone, see [Absent]. Whether the other side
// has a peer of that name is not known here. O(1).
func (p *Process) LinkAt(address, id string) bool {
	t := p.linking()
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.gone.Load() {
		return false
	}
	n := t.nodes[address]
	if n == nil {
		return p.link(&peer{id: id, node: &node{address: address}, reason: Absent}, true)
	}
	q := n.find(id)
	if q == nil {
		q = n.add(id)
	}
	return p.link(q, false)
}

func (p *Process) linking() *Table {
	if p.inbox == nil {
		panic("link: " + p.id + " has no inbox, so it cannot link")
	}
	return p.table
}

// link needs the lock.
func (p *Process) link(q *peer, gone bool) bool {
	switch {
	case p.gone.Load():
		return false
	case gone:
		p.inbox.push(&edge{linker: p, linkee: q})
		return false
	case p.find(q) == nil:
		p.hook(q)
	}
	return true
}

// Unlink ends a link without a notice. It returns false if there was none, or
// if its notice came or is to come. O(1).
func (p *Process) Unlink(q *Process) bool {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	return p.unlink(&q.peer)
}

// UnlinkAt is Unlink for a peer at an address. O(1).
func (p *Process) UnlinkAt(address, id string) bool {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	n := p.table.nodes[address]
	if n == nil {
		return false
	}
	q := n.find(id)
	return q != nil && p.unlink(q)
}

func (p *Process) unlink(q *peer) bool {
	if p.gone.Load() {
		return false
	}
	e := p.find(q)
	if e == nil {
		return false
	}
	e.unhook()
	q.release()
	return true
}

// Exit ends a process: everyone who linked to it is told the reason, and its own
// links end without a notice. Notices to it that nobody took are dropped. It
// returns false, and does nothing, if the process exited before.
// O(own links + notices); a process without links costs a lock and a flag, about
// 20 ns, however many links others have.
func (p *Process) Exit(reason Reason) bool {
	p.table.mu.Lock()
	if p.gone.Load() {
		p.table.mu.Unlock()
		return false
	}
	p.reason = reason
	p.gone.Store(true) // from here on no link is added at either end
	linked := p.in != nil || p.out != nil
	p.table.mu.Unlock()
	if linked {
		p.table.inTurns(p.endSome)
		p.table.inTurns(p.dropSome)
	}
	return true
}

// dropSome ends links of an exited linker, as many as the budget allows. It
// needs the lock.
func (p *Process) dropSome(budget int) (left int) {
	for ; p.out != nil && budget > 0; budget-- {
		e := p.out
		e.unhook()
		e.linkee.release()
	}
	return budget
}
