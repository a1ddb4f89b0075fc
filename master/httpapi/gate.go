package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// GateOptions tunes a [Gate]. The zero value is right for production.
type GateOptions struct {
	// Realms are those that ask for a password; nil means all of them. The others
	// are open to everybody.
	Realms []Realm
	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
}

// Gate lets those into a realm who have a password for it, by HTTP's basic
// authentication.
//
// Passwords are compared with hashes that are slow to compute, which is done once
// for each that is right. Only some of the cores do it at a time, and few requests
// wait for it; the others are told to come again later, with 503. Those who guess
// keep nobody out who has come in before, and of the others only those at the same
// address: one that has given a wrong password and no right one after it has, for a
// minute, to be content with a quarter of those cores and places.
type Gate struct {
	closed    []Realm
	passwords *passwords
	log       *slog.Logger
	guesses   rate.Sometimes // when the log tells of them
}

// NewGate is a gate for those who have these credentials.
func NewGate(list []Credential, o GateOptions) (*Gate, error) {
	closed := o.Realms
	if closed == nil {
		closed = Realms()
	}
	g := &Gate{closed: closed, passwords: newPasswords(), log: cmp.Or(o.Logger, slog.Default()), guesses: rate.Sometimes{Interval: 10 * time.Second}}
	return g, g.Replace(list)
}

// Replace has others come in from now on. Those whose hash has not changed need
// not be looked at again, and streams that stand are not ended. With an error all
// stays as it was.
func (g *Gate) Replace(list []Credential) error {
	if err := checkCredentials(list); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	if err := g.checkRoles(list); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	g.passwords.replace(list)
	return nil
}

// checkRoles refuses roles that would mean nothing: where nobody is asked who he is,
// everybody sees everything.
func (g *Gate) checkRoles(list []Credential) error {
	if slices.Contains(g.closed, Readonly) {
		return nil
	}
	for i, c := range list {
		if c.Roles != nil {
			return fmt.Errorf("number %d: roles: everybody sees everything while the realm readonly asks for no password: have it ask, or take the roles away", i+1)
		}
	}
	return nil
}

// guard lets requests through to h that may enter the realm. A gate that is nil
// lets everybody through.
func (g *Gate) guard(realm Realm, h http.Handler) http.Handler {
	if g == nil || !slices.Contains(g.closed, realm) {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := g.authenticate(r)
		switch {
		case err == nil && c.enters(realm):
			h.ServeHTTP(w, r.WithContext(withCaller(r.Context(), caller{c.Principal, View{c.Roles}})))
		case err == nil:
			RefuseEarly(w, r, http.StatusForbidden, fmt.Sprintf("%q is not let into the realm %s", c.Principal, realm.name()))
		case errors.Is(err, errBusy):
			w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
			RefuseEarly(w, r, http.StatusServiceUnavailable, err.Error())
		case errors.Is(err, context.Canceled):
			// nobody is there to be told
		default:
			if errors.Is(err, errWrong) {
				g.guesses.Do(func() {
					g.log.Warn("somebody has given a wrong principal or password", "address", r.RemoteAddr, "realm", realm)
				})
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Basic realm="%s", charset="UTF-8"`, realm.name()))
			RefuseEarly(w, r, http.StatusUnauthorized, err.Error())
		}
	})
}

var errNobody = errors.New("say who you are: this needs a principal and its password")

func (g *Gate) authenticate(r *http.Request) (*Credential, error) {
	principal, password, ok := r.BasicAuth()
	if !ok {
		return nil, errNobody
	}
	return g.passwords.verify(r.Context(), origin(r.RemoteAddr), principal, password)
}

// origin is what counts as one address: of IPv6 a network of 64 bits, all of which
// whoever has one of its addresses has.
func origin(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote // of a connection that is not TCP's
	}
	host := at.Addr().Unmap().WithZone("")
	if host.Is4() {
		return host.String()
	}
	return netip.PrefixFrom(host, 64).Masked().String()
}
