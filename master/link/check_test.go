package link

import "fmt"

// check proves the invariants of a table that holds these processes.
func (t *Table) check(processes []*Process) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := map[*peer]int{}
	for _, p := range processes {
		if err := p.check(in); err != nil {
			return err
		}
	}
	for address, n := range t.nodes {
		if n.address != address || n.generation == 0 {
			return fmt.Errorf("node %q is filed under %q, generation %d", n.address, address, n.generation)
		}
		if err := n.check(); err != nil {
			return err
		}
	}
	for q, links := range in {
		if q.ins != links {
			return fmt.Errorf("%q counts %d links to it, its linkers have %d", q.id, q.ins, links)
		}
		if q.node != nil && (!q.listed || t.nodes[q.node.address] != q.node || q.node.find(q.id) != q) {
			return fmt.Errorf("%q has links, but node %q does not know it", q.id, q.node.address)
		}
	}
	return nil
}

func (p *Process) check(in map[*peer]int) error {
	seen := map[*peer]bool{}
	for e := p.out; e != nil; e = e.nextOut {
		if e.linker != p || seen[e.linkee] || findIn(e.linkee.in, p) != e {
			return fmt.Errorf("%q: its edge to %q is double, or stands in one list only", p.id, e.linkee.id)
		}
		if p.index != nil && p.index[e.linkee] != e {
			return fmt.Errorf("%q: its index lacks %q", p.id, e.linkee.id)
		}
		seen[e.linkee] = true
		in[e.linkee]++
	}
	if p.outs != len(seen) || p.index != nil && len(p.index) != p.outs {
		return fmt.Errorf("%q counts %d links and has %d, %d in the index", p.id, p.outs, len(seen), len(p.index))
	}
	if p.gone.Load() && (p.in != nil || p.out != nil) {
		return fmt.Errorf("%q is gone and has links", p.id)
	}
	return nil
}

func (n *node) check() error {
	count := 0
	for q := n.peers; q != nil; q = q.next {
		if q.node != n || !q.listed || q.in == nil || q.ins == 0 {
			return fmt.Errorf("node %q keeps %q, which nobody links to", n.address, q.id)
		}
		if n.index != nil && n.index[q.id] != q {
			return fmt.Errorf("node %q: its index lacks %q", n.address, q.id)
		}
		count++
	}
	if n.count != count || n.index != nil && len(n.index) != count {
		return fmt.Errorf("node %q counts %d peers and has %d, %d in the index", n.address, n.count, count, len(n.index))
	}
	return nil
}
