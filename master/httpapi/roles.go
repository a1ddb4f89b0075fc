package httpapi

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// role is what there is for a role and for those below it: "a" includes "a/b".
type role struct {
	allocated, reserved quantities
	taken               quantities          // what counts of allocated although nobody reserved it
	frameworks          []*master.Framework // of this role alone, in order
}

// quantities are scalars by name; nil as long as there is nothing, as there is for
// most roles.
type quantities map[string]*amount

func (q *quantities) add(name string, v *registry.Value) {
	if v.Kind != registry.KindScalar || isNothing(v) {
		return
	}
	if *q == nil {
		*q = quantities{}
	}
	sum := (*q)[name]
	if sum == nil {
		sum = &amount{}
		(*q)[name] = sum
	}
	sum.add(v)
}

func (q *quantities) addAll(other quantities) {
	for name, sum := range other {
		v := sum.value()
		q.add(name, &v)
	}
}

// roles are those that anybody is in, or has something for, and all above them, as
// far as they are in a view.
type roles struct {
	view   View
	byName map[string]*role
}

// rolesBody is the answer of /roles.
func rolesBody(p *page, s *master.State, q *question) error {
	all := rolesIn(s, q.view).byName
	b := append(p.b, `{"roles":[`...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b = appendRole(next(b), name, all[name], q)
	}
	p.b = append(b, "]}"...)
	return nil
}

func rolesIn(s *master.State, view View) *roles {
	all := &roles{view, map[string]*role{}}
	for a := range s.Agents() {
		for i := range a.Resources {
			if name := reservedFor(&a.Resources[i]); name != anyRole {
				all.reserve(name, &a.Resources[i])
			}
		}
	}
	for f := range s.Frameworks() {
		for _, name := range rolesOf(&f.Info) {
			all.enter(name, f)
		}
		seen := map[string]bool{}
		for t := range f.Tasks() {
			if !t.State.Terminal() {
				all.allocate(f, t.AgentID, t.Resources, seen)
			}
		}
		for e := range f.Executors() {
			all.allocate(f, e.AgentID, e.Info.Resources, seen)
		}
	}
	return all
}

// at is a role and those above it, from below, up to the first that is not seen:
// what is above that is not seen either.
func (all *roles) at(name string) []*role {
	var path []*role
	for name != "" && all.view.Sees(name) {
		r := all.byName[name]
		if r == nil {
			r = &role{}
			all.byName[name] = r
		}
		path = append(path, r)
		name = name[:max(strings.LastIndexByte(name, '/'), 0)]
	}
	return path
}

func (all *roles) reserve(name string, res *registry.Resource) {
	for _, r := range all.at(name) {
		r.reserved.add(res.Name, &res.Value)
	}
}

// enter notes that a framework is in a role; those of one framework come one
// after another.
func (all *roles) enter(name string, f *master.Framework) {
	path := all.at(name)
	if len(path) == 0 {
		return
	}
	if list := path[0].frameworks; len(list) == 0 || list[len(list)-1] != f {
		path[0].frameworks = append(list, f)
	}
}

// allocate adds what a framework uses on an agent; what several of its tasks
// share counts once.
func (all *roles) allocate(f *master.Framework, on registry.AgentID, list []wire.Resource, seen map[string]bool) {
	for i := range list {
		r := &list[i]
		if isShared(r) {
			it := identity(on, r)
			if seen[it] {
				continue
			}
			seen[it] = true
		}
		name := cmp.Or(r.AllocationRole, anyRole)
		all.enter(name, f)
		taken := reservedFor(&r.Resource) == anyRole && !canBeRevoked(r)
		for _, at := range all.at(name) {
			at.allocated.add(r.Name, &r.Value)
			if taken {
				at.taken.add(r.Name, &r.Value)
			}
		}
	}
}

// appendRole writes a role. There are no weights and no quotas, and nothing is
// offered. A framework may have something of a role that it is not in: if none of
// its own is seen, it is not named.
func appendRole(b []byte, name string, r *role, q *question) []byte {
	b = text(append(b, '{'), "name", name)
	b = double(b, "weight", 1)
	b = append(key(b, "quota"), '{')
	b = text(b, "role", name)
	b = append(b, `,"guarantee":{},"limit":{}`...)
	var consumed quantities // what is set aside for it, and what it took besides
	consumed.addAll(r.reserved)
	consumed.addAll(r.taken)
	b = append(appendQuantities(key(b, "consumed"), consumed), '}')
	b = appendQuantities(key(b, "resources"), r.allocated)
	b = appendQuantities(key(b, "allocated"), r.allocated)
	b = appendQuantities(key(b, "offered"), nil)
	b = appendQuantities(key(b, "reserved"), r.reserved)
	b = append(key(b, "frameworks"), '[')
	for _, f := range r.frameworks {
		if q.seesFramework(&f.Info) {
			b = jsonout.String(next(b), f.Info.ID)
		}
	}
	return append(b, "]}"...)
}

func appendQuantities(b []byte, q quantities) []byte {
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(q)) {
		b = jsonout.Float(foreignKey(b, name), q[name].scalar)
	}
	return append(b, '}')
}
