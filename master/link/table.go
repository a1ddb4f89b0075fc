package link

import "sync"

// Table holds the links of one program. Its methods, and those of its
// processes, may be called from many goroutines.
type Table struct {
	// mu guards all links of all processes and nodes, and the queues of the
	// inboxes. One lock, for most calls hold it less than a microsecond, and
	// an exit touches both ends of every link.
	mu sync.Mutex
	// nodes are the addresses with a connection, made or attempted.
	nodes      map[string]*node
	generation uint64 // of the newest process or connection
}

// NewTable returns a table without links.
func NewTable() *Table { return &Table{nodes: map[string]*node{}} }

// maxHold is how many links are ended under one hold of the lock, which takes
// about 15 µs. A bigger exit lets others in between.
const maxHold = 256

// inTurns calls step under the lock until it leaves part of its budget, which
// means that nothing is left to do.
func (t *Table) inTurns(step func(budget int) (left int)) {
	for left := 0; left == 0; {
		t.mu.Lock()
		left = step(maxHold)
		t.mu.Unlock()
	}
}

// Connect begins a connection to an address, attempted or made, and returns its
// generation. If the address has one already, the new one takes its place and
// all of its links, without a notice. O(1).
func (t *Table) Connect(address string) (generation uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[address]
	if n == nil {
		n = &node{address: address}
		t.nodes[address] = n
	}
	t.generation++
	n.generation = t.generation
	return n.generation
}

// Break ends a connection: everyone who linked to a peer at the address is told
// the reason. It returns false, and does nothing, if the connection of that
// generation was broken or replaced before. O(linkees + notices), about 50 ns
// for each link of a linker and a linkee that have no other.
func (t *Table) Break(address string, generation uint64, reason Reason) bool {
	n := t.disconnect(address, generation, reason)
	if n == nil {
		return false
	}
	t.inTurns(n.endSome)
	return true
}

// disconnect takes the node out of the table: from here on the address has no
// connection, and only its links remain to be ended.
func (t *Table) disconnect(address string, generation uint64, reason Reason) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[address]
	if n == nil || n.generation != generation {
		return nil
	}
	delete(t.nodes, address)
	n.reason, n.index = reason, nil // nobody looks for its peers by name again
	return n
}

// ExitAt says that one peer at an address exited while its node lives on, where
// the other side can tell. It returns false, and does nothing, if that
// connection does not stand, or if nobody linked to the peer. The table does
// not remember the exit: a later link to that name waits for the node. O(notices).
func (t *Table) ExitAt(address string, generation uint64, id string, reason Reason) bool {
	q := t.leave(address, generation, id, reason)
	if q == nil {
		return false
	}
	t.inTurns(q.endSome)
	return true
}

// leave takes a peer from its node: who links to that name now links to another.
func (t *Table) leave(address string, generation uint64, id string, reason Reason) *peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[address]
	if n == nil || n.generation != generation {
		return nil
	}
	q := n.find(id)
	if q == nil {
		return nil
	}
	n.remove(q)
	q.generation, q.reason = generation, reason
	return q
}

// Generation returns that of an address's connection, or 0 if it has none.
func (t *Table) Generation(address string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.nodes[address]; n != nil {
		return n.generation
	}
	return 0
}
