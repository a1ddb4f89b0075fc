package registry

import (
	"bytes"
	"fmt"
)

// Check returns every broken invariant of r: none, unless the memory, the code
// or a store that was read is damaged. It decodes every entry and costs far
// more than anything else here.
func (r *Registry) Check() []error {
	c := &checker{r: r, row: newBuffer(), scratch: newBuffer()}
	for e := range r.agents.slots.all() {
		c.agent(e)
	}
	r.rows.tree.Scan(func(key rowKey, v *row) bool {
		c.other(key, v)
		return true
	})
	c.totals()
	return c.errs
}

type checker struct {
	r            *Registry
	row, scratch *buffer
	sum          sum
	counts       [Gone + 1]int
	deactivated  int
	errs         []error
}

func (c *checker) report(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) agent(e *entry) {
	if found, _ := c.r.agents.find(e.id, hashID(e.id)); found != e {
		c.report("agent %q: the index does not lead to it, or leads to another of this ID", e.id)
	}
	if err := e.id.Validate(); err != nil {
		c.report("agent %q: %w", e.id, err)
	}
	s := e.status.unpack()
	if err := s.Validate(); err != nil {
		c.report("agent %q: %w", e.id, err)
	} else {
		c.counts[s.State]++
	}
	if s.Deactivated {
		c.deactivated++
	}
	if e.since > c.r.revision {
		c.report("agent %q: in its state since revision %d, which is after %d", e.id, e.since, c.r.revision)
	}
	c.info(e)
	c.row.Reset()
	c.share("agent "+string(e.id), hashRow(c.row.agentRow(e, c.scratch)), e.share)
}

// info checks that what the agent says of itself decodes, is acceptable and
// has its one encoding.
func (c *checker) info(e *entry) {
	if e.info == "" {
		return
	}
	a, err := Entry{e}.Agent()
	if err != nil {
		c.report("%w", err)
		return
	}
	if err := a.Validate(); err != nil {
		c.report("agent %q: %w", e.id, err)
	}
	c.scratch.Reset()
	c.scratch.info(&a)
	if !bytes.Equal(c.scratch.Bytes, []byte(e.info)) {
		c.report("agent %q: its bytes are not the encoding of what they hold", e.id)
	}
}

func (c *checker) other(key rowKey, v *row) {
	name := fmt.Sprintf("table %s, key %q", v.table.name, v.key)
	if key != v.table.key(v.key) {
		c.report("%s: stands under another key", name)
	}
	if err := v.table.check(v.key, []byte(v.body)); err != nil {
		c.report("%s: %w", name, err)
	}
	if v.since > c.r.revision {
		c.report("%s: changed at revision %d, which is after %d", name, v.since, c.r.revision)
	}
	c.row.Reset()
	c.share(name, hashRow(c.row.row(v)), v.share)
}

func (c *checker) share(name string, got, kept sum) {
	c.sum.add(got)
	if got != kept {
		c.report("%s: its share of the digest is %v, kept as %v", name, got.digest(), kept.digest())
	}
}

func (c *checker) totals() {
	if c.sum != c.r.sum {
		c.report("the entries add up to digest %v, kept is %v", c.sum.digest(), c.r.sum.digest())
	}
	if c.counts != c.r.agents.counts {
		c.report("agents by state are %v, kept as %v", c.counts, c.r.agents.counts)
	}
	if c.deactivated != c.r.agents.deactivated {
		c.report("%d agents are deactivated, kept as %d", c.deactivated, c.r.agents.deactivated)
	}
}
