package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// fail answers with a text for a person, in the form Mesos has for errors.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// RefuseEarly answers with a text for a person, below /v2 in the form of Marathon, to a request whose body may not have
// been read, and ends the connection if there is one: net/http would wait for the
// end of the body before it says anything.
func RefuseEarly(w http.ResponseWriter, r *http.Request, status int, text string) {
	if _, read := r.Body.(bodyRead); !read && r.Body != nil && r.Body != http.NoBody {
		w.Header().Set("Connection", "close")
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
	}
	if strings.HasPrefix(r.URL.Path, underV2) {
		failPods(w, status, podError{Message: text})
		return
	}
	fail(w, status, text)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	RefuseEarly(w, r, http.StatusNotFound, "404 Not Found.")
}

// only lets requests with these methods through.
func only(h http.Handler, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(methods, r.Method) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		RefuseEarly(w, r, http.StatusMethodNotAllowed,
			fmt.Sprintf("Expecting one of { '%s' }, but received '%s'.", strings.Join(methods, "', '"), r.Method))
	})
}
