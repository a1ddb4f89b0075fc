package httpapi

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// crowd is the connections of a server. Those that are not the stream of an agent
// are bounded, so that no crowd of idle or slow clients takes the files that agents
// need. When there are too many, one that has kept the server waiting for long
// makes room for the next: agents come in, however many others do nothing.
type crowd struct {
	most     int
	patience time.Duration

	mu        sync.Mutex
	inside    int       // connections but for agents' streams; beyond most when streams have ended
	answering int       // of them, those that get an answer which may be long
	waiting   list.List // of guests that the server waits for, from the longest
}

// guest is a connection. A nil guest is one of a server that does not count.
type guest struct {
	net.Conn
	of *crowd

	// The lock of the crowd guards what follows.
	since   time.Time     // waiting
	waiting *list.Element // nil while there is something to do for it
	agent   bool          // it is a stream, and not inside
	gone    bool
}

// hall is a listener whose connections come into a crowd.
type hall struct {
	net.Listener
	crowd *crowd
}

// Accept implements [net.Listener].
func (h *hall) Accept() (net.Conn, error) {
	for {
		conn, err := h.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g := h.crowd.enter(conn); g != nil {
			return g, nil
		}
		conn.Close()
	}
}

// enter makes a connection a guest, in the place of another if need be; nil if no
// other can go.
func (c *crowd) enter(conn net.Conn) *guest {
	c.mu.Lock()
	var last *guest
	if c.inside >= c.most {
		if last = c.longest(); last == nil {
			c.mu.Unlock()
			return nil
		}
		last.leave()
	}
	g := &guest{Conn: conn, of: c}
	c.inside++
	g.wait()
	c.mu.Unlock()
	if last != nil {
		last.Conn.Close()
	}
	return g
}

// longest is who has kept the server waiting for longer than it likes. It needs the
// lock.
//
// Those that came just now stay, and the new one goes: when all agents come at once
// each needs a moment, and none would get through if each made another go.
func (c *crowd) longest() *guest {
	first := c.waiting.Front()
	if first == nil {
		return nil
	}
	if g := first.Value.(*guest); time.Since(g.since) >= c.patience {
		return g
	}
	return nil
}

// wait puts the guest at the end of those that the server waits for. It needs the
// lock.
func (g *guest) wait() {
	g.since = time.Now()
	g.waiting = g.of.waiting.PushBack(g)
}

// stop takes it out from there. It needs the lock.
func (g *guest) stop() {
	if g.waiting != nil {
		g.of.waiting.Remove(g.waiting)
		g.waiting = nil
	}
}

// leave takes note that the connection ends. It needs the lock.
func (g *guest) leave() {
	if g.gone {
		return
	}
	g.gone = true
	g.stop()
	if !g.agent {
		g.of.inside--
	}
}

// waits says that the server waits for the client.
func (g *guest) waits() {
	if g == nil {
		return
	}
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.gone {
		return
	}
	if g.agent {
		g.agent = false
		g.of.inside++
	}
	g.stop()
	g.wait()
}

// works says that the client waits for the server.
func (g *guest) works() {
	if g == nil {
		return
	}
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	g.stop()
}

// joins says that the connection is for a stream, of which the number is bounded
// elsewhere, until it waits again.
func (g *guest) joins() {
	if g == nil {
		return
	}
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.gone || g.agent {
		return
	}
	g.stop()
	g.agent = true
	g.of.inside--
}

// Close implements [net.Conn].
func (g *guest) Close() error {
	g.of.mu.Lock()
	g.leave()
	g.of.mu.Unlock()
	return g.Conn.Close()
}

// CloseWrite lets net/http end a connection without destroying what the client has
// not read yet.
func (g *guest) CloseWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return g.Close()
}

type guestKey struct{}

// withGuest is for [http.Server.ConnContext].
func withGuest(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if g, ok := conn.(*guest); ok {
		return context.WithValue(ctx, guestKey{}, g)
	}
	return ctx
}

func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}

// attended says of each request when it is the server's turn.
func attended(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := guestOf(r.Context())
		g.works()
		defer g.waits()
		h.ServeHTTP(w, r)
	})
}

// answering lets no more than half of the connections wait for answers that may be
// long: a client can be slow to read one, and cannot be told to go meanwhile.
func answering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := guestOf(r.Context())
		if g == nil {
			h.ServeHTTP(w, r)
			return
		}
		if !g.of.begin() {
			w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
			fail(w, http.StatusServiceUnavailable, "too many others are being answered: try again later")
			return
		}
		defer g.of.end()
		h.ServeHTTP(w, r)
	})
}

func (c *crowd) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answering >= max(1, c.most/2) {
		return false
	}
	c.answering++
	return true
}

func (c *crowd) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answering--
}
