package link

// peer is what may be linked to: a process of ours, or one at a node.
//
// Invariant: a peer at a node has links; without any, the node has let it go.
type peer struct {
	id         string
	generation uint64 // its own, or that of the connection that ended
	reason     Reason // why it went; never changes after that
	in         *edge  // links to it, a list by nextIn
	ins        int

	node       *node // where it is; nil for a process of ours
	prev, next *peer // among those of the node
	listed     bool  // the node has it in its list
}

// endSome ends links to a peer that is gone, each with a notice, as many as the
// budget allows. It needs the lock.
func (q *peer) endSome(budget int) (left int) {
	for ; q.in != nil && budget > 0; budget-- {
		e := q.in
		e.unhook()
		if !e.linker.gone.Load() {
			e.linker.inbox.push(e)
		}
	}
	return budget
}

// release lets a peer at a node go if nobody links to it any more.
func (q *peer) release() {
	if q.listed && q.in == nil {
		q.node.remove(q)
	}
}

// node is an address with a connection, made or attempted, and the peers there
// that are linked to.
type node struct {
	address    string
	generation uint64
	reason     Reason // why it is gone
	peers      *peer
	count      int
	index      map[string]*peer // of peers; nil while there are few
}

// fewPeers is how many peers of a node are searched one by one: most nodes have
// one, and a map would take more room than all the rest of the node.
const fewPeers = 8

// find returns the peer of that name, or nil if nobody links to it.
func (n *node) find(id string) *peer {
	if n.index != nil {
		return n.index[id]
	}
	q := n.peers
	for q != nil && q.id != id {
		q = q.next
	}
	return q
}

func (n *node) add(id string) *peer {
	q := &peer{id: id, node: n, next: n.peers, listed: true}
	if n.peers != nil {
		n.peers.prev = q
	}
	n.peers = q
	n.count++
	if n.index != nil {
		n.index[id] = q
	} else if n.count > fewPeers {
		n.makeIndex()
	}
	return q
}

func (n *node) makeIndex() {
	n.index = make(map[string]*peer, 2*n.count)
	for q := n.peers; q != nil; q = q.next {
		n.index[q.id] = q
	}
}

func (n *node) remove(q *peer) {
	if q.prev == nil {
		n.peers = q.next
	} else {
		q.prev.next = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	}
	q.prev, q.next, q.listed = nil, nil, false
	n.count--
	if n.count == 0 {
		n.index = nil
	} else if n.index != nil {
		delete(n.index, q.id)
	}
}

// endSome ends links to peers of a node that is gone, as many as the budget
// allows. It needs the lock.
func (n *node) endSome(budget int) (left int) {
	for n.peers != nil && budget > 0 {
		q := n.peers
		q.generation, q.reason = n.generation, n.reason
		budget = q.endSome(budget)
		q.release()
	}
	return budget
}
