package httpapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServerOptions bounds what clients may take of a [Server]. The zero value is right
// for production.
type ServerOptions struct {
	// MaxConnections is how many connections there may be beside the streams of
	// agents; 0 means 5000. Beyond them a new one takes the place of one that has
	// kept the server waiting for longer than Patience; if there is none it is
	// closed at once.
	MaxConnections int
	// Patience is how long a client may say nothing when others want its place; 0
	// means 2 s.
	Patience time.Duration
	// MaxHeader is the most bytes of the head of a request; 0 means 64 KiB.
	MaxHeader int
	// HeaderTimeout is how long a TLS handshake, and how long a head may take; 0
	// means 10 s.
	HeaderTimeout time.Duration
	// IdleTimeout is how long a connection may stay without a request; 0 means
	// 2 min.
	IdleTimeout time.Duration
	// TLS encrypts connections; nil means that they are not. It must not offer
	// HTTP/2.
	TLS *tls.Config
	// Logger receives what clients do wrong, at debug level; nil means
	// [slog.Default].
	Logger *slog.Logger
}

func (o ServerOptions) withDefaults() ServerOptions {
	o.MaxConnections = cmp.Or(o.MaxConnections, 5000)
	o.Patience = cmp.Or(o.Patience, 2*time.Second)
	o.MaxHeader = cmp.Or(o.MaxHeader, 64<<10)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 10*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

// Server serves HTTP to a crowd that may mean no good. It does what an
// [http.Server] does, and keeps room for agents.
//
// It speaks HTTP/1.1 only: a connection is a client, so that what bounds
// connections bounds clients, and no stream of an agent waits for that of another.
type Server struct {
	http  http.Server
	tls   *tls.Config
	crowd crowd
}

// NewServer is a server of what [New] returns.
func NewServer(h http.Handler, o ServerOptions) *Server {
	o = o.withDefaults()
	s := &Server{tls: o.TLS, crowd: crowd{most: o.MaxConnections, patience: o.Patience}}
	s.http = http.Server{
		Handler:           attended(h),
		ConnContext:       withGuest,
		MaxHeaderBytes:    o.MaxHeader,
		ReadHeaderTimeout: o.HeaderTimeout,
		IdleTimeout:       o.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		Protocols:         new(http.Protocols),
	}
	s.http.Protocols.SetHTTP1(true)
	return s
}

// Serve serves the connections of a listener until the server is shut down, which
// is [http.ErrServerClosed].
func (s *Server) Serve(l net.Listener) error {
	l = &hall{l, &s.crowd}
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	return s.http.Serve(l)
}

// Shutdown lets no more come in, and waits until the context ends for requests
// under way.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Close ends all connections at once.
func (s *Server) Close() error { return s.http.Close() }
