package main

import (
	"net/http"
	"sync/atomic"

	"github.com/eaba02dc/registrar/master/httpapi"
)

// gate answers 503 to everybody until it is opened. Its zero value is closed.
type gate struct{ behind atomic.Pointer[http.Handler] }

// open lets who asks from now on through to h.
func (g *gate) open(h http.Handler) { g.behind.Store(&h) }

// close refuses who asks from now on, as before it was opened.
func (g *gate) close() { g.behind.Store(nil) }

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := g.behind.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	httpapi.RefuseEarly(w, r, http.StatusServiceUnavailable, "The master is recovering its registry.")
}
