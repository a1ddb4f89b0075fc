package agent_test

import (
	"context"
	"errors"

	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// fake is a network with masters, which do what a test tells them.
type fake struct {
	t       *testing.T
	dialled []time.Time // read when the agent has ended

	mu   sync.Mutex
	down bool // connections are refused
	ls   map[string]chan net.Conn
}

func newFake(t *testing.T) *fake { return &fake{t: t, ls: map[string]chan net.Conn{}} }

// serve starts a master at an address. handle may say what it likes as HTTP.
func (f *fake) serve(address string, handle func(w http.ResponseWriter, r *http.Request)) (stop func()) {
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	f.mu.Lock()
	f.ls[address] = l.conns
	f.mu.Unlock()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/agent", handle)
	server := &http.Server{Handler: mux, ErrorLog: log.New(f.t.Output(), "", 0)}
	go server.Serve(l)
	return func() {
		f.mu.Lock()
		delete(f.ls, address)
		f.mu.Unlock()
		server.Close()
	}
}

// streams starts a master that holds streams, one at a time.
func (f *fake) streams(address string, hold func(*stream)) (stop func()) {
	return f.serve(address, func(w http.ResponseWriter, r *http.Request) {
		hold(accept(w, r))
	})
}

func (f *fake) dial(_ context.Context, _, address string) (net.Conn, error) {
	f.mu.Lock()
	f.dialled = append(f.dialled, time.Now())
	conns, ok := f.ls[address]
	ok = ok && !f.down
	f.mu.Unlock()
	if !ok {
		return nil, errors.New("refused")
	}
	here, there := net.Pipe()
	conns <- there
	return here, nil
}

// attempts are the times at which agents connected.
func (f *fake) attempts() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.dialled)
}

func (f *fake) refuse(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, errors.New("closed")
	}
}
func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.UnixAddr{} }

// stream is a master's end, by hand.
type stream struct {
	w        http.ResponseWriter
	r        *http.Request
	encoding wire.Encoding
	calls    *wire.Reader
	out      *wire.Writer
}

func accept(w http.ResponseWriter, r *http.Request) *stream {
	http.NewResponseController(w).EnableFullDuplex()
	encoding, _ := wire.ParseContentType(r.Header.Get("Content-Type"))
	w.Header().Set("Content-Type", encoding.ContentType())
	w.Header().Set("Connection", "close")
	return &stream{w, r, encoding, wire.NewReader(r.Body, 16<<20), wire.NewWriter(w)}
}

// call is the next call of the agent, or nil when it is gone.
func (s *stream) call() wire.Call {
	record, err := s.calls.Next()
	if err != nil {
		return nil
	}
	call, err := wire.DecodeCall(s.encoding, record)
	if err != nil {
		panic(err)
	}
	return call
}

func (s *stream) say(events ...wire.Event) {
	for _, event := range events {
		s.out.Event(s.encoding, event)
		http.NewResponseController(s.w).Flush()
	}
}

// admit takes the SUBSCRIBE and answers it.
func (s *stream) admit() *wire.Subscribe {
	call, _ := s.call().(*wire.Subscribe)
	s.say(&wire.Subscribed{AgentID: "a1", MasterID: "m", Heartbeat: 15 * time.Second, MissesAllowed: 5}, &wire.Ack{Sequence: 1})
	return call
}

// rest reads until the agent is gone.
func (s *stream) rest() (calls []wire.Call) {
	for call := s.call(); call != nil; call = s.call() {
		calls = append(calls, call)
	}
	return calls
}

// agentOf is an agent on the network that knows of master m.
func (f *fake) agent(change func(*agent.Options)) *agent.Agent {
	f.t.Helper()
	o := agent.Options{
		Masters: []string{"http://m:1"},
		Info:    registry.Agent{Hostname: "h"},
		Version: "1",
		Dial:    f.dial,
		Error:   func(err error) { f.t.Log(err) },
		Logger:  slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	a, err := agent.New(o)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// running runs an agent; stop ends it and returns what Run did.
func running(a *agent.Agent) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

func bubble(t *testing.T, test func(t *testing.T, f *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFake(t)) })
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
