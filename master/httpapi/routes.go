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
		return o.Gate.guard(Agents, r.handler)
	case Readonly:
		return o.Gate.guard(Readonly, o.bounded(whole(answering(r.handler))))
	default:
		return o.bounded(r.handler)
	}
}

// routes is every endpoint. Those that Mesos has take any method, as there.
func (a *api) routes() []route {
	const (
		both      = underMaster | dotJSON
		everybody = Realm("")
	)
	return []route{
		{"/state", both, Readonly, a.json(a.stateBody)},
		{"/state-summary", both, Readonly, a.json(a.summaryBody)},
		{"/slaves", both, Readonly, a.json(agentsBody)},
		{"/frameworks", both, Readonly, a.json(frameworksBody)},
		{"/tasks", both, Readonly, a.json(tasksBody)},
		{"/roles", both, Readonly, a.json(rolesBody)},
		{"/flags", both, Readonly, a.json(a.flagsBody)},
		{"/version", dotJSON, everybody, a.json(a.versionBody)},
		{"/registrar(1)/registry", dotJSON, Readonly, a.json(registryBody)},

		{"/health", underMaster, everybody, http.HandlerFunc(health)},
		{"/redirect", underMaster, everybody, http.HandlerFunc(a.redirect)},
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
