package httpapi

import (
	"net/http"
	"path"
	"strings"
)

// route is an endpoint and its names: each is served with and without a slash
// behind it.
type route struct {
	path    string
	also    alias
	handler http.Handler
}

// alias says by which other names an endpoint is known.
type alias uint8

const (
	underMaster alias = 1 << iota // /master/state
	dotJSON                       // /state.json, as of before Mesos 1.8
)

func (r route) paths() []string {
	paths := []string{r.path}
	if r.also&underMaster != 0 {
		paths = append(paths, "/master"+r.path)
	}
	if r.also&dotJSON != 0 {
		for _, path := range paths {
			paths = append(paths, path+".json")
		}
	}
	return paths
}

// routes is every endpoint. Those that Mesos has take any method, as there.
func (a *api) routes() []route {
	const both = underMaster | dotJSON
	return []route{
		{"/state", both, a.json(endpoint{path: "/state", body: a.stateBody, large: true, agents: agentsInState, frameworks: true})},
		{"/state-summary", both, a.json(endpoint{path: "/state-summary", body: a.summaryBody, large: true})},
		{"/slaves", both, a.json(endpoint{path: "/slaves", body: agentsBody, asks: []string{"slave_id"}, large: true, agents: agentsInSlaves})},
		{"/frameworks", both, a.json(endpoint{path: "/frameworks", body: frameworksBody, asks: []string{"framework_id"}, large: true, frameworks: true})},
		{"/tasks", both, a.json(endpoint{path: "/tasks", body: tasksBody, asks: []string{"framework_id", "task_id", "order", "limit", "offset"}, large: true})},
		{"/roles", both, a.json(endpoint{path: "/roles", body: rolesBody, large: true})},
		{"/flags", both, a.json(endpoint{path: "/flags", body: a.flagsBody})},
		{"/version", dotJSON, a.json(endpoint{path: "/version", body: a.versionBody})},
		{"/registrar(1)/registry", dotJSON, a.json(endpoint{path: "/registry", body: registryBody, large: true})},

		{"/health", underMaster, http.HandlerFunc(health)},
		{"/redirect", underMaster, http.HandlerFunc(a.redirect)},
		{"/ready", 0, only(http.HandlerFunc(a.readiness), http.MethodGet, http.MethodHead)},
		{"/api/v1/agent", underMaster, only(a.agents, http.MethodPost)},
	}
}

// onlyPlainPaths knows nothing at a path that climbs or has empty parts, as Mesos
// does not; a ServeMux would send the client elsewhere.
func onlyPlainPaths(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.EscapedPath()
		plain := path.Clean(asked)
		if plain != "/" && strings.HasSuffix(asked, "/") {
			plain += "/"
		}
		if asked != plain || strings.Contains(r.URL.Path, "/..") {
			notFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
