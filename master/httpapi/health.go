package httpapi

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/eaba02dc/registrar/master"
)

// health says that the process answers, and nothing more.
func health(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// readiness says whether requests should be sent here. A master that is frozen
// serves as well as before, and only says so: one that clients are sent away from
// could not be asked what is wrong. Everybody may ask, so it does not say where.
func (a *api) readiness(w http.ResponseWriter, _ *http.Request) {
	if err := a.ready(); err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if frozen := a.source.State().Frozen; len(frozen) > 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "frozen since %s: too many agents are away, no more are marked unreachable", frozen[0].Since.UTC().Format(time.RFC3339))
		return
	}
	w.WriteHeader(http.StatusOK)
}

// redirect sends a client to the leader, in the scheme that it came with.
func (a *api) redirect(w http.ResponseWriter, _ *http.Request) {
	s := a.source.State()
	if !leads(s) {
		fail(w, http.StatusServiceUnavailable, "No leader elected")
		return
	}
	m := s.Master
	host := net.JoinHostPort(cmp.Or(m.Hostname, m.IP), strconv.Itoa(int(m.Port)))
	w.Header().Set("Location", "//"+host)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func leads(s *master.State) bool { return !s.Elected.IsZero() }
