package httpapi

import (
	"cmp"
	"net"
	"net/http"
	"strconv"

	"github.com/eaba02dc/registrar/master"
)

// health says that the process answers, and nothing more.
func health(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

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
