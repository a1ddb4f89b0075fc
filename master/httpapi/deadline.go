package httpapi

import (
	"net/http"
	"time"
)

// timely is an answer each piece of which the client has a time to take: who reads
// more slowly is cut off. The time begins anew with each piece, so that neither an
// answer that took long to make, nor one that comes later on the same connection,
// is hit by the deadline of what was written before.
type timely struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // of a piece
}

// timely makes what a handler writes timely.
func (a *api) timely(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &timely{w, http.NewResponseController(w), a.sendTimeout}
		t.begin() // for an answer that says nothing, which net/http writes
		h.ServeHTTP(t, r)
	})
}

func (t *timely) begin() { t.control.SetWriteDeadline(time.Now().Add(t.timeout)) }

// WriteHeader implements [http.ResponseWriter].
func (t *timely) WriteHeader(status int) {
	t.begin()
	t.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (t *timely) Write(b []byte) (int, error) {
	t.begin()
	return t.ResponseWriter.Write(b)
}

// Unwrap is for an [http.ResponseController].
func (t *timely) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// untimed is for handlers that have deadlines of their own.
func untimed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if t, ok := w.(*timely); ok {
			t.control.SetWriteDeadline(time.Time{})
			w = t.ResponseWriter
		}
		h.ServeHTTP(w, r)
	})
}
