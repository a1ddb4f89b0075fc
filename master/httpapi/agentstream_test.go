package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

const subscribe = `{"type":"SUBSCRIBE","sequence":1,"subscribe":{"agent_info":{"hostname":"h"},"version":"1"}}`

// fake is a master with one subscription, which is told what to say.
type fake struct {
	refuse error
	hold   chan struct{} // if there is one, Subscribe waits for a token

	mu       sync.Mutex
	wake     func()
	call     *wire.Subscribe
	calls    int // of Subscribe
	address  string
	events   []wire.Event
	received []wire.Call
	bad      error // what Receive returns
	closed   int
	ended    chan struct{}
	came     chan struct{} // a token for each Receive and Close
}

func newFake() *fake { return &fake{ended: make(chan struct{}), came: make(chan struct{}, 100)} }

func (f *fake) Subscribe(_ context.Context, call *wire.Subscribe, address string, wake func()) (*fake, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.mu.Lock()
	f.call, f.address, f.wake = call, address, wake
	f.calls++
	f.mu.Unlock()
	if f.hold != nil {
		<-f.hold
	}
	f.say(&wire.Subscribed{AgentID: "a1", MasterID: "m", Heartbeat: time.Second, MissesAllowed: 5})
	return f, nil
}

// asked is how many agents have asked.
func (f *fake) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fake) say(events ...wire.Event) {
	f.keep(events...)
	f.wake()
}

// keep is say by a master that has not come to wake.
func (f *fake) keep(events ...wire.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, events...)
}

func (f *fake) Next() (wire.Event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) == 0 {
		return nil, false
	}
	event := f.events[0]
	f.events = f.events[1:]
	return event, true
}

func (f *fake) Receive(call wire.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received = append(f.received, call)
	f.came <- struct{}{}
	return f.bad
}

func (f *fake) Ended() <-chan struct{} { return f.ended }

func (f *fake) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	f.came <- struct{}{}
}

func (f *fake) end() {
	close(f.ended)
	f.wake()
}

// dialogue is an agent's end of a stream, by hand.
type dialogue struct {
	t      *testing.T
	conn   net.Conn
	answer *http.Response
	events *wire.Reader
}

func frame(record string) string { return fmt.Sprintf("%d\n%s", len(record), record) }

func chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

// open sends the head of a request and data, which need not be well-formed.
func open(t *testing.T, conn net.Conn, header, data string) *dialogue {
	d := &dialogue{t: t, conn: conn}
	go io.WriteString(conn, "POST /api/v1/agent HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n"+header+"\r\n"+data)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	d.answer, d.events = answer, wire.NewReader(answer.Body, 1<<20)
	return d
}

const asJSON = "Content-Type: application/json\r\n"

func (d *dialogue) send(records ...string) {
	for _, record := range records {
		io.WriteString(d.conn, chunk(frame(record)))
	}
}

// hear takes the next event, as JSON.
func (d *dialogue) hear() string {
	d.t.Helper()
	record, err := d.events.Next()
	if err != nil {
		return err.Error()
	}
	return string(record)
}

const subscribed = `{"type":"SUBSCRIBED","subscribed":{"agent_id":{"value":"a1"},"master_id":"m","heartbeat_interval_seconds":1,"max_missed_heartbeats":5}}`

// served runs a test in a bubble, with a master and a function that connects.
func served(t *testing.T, o httpapi.AgentStreamOptions, test func(t *testing.T, f *fake, dial func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, l := newFake(), newPipes()
		mux := http.NewServeMux()
		mux.Handle("POST /api/v1/agent", httpapi.AgentStream(f, o))
		server := &http.Server{Handler: mux}
		go server.Serve(l)
		var conns []net.Conn
		test(t, f, func() net.Conn {
			conns = append(conns, l.dial(t))
			return conns[len(conns)-1]
		})
		for _, conn := range conns {
			conn.Close()
		}
		server.Close()
	})
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRecordsGoUpAndEventsDown(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "status", d.answer.StatusCode, http.StatusOK)
		want(t, "type", d.answer.Header.Get("Content-Type"), "application/json")
		want(t, "connection is for one stream", d.answer.Close, true)
		want(t, "event", d.hear(), subscribed)
		want(t, "call", f.call.Agent.Hostname, "h")
		want(t, "address", f.address, "pipe")

		d.send(`{"type":"HEARTBEAT"}`, `{"type":"UPDATE","sequence":2,"update":{}}`, `{"type":"NEWER","sequence":3}`)
		synctest.Wait()
		want(t, "calls", f.received, []wire.Call{
			&wire.Heartbeat{}, &wire.Update{Sequence: 2}, &wire.Unknown{Type: "NEWER", Sequence: 3},
		})
		f.say(&wire.Ack{Sequence: 2}, &wire.Heartbeat{})
		want(t, "event", d.hear(), `{"type":"ACK","ack":{"sequence":2}}`)
		want(t, "event", d.hear(), `{"type":"HEARTBEAT"}`)
		f.say(&wire.Ack{Sequence: 3})
		want(t, "event", d.hear(), `{"type":"ACK","ack":{"sequence":3}}`)

		d.conn.Close()
		synctest.Wait()
		want(t, "closed", f.closed, 1)
		f.say(&wire.Heartbeat{}) // as a master that has not noticed does
	})
}

func TestEncodingsAreAnswered(t *testing.T) {
	for header, encoding := range map[string]wire.Encoding{
		"Content-Type: application/json\r\n":                                    wire.JSON,
		"Content-Type: application/json; charset=utf-8\r\nAccept: */*\r\n":      wire.JSON,
		"Content-Type: application/msgpack\r\n":                                 wire.Msgpack,
		"Content-Type: application/json\r\nAccept: application/msgpack\r\n":     wire.Msgpack,
		"Content-Type: application/msgpack\r\nAccept: application/json;q=1\r\n": wire.JSON,
	} {
		served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
			up := wire.JSON
			if strings.Contains(header, "Content-Type: application/msgpack") {
				up = wire.Msgpack
			}
			record, _ := wire.AppendCall(nil, up, &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "h"}, Version: "1"})
			d := open(t, dial(), header, chunk(frame(string(record))))
			want(t, "type", d.answer.Header.Get("Content-Type"), encoding.ContentType())
			event, err := wire.DecodeEvent(encoding, []byte(d.hear()))
			if _, ok := event.(*wire.Subscribed); !ok {
				t.Errorf("%q: event is %v, %v", header, event, err)
			}
		})
	}
}

func TestRefusalsHaveAStatus(t *testing.T) {
	other := `{"type":"HEARTBEAT"}`
	for name, test := range map[string]struct {
		header, data string
		refuse       error
		status       int
		body         string
	}{
		"no type":          {"", "", nil, 415, "Content-Type: want application/json or application/msgpack"},
		"another type":     {"Content-Type: text/plain\r\n", "", nil, 415, "Content-Type: want application/json or application/msgpack"},
		"another accept":   {asJSON + "Accept: text/html\r\n", "", nil, 406, "Accept: want application/json or application/msgpack"},
		"no record":        {asJSON, "0\r\n\r\n", nil, 400, "record: is missing"},
		"part of a record": {asJSON, chunk("10\nabc") + "0\r\n\r\n", nil, 400, "unexpected EOF"},
		"no length":        {asJSON, chunk("{}"), nil, 400, "at byte 0: want a digit of the length of a record, have '{'"},
		"no chunk":         {asJSON, "hello\r\n", nil, 400, "invalid byte in chunk length"},
		"too long":         {asJSON, chunk("1001\n"), nil, 413, "record is longer than allowed: 1001 bytes announced, at most 1000 are taken"},
		"too slow":         {asJSON, chunk("100\n"), nil, 408, "the record took too long to come"},
		"not JSON":         {asJSON, chunk(frame("]")), nil, 400, ""},
		"not SUBSCRIBE":    {asJSON, chunk(frame(other)), nil, 400, "type: is not SUBSCRIBE, which is the first of a stream"},
		"no hostname":      {asJSON, chunk(frame(strings.Replace(subscribe, `"hostname":"h"`, "", 1))), nil, 400, "subscribe.agent_info.hostname: is missing"},

		"invalid":     {asJSON, chunk(frame(subscribe)), fmt.Errorf("admit: %w", &registry.FieldError{Field: "id", Reason: "is bad"}), 400, "admit: id: is bad"},
		"incarnation": {asJSON, chunk(frame(subscribe)), &ops.Error{Op: "readmit", Agent: "a1", Err: ops.ErrIncarnation}, 409, `readmit agent "a1": another incarnation of the agent is admitted`},
		"overloaded":  {asJSON, chunk(frame(subscribe)), fmt.Errorf("%w: full", registrar.ErrOverloaded), 503, "too many operations are waiting: full"},
		"unknown":     {asJSON, chunk(frame(subscribe)), registrar.ErrUnknown, 503, "outcome of the operation is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			served(t, httpapi.AgentStreamOptions{MaxSubscribe: 1000}, func(t *testing.T, f *fake, dial func() net.Conn) {
				f.refuse = test.refuse
				d := open(t, dial(), test.header, test.data)
				want(t, "status", d.answer.StatusCode, test.status)
				body, _ := io.ReadAll(d.answer.Body)
				if test.body != "" {
					want(t, "body", string(body), test.body+"\n")
				}
				retry := ""
				if test.status == 503 {
					retry = "5"
				}
				want(t, "Retry-After", d.answer.Header.Get("Retry-After"), retry)
			})
		})
	}
}

func TestGoneAgentsAreShutDown(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
		f.refuse = &ops.Error{Op: "readmit", Agent: "a1", Err: ops.ErrGone}
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "status", d.answer.StatusCode, http.StatusOK)
		want(t, "event", d.hear(), `{"type":"SHUTDOWN","shutdown":{"reason":"readmit agent \"a1\": agent is gone for good"}}`)
		want(t, "event", d.hear(), "EOF")
	})
}

func TestBadRecordsEndTheStream(t *testing.T) {
	for data, message := range map[string]string{
		chunk(frame(`{"type":"UPDATE","sequence":2,"update":{"tasks":[{}]}}`)): "update.tasks[0].name: is missing",
		chunk(frame(subscribe)): "type: is SUBSCRIBE, which only the first of a stream may be",
		chunk("1001\n"):         "record is longer than allowed: 1001 bytes announced, at most 1000 are taken",
		chunk("x"):              "at byte 0: want a digit of the length of a record, have 'x'",
	} {
		served(t, httpapi.AgentStreamOptions{MaxRecord: 1000}, func(t *testing.T, f *fake, dial func() net.Conn) {
			d := open(t, dial(), asJSON, chunk(frame(subscribe)))
			want(t, "event", d.hear(), subscribed)
			f.keep(&wire.Ack{Sequence: 1}) // what waits goes first
			io.WriteString(d.conn, data)
			want(t, "event", d.hear(), `{"type":"ACK","ack":{"sequence":1}}`)
			want(t, "event", d.hear(), `{"type":"ERROR","error":{"message":"`+message+`"}}`)
			want(t, "event", d.hear(), "EOF")
			want(t, "closed", f.closed, 1)
			want(t, "calls", f.received, nil)
		})
	}
}

func TestWhatTheMasterRefusesEndsTheStream(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
		f.bad = errors.New("sequence: is 1, want more than 1")
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", d.hear(), subscribed)
		d.send(`{"type":"UNREGISTER","sequence":1}`)
		want(t, "event", d.hear(), `{"type":"ERROR","error":{"message":"sequence: is 1, want more than 1"}}`)
		want(t, "event", d.hear(), "EOF")
		want(t, "closed", f.closed, 1)
	})
}

func TestTheMasterEndsAStream(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*fake)
		hear []string
	}{
		"silently": {(*fake).end, []string{"EOF"}},
		"with the last of its events": {
			func(f *fake) { f.keep(&wire.Ack{Sequence: 1}); f.end() },
			[]string{`{"type":"ACK","ack":{"sequence":1}}`, "EOF"},
		},
		"with a reason": {
			func(f *fake) { f.say(&wire.Shutdown{Reason: "gone"}) },
			[]string{`{"type":"SHUTDOWN","shutdown":{"reason":"gone"}}`, "EOF"},
		},
	} {
		for body, data := range map[string]string{"open": "", "ended": "0\r\n\r\n"} {
			t.Run(name+", body is "+body, func(t *testing.T) {
				served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
					d := open(t, dial(), asJSON, chunk(frame(subscribe))+data)
					want(t, "event", d.hear(), subscribed)
					synctest.Wait()
					test.end(f)
					for _, event := range test.hear {
						want(t, "event", d.hear(), event)
					}
					want(t, "closed", f.closed, 1)
				})
			})
		}
	}
}

// A connection that is closed with something unread in it is reset, which
// destroys what the agent has not read: so the agent goes first, if it does.
func TestTheAgentIsLeftTimeToGoFirst(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", d.hear(), subscribed)
		start := time.Now()
		f.say(&wire.Shutdown{Reason: "gone"})
		d.hear()
		synctest.Wait()
		d.send(`{"type":"HEARTBEAT"}`)
		want(t, "event", d.hear(), "EOF")
		want(t, "time", time.Since(start), time.Second)
		want(t, "calls", f.received, nil)
	})
}

func TestSlowReadersAreCut(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{WriteTimeout: 7 * time.Second}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", d.hear(), subscribed)
		start := time.Now()
		f.say(&wire.Heartbeat{}) // which nobody reads
		for range 2 {            // the token of Close is the only one
			select {
			case <-f.came:
				want(t, "time", time.Since(start), 7*time.Second)
			case <-time.After(time.Hour):
				want(t, "closed", f.closed, 1)
			}
		}
	})
}

func TestIdleStreamsStayForAsLongAsTheMasterLikes(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", d.hear(), subscribed)
		time.Sleep(24 * time.Hour) // of the bubble's clock
		d.send(`{"type":"HEARTBEAT"}`)
		synctest.Wait()
		want(t, "calls", f.received, []wire.Call{&wire.Heartbeat{}})
		f.say(&wire.Heartbeat{})
		want(t, "event", d.hear(), `{"type":"HEARTBEAT"}`)
	})
}

// post makes a call of its own.
func post(t *testing.T, conn net.Conn, id, data string) (int, string) {
	t.Helper()
	d := open(t, conn, asJSON+"Mesos-Stream-Id: "+id+"\r\nConnection: close\r\n", data)
	body, _ := io.ReadAll(d.answer.Body)
	return d.answer.StatusCode, strings.TrimSuffix(string(body), "\n")
}

func TestCallsMayComeByThemselves(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{MaxRecord: 1000}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe))+"0\r\n\r\n")
		want(t, "event", d.hear(), subscribed)
		id := d.answer.Header.Get("Mesos-Stream-Id")

		const unknown = "Mesos-Stream-Id: no stream has this ID: subscribe again"
		for _, test := range []struct {
			id, data string
			status   int
			body     string
		}{
			{id, chunk(frame(`{"type":"HEARTBEAT"}`)+frame(`{"type":"UNREGISTER","sequence":2}`)) + "0\r\n\r\n", 202, ""},
			{id, "0\r\n\r\n", 400, "record: is missing"},
			{id, chunk("1001\n"), 413, "record is longer than allowed: 1001 bytes announced, at most 1000 are taken"},
			{id, chunk("10\n"), 408, "the record took too long to come"},
			{id, chunk(frame(`{"type":"UPDATE","sequence":3}`)) + "0\r\n\r\n", 400, "update: is missing"},
			{id, chunk(frame(subscribe)) + "0\r\n\r\n", 400, "type: is SUBSCRIBE, which only the first of a stream may be"},
			{"", "0\r\n\r\n", 400, unknown},
			{"7", "0\r\n\r\n", 400, unknown},
			{"5f1b2c3d-0000-4000-8000-000000000001", "0\r\n\r\n", 400, unknown},
		} {
			status, body := post(t, dial(), test.id, test.data)
			want(t, test.data, fmt.Sprint(status, body), fmt.Sprint(test.status, test.body))
		}
		want(t, "calls", f.received, []wire.Call{&wire.Heartbeat{}, &wire.Unregister{Sequence: 2}})

		f.say(&wire.Ack{Sequence: 2}) // the stream is still there, downwards
		want(t, "event", d.hear(), `{"type":"ACK","ack":{"sequence":2}}`)
		d.conn.Close()
		synctest.Wait()
		want(t, "closed", f.closed, 1)
		status, body := post(t, dial(), id, "0\r\n\r\n")
		want(t, "after the end", fmt.Sprint(status, body), fmt.Sprint(400, unknown))
	})
}

func TestCallsThatOutliveTheirStreamAreRefused(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		id := d.answer.Header.Get("Mesos-Stream-Id")
		late, conn := make(chan string), dial()
		go func() {
			status, body := post(t, conn, id, chunk(frame(`{"type":"HEARTBEAT"}`)))
			late <- fmt.Sprint(status, body)
		}()
		synctest.Wait()
		d.conn.Close()
		synctest.Wait()
		io.WriteString(conn, chunk(frame(`{"type":"UNREGISTER","sequence":2}`)))
		want(t, "answer", <-late, "400Mesos-Stream-Id: the stream has ended: subscribe again")
		want(t, "calls", f.received, []wire.Call{&wire.Heartbeat{}})
	})
}

func TestStreamsAreCounted(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{MaxStreams: 1}, func(t *testing.T, f *fake, dial func() net.Conn) {
		go io.WriteString(dial(), "POST /api/v1/agent HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n"+asJSON+"\r\n"+chunk(frame(subscribe)[:20]))
		synctest.Wait() // it is none yet
		first := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "status", first.answer.StatusCode, 200)
		second := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "status", second.answer.StatusCode, 503)
		first.conn.Close()
		synctest.Wait()
		third := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "status", third.answer.StatusCode, 200)
	})
}

// HTTP/2 needs no tricks, and one connection carries many streams there.
func TestStreamsGoOverHTTP2(t *testing.T) {
	f := newFake()
	server := httptest.NewUnstartedServer(httpapi.AgentStream(f, httpapi.AgentStreamOptions{}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	up, agent := io.Pipe()
	request, _ := http.NewRequest("POST", server.URL, up)
	request.Header.Set("Content-Type", "application/json")
	go io.WriteString(agent, frame(subscribe))
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "version", answer.ProtoMajor, 2)
	events := wire.NewReader(answer.Body, 1000)
	if event, err := events.Next(); string(event) != subscribed {
		t.Fatalf("event is %s, %v", event, err)
	}
	io.WriteString(agent, frame(`{"type":"HEARTBEAT"}`))
	<-f.came
	f.say(&wire.Shutdown{Reason: "gone"})
	if event, err := events.Next(); !bytes.Contains(event, []byte("SHUTDOWN")) {
		t.Fatalf("event is %s, %v", event, err)
	}
	agent.Close()
	<-f.came
	want(t, "closed", f.closed, 1)
	answer.Body.Close()
}

// Whatever comes, nothing panics, and what was subscribed is closed once.
func FuzzAgentStream(f *testing.F) {
	f.Add(true, []byte(frame(subscribe)+frame(`{"type":"HEARTBEAT"}`)))
	f.Add(false, []byte(frame(subscribe)))
	f.Add(true, []byte("99\n{}"))
	f.Fuzz(func(t *testing.T, json bool, data []byte) {
		m := newFake()
		m.came = make(chan struct{}, len(data)+2)
		close(m.ended)
		r := httptest.NewRequest("POST", "/api/v1/agent", bytes.NewReader(data))
		r.Header.Set("Content-Type", wire.Msgpack.ContentType())
		if json {
			r.Header.Set("Content-Type", wire.JSON.ContentType())
		}
		w := recorder{httptest.NewRecorder()}
		httpapi.AgentStream(m, httpapi.AgentStreamOptions{}).ServeHTTP(w, r)
		if subscribed := m.call != nil; subscribed != (m.closed == 1) || subscribed != (w.Code == 200) {
			t.Errorf("subscribed is %v, closed %d times, status %d", subscribed, m.closed, w.Code)
		}
	})
}

type recorder struct{ *httptest.ResponseRecorder }

func (recorder) EnableFullDuplex() error          { return nil }
func (recorder) SetReadDeadline(time.Time) error  { return nil }
func (recorder) SetWriteDeadline(time.Time) error { return nil }
