package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// deploymentHeader names the deployment that Marathon would begin. Here a change
// is done when it is answered, and the name is of nothing; clients want it.
const deploymentHeader = "Marathon-Deployment-Id"

// write answers what changes pods. Whether it is forced makes no difference:
// nothing ever stands in the way of a definition.
func (d *podDoor) write(w http.ResponseWriter, r *http.Request) {
	p, ok := d.enter(w, r)
	if !ok {
		return
	}
	by := master.By{Principal: Principal(r.Context())}
	switch {
	case r.Method == http.MethodDelete:
		d.remove(w, r, p.id, by)
	case p.what == podsRoute:
		d.define(w, r, http.StatusCreated, func(ctx context.Context, one *pod.Definition) (*pod.Definition, error) {
			return d.keeper.AddPod(ctx, one, by)
		})
	default:
		d.put(w, r, p.id, by)
	}
}

func (d *podDoor) put(w http.ResponseWriter, r *http.Request, text string, by master.By) {
	id, err := pod.ParseID(text)
	if err != nil {
		failPods(w, http.StatusUnprocessableEntity, invalidPod("/id", err.Error()))
		return
	}
	d.define(w, r, http.StatusOK, func(ctx context.Context, one *pod.Definition) (*pod.Definition, error) {
		if one.ID != id {
			return nil, &otherPodError{id, one.ID}
		}
		return d.keeper.PutPod(ctx, one, by)
	})
}

// define reads a definition, has it kept, and answers with what was kept.
func (d *podDoor) define(w http.ResponseWriter, r *http.Request, status int, keep func(context.Context, *pod.Definition) (*pod.Definition, error)) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != asJSON {
		failPods(w, http.StatusUnsupportedMediaType, podError{Message: "Content-Type: want " + asJSON}) // what no page of somebody else can send
		return
	}
	body, err := io.ReadAll(r.Body) // it is there, and bounded
	if err != nil {
		failPods(w, http.StatusBadRequest, podError{Message: "the body cannot be read: " + err.Error()})
		return
	}
	var kept *pod.Definition
	one, err := pod.Parse(body)
	if err == nil {
		kept, err = keep(r.Context(), one)
	}
	if err != nil {
		id := ""
		if one != nil {
			id = one.ID
		}
		d.refuse(w, id, err)
		return
	}
	if status == http.StatusCreated {
		w.Header().Set("Location", kept.ID)
	}
	w.Header().Set(deploymentHeader, uuid.NewString())
	sayPods(w, r, status, kept.JSON())
}

func (d *podDoor) remove(w http.ResponseWriter, r *http.Request, text string, by master.By) {
	id, err := pod.ParseID(text)
	if err != nil {
		failPods(w, http.StatusUnprocessableEntity, invalidPod("/id", err.Error()))
		return
	}
	if err := d.keeper.RemovePod(r.Context(), id, by); err != nil {
		d.refuse(w, id, err)
		return
	}
	deployment := uuid.NewString()
	w.Header().Set("Location", deployment)
	w.Header().Set(deploymentHeader, deployment)
	uncached(w.Header())
	w.WriteHeader(http.StatusAccepted)
}

// podError is an error in the form of Marathon.
type podError struct {
	Message string `json:"message"`
	Details any    `json:"details,omitempty"` // a text, or []pod.Detail
}

func noPod(id string) podError { return podError{Message: fmt.Sprintf("Pod '%s' does not exist", id)} }

func invalidPod(path, reason string) podError {
	return podError{Message: "Object is not valid", Details: []pod.Detail{{Path: path, Errors: []string{reason}}}}
}

// otherPodError says that a definition is not of the pod at whose path it is.
type otherPodError struct{ path, body string }

func (e *otherPodError) Error() string {
	return fmt.Sprintf("'%s' does not match the id of the pod in the body, '%s'", e.path, e.body)
}

// refuse says why a pod was not defined, or removed.
func (d *podDoor) refuse(w http.ResponseWriter, id string, err error) {
	var (
		syntax  *pod.SyntaxError
		types   *pod.TypeError
		invalid *pod.InvalidError
		other   *otherPodError
		field   *registry.FieldError
	)
	switch {
	case errors.As(err, &syntax):
		failPods(w, http.StatusBadRequest, podError{"Invalid JSON", syntax.Reason})
	case errors.As(err, &types):
		failPods(w, http.StatusBadRequest, podError{"Invalid JSON", types.Details})
	case errors.As(err, &invalid):
		failPods(w, http.StatusUnprocessableEntity, podError{"Object is not valid", invalid.Details})
	case errors.As(err, &other):
		failPods(w, http.StatusBadRequest, podError{Message: other.Error()})
	case errors.Is(err, ops.ErrPodDefined):
		failPods(w, http.StatusConflict, podError{Message: fmt.Sprintf("A pod with id [%s] already exists.", id)})
	case errors.Is(err, ops.ErrNoPod):
		failPods(w, http.StatusNotFound, noPod(id))
	case errors.Is(err, master.ErrTooManyPods): // a client of Marathon takes 503 for a master that is down
		failPods(w, http.StatusForbidden, podError{Message: err.Error()})
	case errors.As(err, &field):
		failPods(w, http.StatusUnprocessableEntity, invalidPod("/", field.Error()))
	case errors.Is(err, context.Canceled):
		// nobody is there to be told
	default: // the master is overloaded, or ends
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
		failPods(w, http.StatusServiceUnavailable, podError{Message: err.Error()})
	}
}

// failPods answers with an error.
func failPods(w http.ResponseWriter, status int, e podError) {
	text, err := json.Marshal(e)
	if err != nil {
		panic("httpapi: " + err.Error()) // of our own making
	}
	w.Header().Set("Content-Type", asJSON)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	uncached(w.Header())
	w.WriteHeader(status)
	w.Write(text)
}

// sayPods answers with what no cache is to keep.
func sayPods(w http.ResponseWriter, r *http.Request, status int, text []byte) {
	w.Header().Set("Content-Type", asJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	uncached(w.Header())
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(text)
	}
}

// uncached keeps an answer out of caches in the words of Marathon.
func uncached(h http.Header) {
	h.Set("Cache-Control", "no-cache, no-store, must-revalidate")
	h.Set("Pragma", "no-cache")
	h.Set("Expires", "0")
}
