package registry

import "sync/atomic"

// Expect reads ahead what changes of these agents will need. In a large
// registry each change waits for memory several times over; asked for together,
// the answers overlap, which makes changes in random order about twice as fast.
// It changes nothing.
func (d *Draft) Expect(ids []AgentID) {
	const group = 64 // enough to overlap, few enough to stay in the nearest cache
	var cells [group]*uint64
	var found [group]*entry
	x := d.next.agents.index
	mask := uint32(len(x.cells) - 1)
	for ; len(ids) > 0; ids = ids[min(group, len(ids)):] {
		some := ids[:min(group, len(ids))]
		for i, id := range some {
			cells[i] = &x.cells[hashID(id)&mask]
		}
		for i := range some {
			found[i] = nil
			if c := atomic.LoadUint64(cells[i]); c != 0 {
				found[i] = d.next.agents.slots.get(uint32(c>>32) - 1)
			}
		}
		for i := range some {
			if e := found[i]; e != nil {
				d.touched += e.since
			}
		}
		for i := range some {
			if e := found[i]; e != nil && e.info != "" {
				d.touched += uint64(e.id[0]) + uint64(e.info[len(e.info)-1])
			}
		}
	}
}
