package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/pod"
)

// PodKeeper defines pods; a [*master.Master] is one.
type PodKeeper interface {
	AddPod(context.Context, *pod.Definition, master.By) (*pod.Definition, error)
	PutPod(context.Context, *pod.Definition, master.By) (*pod.Definition, error)
	RemovePod(ctx context.Context, id string, by master.By) error
}

// underV2 is where everything is as in Marathon.
const underV2 = "/v2/"

// pods serves what is below /v2 as Marathon does: its paths have colons, and two
// slashes where an ID is written with its own.
func (a *api) pods(o *Options) http.Handler {
	d := &podDoor{api: a, keeper: o.Pods}
	whole := *o
	whole.MaxBody = pod.MaxDefinition
	read := o.Gate.guard(Readonly, o.bounded(answering(unsniffed(http.HandlerFunc(d.read)))))
	write := o.Gate.guard(Readwrite, whole.bounded(unsniffed(http.HandlerFunc(d.write))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch:
			write.ServeHTTP(w, r)
		default:
			read.ServeHTTP(w, r)
		}
	})
}

// besides serves what is below /v2 by pods, and all else by h.
func besides(pods, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, underV2) {
			pods.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// podDoor is where pods are asked for and defined.
type podDoor struct {
	*api
	keeper PodKeeper // nil if nobody may define any
}

// podPath is a path below /v2, taken apart.
type podPath struct {
	what podRoute
	id   string // as it was given
	at   string // a version
}

type podRoute uint8

const (
	noRoute podRoute = iota
	queueRoute
	podsRoute
	onePodRoute
	statusesRoute
	statusRoute
	versionsRoute
	versionRoute
)

// podMethods are those that a route has.
var podMethods = map[podRoute][]string{
	queueRoute:    {http.MethodGet, http.MethodHead},
	podsRoute:     {http.MethodGet, http.MethodHead, http.MethodPost},
	onePodRoute:   {http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete},
	statusesRoute: {http.MethodGet, http.MethodHead},
	statusRoute:   {http.MethodGet, http.MethodHead},
	versionsRoute: {http.MethodGet, http.MethodHead},
	versionRoute:  {http.MethodGet, http.MethodHead},
}

// parsePodPath takes a path apart. An ID may have slashes; what stands behind two
// colons is what is asked of it.
func parsePodPath(path string) podPath {
	rest := strings.TrimPrefix(path, underV2)
	switch strings.TrimSuffix(rest, "/") {
	case "queue":
		return podPath{what: queueRoute}
	case "pods":
		return podPath{what: podsRoute}
	}
	rest, ok := strings.CutPrefix(rest, "pods/")
	if !ok {
		return podPath{}
	}
	id, verb, has := strings.Cut(rest, "::")
	if !has {
		return podPath{what: onePodRoute, id: id}
	}
	verb = strings.TrimSuffix(verb, "/")
	version, is := strings.CutPrefix(verb, "versions/")
	switch {
	case id == "" && verb == "status":
		return podPath{what: statusesRoute}
	case id == "":
		return podPath{}
	case verb == "status":
		return podPath{what: statusRoute, id: id}
	case verb == "versions":
		return podPath{what: versionsRoute, id: id}
	case is:
		return podPath{what: versionRoute, id: id, at: version}
	}
	return podPath{}
}

// enter finds out what is asked, and answers if that cannot be.
func (d *podDoor) enter(w http.ResponseWriter, r *http.Request) (p podPath, ok bool) {
	p = parsePodPath(r.URL.Path)
	methods := podMethods[p.what]
	if d.keeper == nil {
		methods = slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return m != http.MethodGet && m != http.MethodHead })
	}
	switch {
	case p.what == noRoute:
		failPods(w, http.StatusNotFound, podError{Message: "URI not found"})
	case !slices.Contains(methods, r.Method):
		w.Header().Set("Allow", strings.Join(methods, ", "))
		failPods(w, http.StatusMethodNotAllowed, podError{Message: fmt.Sprintf("%s is not for this path", r.Method)})
	default:
		return p, true
	}
	return p, false
}

// read answers GET and HEAD. What was acknowledged before is in the State.
func (d *podDoor) read(w http.ResponseWriter, r *http.Request) {
	p, ok := d.enter(w, r)
	if !ok {
		return
	}
	s, view := d.source.State(), viewOf(r.Context())
	switch p.what {
	case queueRoute:
		sayPods(w, r, http.StatusOK, []byte(`{"queue":[]}`))
		return
	case podsRoute, statusesRoute:
		d.send(w, r, d.podLists.find(s, p.what, view, d.cacheBytes))
		return
	}
	one, ok := d.one(w, s, p.id, view)
	if !ok {
		return
	}
	switch p.what {
	case onePodRoute:
		d.send(w, r, newPodAnswer(s, one, "d", one.Definition.JSON()))
	case statusRoute:
		d.send(w, r, newPodAnswer(s, one, "s", one.JSON()))
	case versionsRoute:
		sayPods(w, r, http.StatusOK, fmt.Appendf(nil, "[%q]", pod.FormatTime(one.Definition.Version.Time)))
	case versionRoute:
		d.version(w, r, one.Definition, p.at)
	}
}

// one finds a pod that the caller may see, or says that there is none.
func (d *podDoor) one(w http.ResponseWriter, s *master.State, text string, view View) (*pod.Status, bool) {
	id, err := pod.ParseID(text)
	if err != nil {
		failPods(w, http.StatusUnprocessableEntity, invalidPod("/id", err.Error()))
		return nil, false
	}
	one, ok := s.Pod(id)
	if !ok || !view.Sees(one.Definition.Role) {
		failPods(w, http.StatusNotFound, noPod(id))
		return nil, false
	}
	return one, true
}

// version answers with the definition of a version. Only the current one is kept.
func (d *podDoor) version(w http.ResponseWriter, r *http.Request, one *pod.Definition, text string) {
	at, err := pod.ParseTime(text)
	switch {
	case err != nil:
		failPods(w, http.StatusUnprocessableEntity, podError{Message: fmt.Sprintf("version %q %v", text, err)})
	case !at.Equal(one.Version.Time):
		failPods(w, http.StatusNotFound, podError{Message: fmt.Sprintf("Pod '%s' does not exist in version %s: only the current one is kept, %s",
			one.ID, pod.FormatTime(at), pod.FormatTime(one.Version.Time))})
	default:
		sayPods(w, r, http.StatusOK, one.JSON())
	}
}

// ping answers clients that want to know whether a member that failed is back.
func ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "pong")
}
