package httpapi

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/eaba02dc/registrar/master"
)

// What tests of the gate look at and hold up.
var (
	ParseCredentials = parseCredentials
	ViewOf           = viewOf
)

// Compare replaces how passwords are compared with hashes.
func (g *Gate) Compare(f func(hash, password []byte) error) { g.passwords.compare = f }

// WithView is the context of a request of somebody with a view.
func WithView(ctx context.Context, v View) context.Context { return withCaller(ctx, caller{view: v}) }

// SendTimeout sets how long a client may take for a piece of an answer.
func (h *Handler) SendTimeout(d time.Duration) { h.api.sendTimeout = d }

// RolesIn are the roles that are looked at for somebody with a view.
func RolesIn(s *master.State, v View) []string {
	return slices.Sorted(maps.Keys(rolesIn(s, v).byName))
}

// RolesWithAmounts are those of all roles that have room for amounts.
func RolesWithAmounts(s *master.State) []string {
	all := rolesIn(s, View{}).byName
	maps.DeleteFunc(all, func(_ string, r *role) bool { return r.allocated == nil && r.reserved == nil && r.taken == nil })
	return slices.Sorted(maps.Keys(all))
}

// Noted are the roles that are noted when these come one after another, and whether
// what found them again is kept.
func Noted(roles ...string) ([]string, bool) {
	k := &kind[*string]{note: func(all []*string) *note {
		n := &note{}
		for _, role := range all {
			n.of(*role)
		}
		return n
	}}
	var all []*string
	for _, role := range roles {
		all = append(all, &role)
	}
	n := k.noted(all)
	return n.roles, n.index != nil
}

// LooksUpRoles reports whether so many roles are found again without looking through
// them.
func LooksUpRoles(many int) bool {
	n := &note{}
	for i := range many {
		n.of(strconv.Itoa(i))
	}
	return n.index != nil
}

// PodList is the list of the pods of a state, for who sees everything.
func (h *Handler) PodList(s *master.State) []byte {
	return h.api.podLists.find(s, podsRoute, View{}, 1<<20).bytes
}
