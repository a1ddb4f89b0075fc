package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/httpapi"
)

// largeSubscribe has a little more than n bytes.
func largeSubscribe(n int) string {
	return strings.Replace(subscribe, `"version":"1"`, `"version":"`+strings.Repeat("1", n)+`"`, 1)
}

func largeUpdate(n int) string {
	return `{"type":"UPDATE","sequence":2,"update":{"x":"` + strings.Repeat("1", n) + `"}}`
}

// opening opens a stream while the test goes on.
func opening(t *testing.T, conn net.Conn, data string) <-chan *dialogue {
	opened := make(chan *dialogue, 1)
	go func() { opened <- open(t, conn, asJSON, data) }()
	synctest.Wait()
	return opened
}

// Three records of 90 kB in room for one: of which one comes, one is being handed
// to the master, and one waits; what is small does not.
func TestLargeRecordsWaitForRoom(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{MaxDecoding: 100_000}, func(t *testing.T, f *fake, dial func() net.Conn) {
		large := frame(largeSubscribe(90_000))
		conn := dial()
		first := opening(t, conn, chunk(large[:50_000]))
		f.hold = make(chan struct{}) // of the master
		second := opening(t, dial(), chunk(large))
		want(t, "second is handed on while the first is read", f.asked(), 0)

		go io.WriteString(conn, chunk(large[50_000:]))
		synctest.Wait()
		want(t, "the first is handed on", f.asked(), 1)
		small := opening(t, dial(), chunk(frame(subscribe)))
		want(t, "what is small is handed on", f.asked(), 2)

		f.hold <- struct{}{}
		synctest.Wait()
		if f.asked() == 2 {
			f.hold <- struct{}{} // the small one was first
			synctest.Wait()
		}
		want(t, "the second is handed on after the first", f.asked(), 3)
		close(f.hold)
		for _, d := range []<-chan *dialogue{first, second, small} {
			want(t, "status", (<-d).answer.StatusCode, http.StatusOK)
		}
	})
}

// Who keeps the server waiting for a record can be sent away for others, but not
// who waits for the server.
func TestWhoWaitsForRoomKeepsHisPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := newFake(), newPipes()
		f.hold = make(chan struct{})
		quiet := slog.New(slog.DiscardHandler)
		server := httpapi.NewServer(httpapi.AgentStream(f, httpapi.AgentStreamOptions{MaxDecoding: 100_000, Logger: quiet}),
			httpapi.ServerOptions{MaxConnections: 1, Patience: time.Second, Logger: quiet})
		go server.Serve(l)
		defer server.Close()
		large := frame(largeSubscribe(90_000))
		half := l.dial(t)
		go io.WriteString(half, "POST /api/v1/agent HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n"+asJSON+"\r\n"+chunk(large[:80_000]))
		time.Sleep(time.Second)
		first := opening(t, l.dial(t), chunk(large))
		if b, err := io.ReadAll(half); len(b) > 0 || err != nil {
			t.Errorf("half a record: %q, %v; want the end", b, err)
		}
		want(t, "handed on", f.asked(), 1)
		second := opening(t, l.dial(t), chunk(large))
		want(t, "handed on while the first is", f.asked(), 1)
		time.Sleep(time.Second)
		if b, err := io.ReadAll(l.dial(t)); len(b) > 0 || err != nil {
			t.Errorf("the next: %q, %v; want the end", b, err)
		}
		close(f.hold)
		for _, d := range []<-chan *dialogue{first, second} {
			d := <-d
			want(t, "status", d.answer.StatusCode, http.StatusOK)
			d.conn.Close()
		}
	})
}

func TestLargeRecordsWithoutRoomComeAgainLater(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{MaxDecoding: 100_000}, func(t *testing.T, f *fake, dial func() net.Conn) {
		small := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", small.hear(), subscribed)
		f.hold = make(chan struct{})
		first := opening(t, dial(), chunk(frame(largeSubscribe(200_000)))) // has the room for itself
		start := time.Now()
		go small.send(largeUpdate(70_000))

		late := open(t, dial(), asJSON, chunk(frame(largeSubscribe(70_000))))
		want(t, "time", time.Since(start), 30*time.Second)
		want(t, "status", late.answer.StatusCode, http.StatusServiceUnavailable)
		want(t, "Retry-After", late.answer.Header.Get("Retry-After"), "5")
		body, _ := io.ReadAll(late.answer.Body)
		want(t, "body", string(body), "the master is receiving as many large records as it takes\n")
		want(t, "event", small.hear(), `{"type":"ERROR","error":{"message":"the master is receiving as many large records as it takes"}}`)
		close(f.hold)
		want(t, "status", (<-first).answer.StatusCode, http.StatusOK)
		again := open(t, dial(), asJSON, chunk(frame(largeSubscribe(90_000))))
		want(t, "status", again.answer.StatusCode, http.StatusOK)
	})
}

// Whoever has room must use it, or give it back.
func TestLargeRecordsThatDoNotComeEndTheirStream(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{MaxDecoding: 100_000}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", d.hear(), subscribed)
		d.send(largeUpdate(90_000))
		synctest.Wait()
		want(t, "calls", f.received, []wire.Call{&wire.Update{Sequence: 2}})
		time.Sleep(24 * time.Hour) // of the bubble's clock: a stream may be idle after one, too
		start := time.Now()
		io.WriteString(d.conn, chunk("90000\n{"))
		want(t, "event", d.hear(), `{"type":"ERROR","error":{"message":"the record took too long to come"}}`)
		want(t, "time", time.Since(start), 30*time.Second)
		want(t, "event", d.hear(), "EOF")
		again := open(t, dial(), asJSON, chunk(frame(largeSubscribe(90_000))))
		want(t, "status", again.answer.StatusCode, http.StatusOK)
	})
}

func TestRefusedRecordsGiveTheirRoomBack(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{MaxDecoding: 100_000}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", d.hear(), subscribed)
		id := d.answer.Header.Get("Mesos-Stream-Id")
		for name, try := range map[string]func() int{
			"not a record": func() int {
				return open(t, dial(), asJSON, chunk(frame(strings.Repeat("x", 90_000)))).answer.StatusCode
			},
			"not SUBSCRIBE": func() int { return open(t, dial(), asJSON, chunk(frame(largeUpdate(90_000)))).answer.StatusCode },
			"cut": func() int {
				return open(t, dial(), asJSON, chunk("90000\n")+"0\r\n\r\n").answer.StatusCode
			},
			"by itself": func() int {
				status, _ := post(t, dial(), id, chunk(frame(strings.Repeat("x", 90_000)))+"0\r\n\r\n")
				return status
			},
		} {
			want(t, name, try(), http.StatusBadRequest)
		}
		again := open(t, dial(), asJSON, chunk(frame(largeSubscribe(90_000))))
		want(t, "status", again.answer.StatusCode, http.StatusOK)
	})
}

func TestOneRequestAtATimeSendsCallsOfAStream(t *testing.T) {
	served(t, httpapi.AgentStreamOptions{}, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe))+"0\r\n\r\n")
		want(t, "event", d.hear(), subscribed)
		id := d.answer.Header.Get("Mesos-Stream-Id")
		first, conn, start := make(chan string), dial(), time.Now()
		go func() {
			status, body := post(t, conn, id, chunk(frame(`{"type":"HEARTBEAT"}`)))
			first <- fmt.Sprint(status, body)
		}()
		synctest.Wait()
		status, body := post(t, dial(), id, chunk(frame(`{"type":"HEARTBEAT"}`))+"0\r\n\r\n")
		want(t, "meanwhile", fmt.Sprint(status, body), "503Mesos-Stream-Id: another request sends calls of this stream")
		want(t, "the first, which stalls", <-first, "408the record took too long to come")
		want(t, "time", time.Since(start), 30*time.Second)
		status, _ = post(t, dial(), id, chunk(frame(`{"type":"HEARTBEAT"}`))+"0\r\n\r\n")
		want(t, "after it", status, http.StatusAccepted)
	})
}

func TestEventsThatCannotBeSaidAreLogged(t *testing.T) {
	var log bytes.Buffer
	o := httpapi.AgentStreamOptions{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	served(t, o, func(t *testing.T, f *fake, dial func() net.Conn) {
		d := open(t, dial(), asJSON, chunk(frame(subscribe)))
		want(t, "event", d.hear(), subscribed)
		f.say(&wire.Subscribed{AgentID: "a1", Heartbeat: wire.MaxHeartbeat + 1, MissesAllowed: 1})
		const reason = "subscribed.heartbeat_interval_seconds: is 24h0m0.000000001s, want more than 0 and at most 24h0m0s"
		want(t, "event", d.hear(), `{"type":"ERROR","error":{"message":"an event of the master cannot be said: `+reason+`"}}`)
		want(t, "event", d.hear(), "EOF")
		want(t, "log", log.String(), `level=ERROR msg="an event of the master cannot be said, so the agent is cut off" `+
			`agent=a1 address=pipe event=*wire.Subscribed err="`+reason+"\"\n")
	})
}
