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
	realm   Realm // "" for what everybody may ask
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

// entered is the handler behind all that a request must pass first. The streams of
// agents have bounds of their own.
func (r route) entered(o *Options) http.Handler {
	switch r.realm {
	case Agents:
		return o.Gate.guard(Agents, untimed(r.handler))
	case Readonly:
		return o.Gate.guard(Readonly, unscripted(o.bounded(answering(unsniffed(r.handler)))))
	default:
		return o.bounded(unsniffed(r.handler))
	}
}

// routes is every endpoint. Those that Mesos has take any method, as there.
func (a *api) routes() []route {
	const (
		both      = underMaster | dotJSON
		everybody = Realm("")
	)
	return []route{
		{"/state", both, Readonly, a.json(endpoint{path: "/state", body: a.stateBody, agents: agentsInState, frameworks: true})},
		{"/state-summary", both, Readonly, a.json(endpoint{path: "/state-summary", body: a.summaryBody})},
		{"/slaves", both, Readonly, a.json(endpoint{path: "/slaves", body: agentsBody, asks: []string{"slave_id"}, agents: agentsInSlaves})},
		{"/frameworks", both, Readonly, a.json(endpoint{path: "/frameworks", body: frameworksBody, asks: []string{"framework_id"}, frameworks: true})},
		{"/tasks", both, Readonly, a.json(endpoint{path: "/tasks", body: tasksBody, asks: []string{"framework_id", "task_id", "order", "limit", "offset"}})},
		{"/roles", both, Readonly, a.json(endpoint{path: "/roles", body: rolesBody})},
		{"/flags", both, Readonly, a.json(endpoint{path: "/flags", body: a.flagsBody, small: true})},
		{"/version", dotJSON, everybody, a.json(endpoint{path: "/version", body: a.versionBody, small: true})},
		{"/registrar(1)/registry", dotJSON, Readonly, whole(a.json(endpoint{path: "/registry", body: registryBody}))},
		{"/metrics/snapshot", 0, Readonly, whole(http.HandlerFunc(a.metrics.snapshot))},
		{"/metrics", 0, Readonly, whole(only(http.HandlerFunc(a.metrics.prometheus), http.MethodGet, http.MethodHead))},
		{"/api/v1", underMaster, Readonly, whole(only(http.HandlerFunc(a.operator), http.MethodPost))},

		{"/health", underMaster, everybody, http.HandlerFunc(health)},
		{"/redirect", underMaster, everybody, http.HandlerFunc(a.redirect)},
		{"/ping", 0, everybody, only(http.HandlerFunc(ping), http.MethodGet, http.MethodHead)},
		{"/ready", 0, everybody, only(http.HandlerFunc(a.readiness), http.MethodGet, http.MethodHead)},
		{"/api/v1/agent", underMaster, Agents, only(a.agents, http.MethodPost)},
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
