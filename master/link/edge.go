package link

// edge is one link. It stands in two lists, that of its linker and that of its
// linkee, and becomes the entry of an inbox's queue when it ends: so a notice
// costs no memory of its own.
//
// Edges in lists, not maps in maps: a map for each linkee made the loss of a
// node slower than scanning everything.
//
// Invariant: an edge is in both lists or in neither; a linker has at most one
// edge to a linkee.
type edge struct {
	linker           *Process
	linkee           *peer
	prevIn, nextIn   *edge // among those to the same linkee
	prevOut, nextOut *edge // among those of the same linker; nextOut in an inbox, too
}

// maxScan is the length up to which a list is searched from end to end.
const maxScan = 32

// find returns the edge from p to q, or nil. It searches the shorter of the two
// lists, and only where both are long makes an index of p's, once.
func (p *Process) find(q *peer) *edge {
	switch {
	case p.index != nil:
		return p.index[q]
	case p.outs <= q.ins && p.outs <= maxScan:
		return findOut(p.out, q)
	case q.ins <= maxScan:
		return findIn(q.in, p)
	}
	p.index = make(map[*peer]*edge, 2*p.outs)
	for e := p.out; e != nil; e = e.nextOut {
		p.index[e.linkee] = e
	}
	return p.index[q]
}

func findOut(e *edge, q *peer) *edge {
	for e != nil && e.linkee != q {
		e = e.nextOut
	}
	return e
}

func findIn(e *edge, p *Process) *edge {
	for e != nil && e.linker != p {
		e = e.nextIn
	}
	return e
}

// hook adds an edge from p to q, where none is.
func (p *Process) hook(q *peer) {
	e := &edge{linker: p, linkee: q, nextIn: q.in, nextOut: p.out}
	if q.in != nil {
		q.in.prevIn = e
	}
	if p.out != nil {
		p.out.prevOut = e
	}
	q.in, p.out = e, e
	q.ins++
	p.outs++
	if p.index != nil {
		p.index[q] = e
	}
}

// unhook takes e out of both lists.
func (e *edge) unhook() {
	p, q := e.linker, e.linkee
	if e.prevIn == nil {
		q.in = e.nextIn
	} else {
		e.prevIn.nextIn = e.nextIn
	}
	if e.nextIn != nil {
		e.nextIn.prevIn = e.prevIn
	}
	if e.prevOut == nil {
		p.out = e.nextOut
	} else {
		e.prevOut.nextOut = e.nextOut
	}
	if e.nextOut != nil {
		e.nextOut.prevOut = e.prevOut
	}
	e.prevIn, e.nextIn, e.prevOut, e.nextOut = nil, nil, nil, nil
	q.ins--
	p.outs--
	p.unindex(q)
}

func (p *Process) unindex(q *peer) {
	if p.outs == 0 {
		p.index = nil
	} else if p.index != nil {
		delete(p.index, q)
	}
}
