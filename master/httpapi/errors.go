package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// fail answers with a text for a person, in the form Mesos has for errors.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	io.WriteString(w, text)
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	fail(w, http.StatusNotFound, "404 Not Found.")
}

// only lets requests with these methods through.
func only(h http.Handler, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(methods, r.Method) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		fail(w, http.StatusMethodNotAllowed,
			fmt.Sprintf("Expecting one of { '%s' }, but received '%s'.", strings.Join(methods, "', '"), r.Method))
	})
}
