package httpapi_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
)

// longest is how long tests wait for what must come; it says nothing about how
// fast that is.
const longest = 30 * time.Second

// site is a server that listens on TCP, with a master behind it.
type site struct {
	t       *testing.T
	address string
	master  *fake
}

// patient is so long that no test sees it end.
const patient = time.Hour

func newSite(t *testing.T, o httpapi.Options, so httpapi.ServerOptions, source httpapi.Source) *site {
	t.Helper()
	s := &site{t: t, master: newFake()}
	quiet := slog.New(slog.DiscardHandler)
	o.Logger, so.Logger = quiet, quiet
	o.Agents = httpapi.AgentStream(s.master, httpapi.AgentStreamOptions{Logger: quiet})
	server := httpapi.NewServer(httpapi.New(source, o), so)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// dial connects, until the end of the test.
func (s *site) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(longest))
	return conn
}

// ask sends text and reads an answer.
func ask(t *testing.T, conn net.Conn, text string) (*http.Response, string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return answerOf(t, conn, text)
}

func answerOf(t *testing.T, conn net.Conn, text string) (*http.Response, string) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.40q: %v", text, err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// ended waits for the end of a connection on which nothing comes.
func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	b, err := io.ReadAll(conn)
	if len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %q, %v; want the end", b, err)
	}
}

const getState = "GET /state HTTP/1.1\r\nHost: m\r\n\r\n"

func TestWhoIsSlowToSayWhatHeWantsIsCutOff(t *testing.T) {
	s := newSite(t, options, httpapi.ServerOptions{HeaderTimeout: 20 * time.Millisecond, IdleTimeout: 20 * time.Millisecond}, still{newMaster()})
	for _, begin := range []string{"", "G", "GET /state HTTP/1.1\r\n", "GET /state HTTP/1.1\r\nHost: m\r\nX-A: b", "POST /api/v1/agent HTTP/1.1\r\n"} {
		conn := s.dial()
		io.WriteString(conn, begin)
		rest, err := io.ReadAll(conn)
		if len(rest) > 0 && !strings.HasPrefix(string(rest), "HTTP/1.1 400 ") || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: %q, %v; want the end", begin, rest, err)
		}
	}
	// Nor does a byte now and then buy more time.
	conn := s.dial()
	io.WriteString(conn, "GET /state HTTP/1.1\r\nX: ")
	drip := time.NewTicker(time.Millisecond)
	defer drip.Stop()
	for end := time.Now().Add(longest); ; {
		<-drip.C
		if _, err := io.WriteString(conn, "x"); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a header that never ends is still read")
		}
	}
	conn = s.dial()
	if answer, _ := ask(t, conn, getState); answer.StatusCode != 200 {
		t.Fatal(answer.Status)
	}
	ended(t, conn)
}

func TestRequestsAreBounded(t *testing.T) {
	o := options
	o.MaxBody, o.BodyTimeout, o.Debug = 100, 50*time.Millisecond, whoAsks
	o.Gate = newGate(t, httpapi.GateOptions{Realms: []httpapi.Realm{httpapi.Agents, httpapi.Readwrite}})
	s := newSite(t, o, httpapi.ServerOptions{MaxHeader: 4096}, still{newMaster()})
	post := func(header, body string) string {
		return "POST /state HTTP/1.1\r\nHost: m\r\n" + header + "\r\n" + body
	}
	const chunked = "Transfer-Encoding: chunked\r\n"
	for name, c := range map[string]struct {
		text   string
		half   bool // the client says that no more comes
		status int
		body   string // "" is not looked at
		stays  bool   // the connection, for another request
	}{
		"a head of 10 KB":               {"GET /state HTTP/1.1\r\nHost: m\r\nX: " + strings.Repeat("x", 10_000) + "\r\n\r\n", false, 431, "", false},
		"a path of 10 KB":               {"GET /" + strings.Repeat("x", 10_000), false, 431, "", false},
		"no HTTP":                       {"\x16\x03\x01\x00\x05hello\r\n\r\n", false, 400, "", false},
		"no host":                       {"GET /state HTTP/1.1\r\n\r\n", false, 400, "", false},
		"two lengths":                   {post("Content-Length: 1\r\nContent-Length: 2\r\n", "ab"), false, 400, "", false},
		"a body":                        {post("Content-Length: 100\r\n", strings.Repeat("x", 100)), false, 200, "", true},
		"a body in chunks":              {post(chunked, chunk(strings.Repeat("x", 100))+"0\r\n\r\n"), false, 200, "", true},
		"one byte more":                 {post("Content-Length: 101\r\n", ""), false, 413, "a body may have 100 bytes here", false},
		"a terabyte":                    {post("Content-Length: 1099511627776\r\n", ""), false, 413, "a body may have 100 bytes here", false},
		"one byte more in chunks":       {post(chunked, chunk(strings.Repeat("x", 101))), false, 413, "a body may have 100 bytes here", false},
		"a slow body":                   {post("Content-Length: 100\r\n", "x"), false, 408, "the body took too long to come", false},
		"slow chunks":                   {post(chunked, "1\r\nx"), false, 408, "the body took too long to come", false},
		"half a body":                   {post("Content-Length: 100\r\n", "x"), true, 400, "the body cannot be read: unexpected EOF", false},
		"half a chunk":                  {post(chunked, "5\r\nx"), true, 400, "the body cannot be read: unexpected EOF", false},
		"no chunk":                      {post(chunked, "xyz\r\n"), false, 400, "the body cannot be read: invalid byte in chunk length", false},
		"a slow body to nowhere":        {strings.Replace(post("Content-Length: 100\r\n", "x"), "/state", "/nothing", 1), false, 408, "", false},
		"another method":                {"POST /ready HTTP/1.1\r\nHost: m\r\nContent-Length: 1\r\n\r\nx", false, 405, "Expecting one of { 'GET', 'HEAD' }, but received 'POST'.", true},
		"nobody with an open body":      {"POST /api/v1/agent HTTP/1.1\r\nHost: m\r\n" + asJSON + chunked + "\r\n" + chunk(frame(subscribe)), false, 401, sayWho, false},
		"nobody with a long body":       {"POST /debug/pprof/symbol HTTP/1.1\r\nHost: m\r\nContent-Length: 1099511627776\r\n\r\n", false, 401, sayWho, false},
		"an open body where nothing is": {"POST /x/../api/v1/agent HTTP/1.1\r\nHost: m\r\n" + chunked + "\r\n" + chunk("1"), false, 404, "404 Not Found.", false},
		"an agent that puts":            {"PUT /api/v1/agent HTTP/1.1\r\nHost: m\r\nAuthorization: " + basic("agent", "other") + "\r\n" + chunked + "\r\n" + chunk("1"), false, 405, "Expecting one of { 'POST' }, but received 'PUT'.", false},
		"an agent that only listens":    {"GET /api/v1/agent HTTP/1.1\r\nHost: m\r\nAuthorization: " + basic("agent", "other") + "\r\n\r\n", false, 405, "Expecting one of { 'POST' }, but received 'GET'.", true},
	} {
		t.Run(name, func(t *testing.T) {
			conn := s.dial()
			io.WriteString(conn, c.text)
			if c.half {
				if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			answer, body := answerOf(t, conn, c.text)
			if answer.StatusCode != c.status || c.body != "" && body != c.body {
				t.Errorf("%s: %s; want %d: %s", answer.Status, body, c.status, c.body)
			}
			if answer.Close == c.stays {
				t.Errorf("connection closes: %v", answer.Close)
			}
			if c.stays {
				if again, _ := ask(t, conn, getState); again.StatusCode != 200 {
					t.Errorf("the next: %s", again.Status)
				}
			}
		})
	}
	if answer, _ := ask(t, s.dial(), "DELETE /ready HTTP/1.1\r\nHost: m\r\n\r\n"); answer.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow: %q", answer.Header.Get("Allow"))
	}
}

// subscribes opens a stream of an agent and hears that it is a member.
func (s *site) subscribes() *dialogue {
	s.t.Helper()
	d := open(s.t, s.dial(), asJSON, chunk(frame(subscribe)))
	want(s.t, "status", d.answer.StatusCode, 200)
	want(s.t, "event", d.hear(), subscribed)
	return d
}

func TestIdleClientsMakeRoomForAgents(t *testing.T) {
	o := options
	o.BodyTimeout = patient
	s := newSite(t, o, httpapi.ServerOptions{MaxConnections: 4, Patience: 1, HeaderTimeout: patient, IdleTimeout: patient}, still{newMaster()})
	var crowd []net.Conn
	idle := func() {
		for n := range 20 {
			conn := s.dial()
			switch n % 5 {
			case 1:
				io.WriteString(conn, "GET /state HTTP/1.1\r\n")
			case 2:
				io.WriteString(conn, "POST /state HTTP/1.1\r\nHost: m\r\nContent-Length: 5\r\n\r\n")
			case 3:
				io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: m\r\n\r\n")
			case 4: // which would be an agent, if it went on
				io.WriteString(conn, "POST /api/v1/agent HTTP/1.1\r\nHost: m\r\n"+asJSON+"Transfer-Encoding: chunked\r\n\r\n"+chunk("1"))
			}
			crowd = append(crowd, conn)
		}
	}
	idle()
	agent := s.subscribes()
	idle()
	ended(t, crowd[0])
	ended(t, crowd[4])
	ended(t, crowd[21])
	s.master.say(&wire.Heartbeat{})
	want(t, "event to the agent", agent.hear(), `{"type":"HEARTBEAT"}`)
	agent.send(`{"type":"HEARTBEAT"}`)
	<-s.master.came
	want(t, "calls of the agent", s.master.received, []wire.Call{&wire.Heartbeat{}})
}

func TestStreamsTakeNobodysPlace(t *testing.T) {
	s := newSite(t, options, httpapi.ServerOptions{MaxConnections: 1, Patience: patient}, still{newMaster()})
	agent := s.subscribes()
	for range 3 {
		conn := s.dial()
		if answer, _ := ask(t, conn, "GET /state HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n"); answer.StatusCode != 200 {
			t.Error(answer.Status)
		}
		ended(t, conn) // its place is free before the end can be seen
	}
	s.master.say(&wire.Heartbeat{})
	want(t, "event to the agent", agent.hear(), `{"type":"HEARTBEAT"}`)
}

// When all agents come at once each needs a moment: who came first is served.
func TestThoseWhoCameJustNowAreNotSentAwayForOthers(t *testing.T) {
	s := newSite(t, options, httpapi.ServerOptions{MaxConnections: 2, Patience: patient}, still{newMaster()})
	first, second := s.dial(), s.dial()
	for range 3 {
		ended(t, s.dial())
	}
	for _, conn := range []net.Conn{first, second} {
		if answer, _ := ask(t, conn, getState); answer.StatusCode != 200 {
			t.Error(answer.Status)
		}
	}
}

// slow is a master whose state takes until it is told.
type slow struct {
	asked chan struct{}
	state chan *master.State
}

func (s slow) State() *master.State {
	s.asked <- struct{}{}
	return <-s.state
}

func TestLongAnswersLeaveRoomForAgents(t *testing.T) {
	source := slow{make(chan struct{}), make(chan *master.State)}
	s := newSite(t, options, httpapi.ServerOptions{MaxConnections: 4, Patience: patient}, source)
	var readers []net.Conn
	for range 2 {
		conn := s.dial()
		io.WriteString(conn, strings.Replace(getState, "/state", "/flags", 1)) // which needs no turn
		<-source.asked
		readers = append(readers, conn)
	}
	answer, body := ask(t, s.dial(), "GET /tasks HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n")
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") != "5" || body != "too many others are being answered: try again later" {
		t.Errorf("%s, Retry-After %q: %s", answer.Status, answer.Header.Get("Retry-After"), body)
	}
	s.subscribes()
	if answer, _ := ask(t, s.dial(), "GET /health HTTP/1.1\r\nHost: m\r\n\r\n"); answer.StatusCode != 200 {
		t.Errorf("/health: %s", answer.Status)
	}
	for _, conn := range readers {
		source.state <- newMaster()
		if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || answer.StatusCode != 200 {
			t.Errorf("a reader: %v, %v", answer, err)
		}
	}
}

// stuck is a master that is slow to take agents in.
type stuck struct{ begun, let chan struct{} }

func (s *stuck) Subscribe(ctx context.Context, call *wire.Subscribe, address string, wake func()) (*fake, error) {
	s.begun <- struct{}{}
	<-s.let
	return newFake().Subscribe(ctx, call, address, wake)
}

func TestAnAgentSubscribesTwiceAtATimeAtMost(t *testing.T) {
	m := &stuck{make(chan struct{}, 10), make(chan struct{})}
	h := httpapi.AgentStream(m, httpapi.AgentStreamOptions{})
	server := httptest.NewServer(h)
	defer server.Close()
	named := func(id string) string {
		return strings.Replace(subscribe, `"hostname"`, fmt.Sprintf(`"id":{"value":%q},"hostname"`, id), 1)
	}
	post := func(record string) (*http.Response, error) {
		return http.Post(server.URL, "application/json", strings.NewReader(frame(record)))
	}
	answers := make(chan int, 10)
	for _, record := range []string{named("a1"), named("a1"), named("a2"), subscribe, subscribe, subscribe} {
		go func() {
			answer, err := post(record)
			if err != nil {
				t.Error(err)
				answers <- 0
				return
			}
			answer.Body.Close()
			answers <- answer.StatusCode
		}()
		<-m.begun
	}
	for _, record := range []string{named("a1"), strings.Replace(named("a1"), `"version"`, `"agent_id":{"value":"a1"},"version"`, 1)} {
		answer, err := post(record)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 503 || answer.Header.Get("Retry-After") != "5" || string(body) != "agent \"a1\" is being subscribed already\n" {
			t.Errorf("the third: %s, %s", answer.Status, body)
		}
	}
	close(m.let)
	for range 6 {
		want(t, "status", <-answers, 200)
	}
	go func() { <-m.begun }()
	answer, err := post(named("a1"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	want(t, "status afterwards", answer.StatusCode, 200)
}

func TestTLSIsForHTTP1AndIsBoundedToo(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	config := certificate.TLS.Clone()
	roots := x509.NewCertPool()
	roots.AddCert(certificate.Certificate())
	certificate.Close()
	config.NextProtos = []string{"http/1.1"}
	s := newSite(t, options, httpapi.ServerOptions{TLS: config, HeaderTimeout: 50 * time.Millisecond, MaxConnections: 2, Patience: 1}, still{newMaster()})

	ended(t, s.dial()) // no handshake comes
	idle := []net.Conn{s.dial(), s.dial()}
	client := tls.Client(s.dial(), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"h2", "http/1.1"}})
	d := open(t, client, asJSON, chunk(frame(subscribe)))
	want(t, "protocol", client.ConnectionState().NegotiatedProtocol, "http/1.1")
	want(t, "event", d.hear(), subscribed)
	for range 3 { // the stream is in nobody's way
		s.dial()
	}
	ended(t, idle[0])
	s.master.say(&wire.Heartbeat{})
	want(t, "event to the agent", d.hear(), `{"type":"HEARTBEAT"}`)

	if answer, _ := ask(t, s.dial(), getState); answer.StatusCode != 400 {
		t.Errorf("without TLS: %s", answer.Status)
	}
}
