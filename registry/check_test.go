package registry

import (
	"strings"
	"testing"
)

// TestCheckFindsEachBrokenInvariant breaks a registry from inside, one way at
// a time.
func TestCheckFindsEachBrokenInvariant(t *testing.T) {
	breaks := map[string]func(r *Registry, e *entry){
		"the index does not lead to it": func(r *Registry, _ *entry) { r.agents.index = newIndex(0) },
		"contains the character":        func(_ *Registry, e *entry) { e.id = "a/1" },
		"is not a state":                func(_ *Registry, e *entry) { e.status.state = 0 },
		"a draining agent":              func(_ *Registry, e *entry) { e.status.drain = Draining },
		"since revision 7":              func(_ *Registry, e *entry) { e.since = 7 },
		"decode entry":                  func(_ *Registry, e *entry) { e.info = "\x92" },
		"not the encoding":              func(_ *Registry, e *entry) { e.info = "\x91\xd9\x01h" },
		"its share of the digest":       func(_ *Registry, e *entry) { e.share.lo++ },
		"add up to digest":              func(r *Registry, _ *entry) { r.sum.lo++ },
		"agents by state":               func(r *Registry, _ *entry) { r.agents.counts[Gone]++ },
		"agents are deactivated":        func(r *Registry, _ *entry) { r.agents.deactivated++ },
		"stands under another key":      func(r *Registry, _ *entry) { r.rows.get(masterTable, "").key = "x" },
		"changed at revision 7":         func(r *Registry, _ *entry) { r.rows.get(masterTable, "").since = 7 },
		"table: is empty":               func(r *Registry, _ *entry) { r.rows.get(keyTable, "t\x00k").key = "\x00k" },
		"key of version 0":              func(r *Registry, _ *entry) { r.rows.get(keyTable, "t\x00k").body = "\x00v" },
		"a pod of 0 fields":             func(r *Registry, _ *entry) { r.rows.get(podTable, "/a").body = "\x01\x90" },
		"a master of 0 fields":          func(r *Registry, _ *entry) { r.rows.get(masterTable, "").body = "\x01\x90" },
	}
	for want, damage := range breaks {
		d := New().Draft()
		if _, err := d.Try(func(d *Draft) error {
			if err := d.SetMaster(Master{ID: "m"}); err != nil {
				return err
			}
			if err := d.PutKey("t", "k", "v"); err != nil {
				return err
			}
			if err := d.PutPod(Pod{ID: "/a", Definition: []byte("{}")}); err != nil {
				return err
			}
			return d.PutAgent(Agent{ID: "a1", Hostname: "h"}, Status{State: Admitted})
		}); err != nil {
			t.Fatal(err)
		}
		r := d.Freeze()
		if errs := r.Check(); errs != nil {
			t.Fatalf("before the damage: %v", errs)
		}
		e, _ := r.agents.find("a1", hashID("a1"))
		damage(r, e)
		found := ""
		for _, err := range r.Check() {
			found += err.Error() + "\n"
		}
		if !strings.Contains(found, want) {
			t.Errorf("want a finding with %q, have:\n%s", want, found)
		}
	}
}
