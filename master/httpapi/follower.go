package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/master"
)

// ofItself is what a master that does not lead answers itself.
var ofItself = []string{"/health", "/ready", "/ping", "/flags", "/version", "/metrics", "/metrics/snapshot"}

// standby is a cluster that nothing is known of.
type standby struct{}

func (standby) State() *master.State { return &master.State{} }

// NewFollower answers for a master that does not lead. It speaks for itself at
// /health, /flags, /version, /metrics and their kind; /ready says 503. Everything
// else is sent to the leader with 307, whose URL without a path leader returns; ""
// while there is none, and then the answer is 503 with Retry-After.
func NewFollower(leader func() string, o Options) *Handler {
	o.Ready = func() error { return notLeading{leader()} }
	h := New(standby{}, o)
	own := h.Handler
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/master"), "/")
		if slices.Contains(ofItself, strings.TrimSuffix(path, ".json")) {
			own.ServeHTTP(w, r)
			return
		}
		url := leader()
		if url == "" {
			w.Header().Set("Retry-After", "1")
			RefuseEarly(w, r, http.StatusServiceUnavailable, "No leader elected")
			return
		}
		if path != "/redirect" {
			url += r.URL.RequestURI()
		}
		w.Header().Set("Location", url)
		RefuseEarly(w, r, http.StatusTemporaryRedirect, "The leader is "+leader())
	})
	return h
}

// notLeading is why a follower is not to be asked.
type notLeading struct{ leader string }

func (n notLeading) Error() string {
	if n.leader == "" {
		return "this master does not lead, and no other does"
	}
	return "this master does not lead: " + n.leader + " does"
}
