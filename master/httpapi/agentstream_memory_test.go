package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/httpapi"
)

// A stream that says nothing may cost little more than net/http takes for a
// handler that reads and writes: a master has 100,000 of them.
func TestIdleStreamsTakeLittleMemory(t *testing.T) {
	const streams = 300
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		control.Flush()
		for buf := [1]byte{}; ; {
			if _, err := r.Body.Read(buf[:]); err != nil {
				return
			}
		}
	})
	idleBytes(t, streams, bare) // what the runtime keeps for the next ones
	floor := idleBytes(t, streams, bare)
	ours := idleBytes(t, streams, httpapi.AgentStream(&quiet{}, httpapi.AgentStreamOptions{}))
	t.Logf("%d bytes a stream, %d of a bare handler", ours, floor)
	if ours > floor+8<<10 {
		t.Errorf("an idle stream takes %d bytes, a bare handler %d: the difference may be 8192", ours, floor)
	}
}

// idleBytes is what each of n streams takes, heap and stacks, both ends.
func idleBytes(t *testing.T, n int, h http.Handler) int {
	l := newPipes()
	server := &http.Server{Handler: h}
	go server.Serve(l)
	defer server.Close()
	before := inUse()
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = l.dial(t)
		defer conns[i].Close()
		record := fmt.Appendf(nil, `{"type":"SUBSCRIBE","sequence":1,"subscribe":{"agent_info":{"hostname":"h"},"version":"%0*d"}}`, 4000, i)
		fmt.Fprintf(conns[i], "POST /api/v1/agent HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
		go fmt.Fprintf(conns[i], "%x\r\n%d\n%s\r\n", len(fmt.Sprint(len(record)))+1+len(record), len(record), record)
		response, err := http.ReadResponse(bufio.NewReaderSize(conns[i], 16), nil)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		go drain(conns[i]) // a pipe holds up its writer until all is read
	}
	return int(inUse()-before) / n
}

func drain(conn net.Conn) {
	for buf := [64]byte{}; ; {
		if _, err := conn.Read(buf[:]); err != nil {
			return
		}
	}
}

func inUse() uint64 {
	for range 4 { // stacks shrink by half each time
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// quiet takes everybody, and has nothing further to say.
type quiet struct{ greeted bool }

func (*quiet) Subscribe(_ context.Context, _ *wire.Subscribe, _ string, wake func()) (*quiet, error) {
	wake()
	return &quiet{}, nil
}

func (q *quiet) Next() (wire.Event, bool) {
	first := !q.greeted
	q.greeted = true
	return &wire.Ack{Sequence: 1}, first
}

func (*quiet) Receive(wire.Call) error { return nil }
func (*quiet) Ended() <-chan struct{}  { return nil }
func (*quiet) Close()                  {}

// pipes is a listener without sockets.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(t *testing.T) net.Conn {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
	case <-time.After(time.Minute):
		t.Fatal("nobody accepts")
	}
	return here
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, errors.New("listener is closed")
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }
