package main

import (
	"io"
	"net/http"
	"sync/atomic"
)

// gate answers 503 to everybody until it is opened. Its zero value is closed.
type gate struct{ behind atomic.Pointer[http.Handler] }

// open lets who asks from now on through to h.
func (g *gate) open(h http.Handler) { g.behind.Store(&h) }

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := g.behind.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w, "The master is recovering its registry.")
}
