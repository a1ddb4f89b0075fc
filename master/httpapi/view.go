package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// View is the part of a cluster that somebody may see. The zero View is all of it.
type View struct {
	// Roles are those whose things he sees, and of those below them: "a" stands for
	// "a/b" too. Nil means everything.
	Roles []string
}

// Sees reports whether what belongs to a role is in the view.
func (v View) Sees(role string) bool {
	if v.Roles == nil {
		return true
	}
	for _, r := range v.Roles {
		if rest, ok := strings.CutPrefix(role, r); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// seesAll reports whether all of what belongs to these roles is in the view.
func (v View) seesAll(roles []string) bool {
	return v.Roles == nil || !slices.ContainsFunc(roles, func(role string) bool { return !v.Sees(role) })
}

// knows reports whether somebody with the view may be told that there is a role:
// he sees it, or one below it.
func (v View) knows(role string) bool {
	return role == anyRole || v.Sees(role) ||
		slices.ContainsFunc(v.Roles, func(r string) bool { return strings.HasPrefix(r, role+"/") })
}

// knowsAll reports whether all for which a resource is reserved may be named.
func (v View) knowsAll(r *registry.Resource) bool {
	return !slices.ContainsFunc(r.Reservations, func(r registry.Reservation) bool { return !v.knows(r.Role) })
}

// sees reports whether a task or an executor with these resources is in the view.
func (v View) sees(list []wire.Resource) bool { return v.Sees(allocatedTo(list)) }

// key tells views apart.
func (v View) key() string {
	if v.Roles == nil {
		return ""
	}
	return fmt.Sprintf(" seen by %q", slices.Sorted(slices.Values(v.Roles)))
}

// caller is who asks, as a [Gate] found out.
type caller struct {
	principal string
	view      View
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Principal is who makes a request, by its context; "" is nobody that a [Gate] has
// let in.
func Principal(ctx context.Context) string {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.principal
}

// viewOf is what he who makes a request may see.
func viewOf(ctx context.Context) View {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.view
}

// whole lets those in who may see everything: h does not leave anything out.
func whole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if viewOf(r.Context()).Roles != nil {
			RefuseEarly(w, r, http.StatusForbidden, "who may see only some roles may not see this")
			return
		}
		h.ServeHTTP(w, r)
	})
}
