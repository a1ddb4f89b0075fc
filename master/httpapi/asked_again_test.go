package httpapi_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
)

func TestWhoHasAnAnswerIsNotSentItAgain(t *testing.T) {
	h := httpapi.New(still{fullCluster(t)}, options)
	first := send(h, http.MethodGet, "/state")
	tag := first.Header().Get("ETag")
	for _, none := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := send(h, method, "/master/state.json", "If-None-Match", none)
			if w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s %s: %d, %d bytes, tag %s", method, none, w.Code, w.Body.Len(), w.Header().Get("ETag"))
			}
		}
		if w := send(h, http.MethodPost, "/state", "If-None-Match", none); w.Code != http.StatusOK || w.Body.String() != first.Body.String() {
			t.Errorf("POST %s: %d", none, w.Code)
		}
	}
	if w := send(h, http.MethodGet, "/state", "If-None-Match", `"x"`); w.Code != http.StatusOK {
		t.Errorf("who has another: %d", w.Code)
	}
}

func TestWhatLooksDifferentHasAnotherTag(t *testing.T) {
	changed := func(change func(*master.State)) http.Handler {
		s := fullCluster(t)
		change(s)
		return httpapi.New(still{s}, options)
	}
	h := changed(func(*master.State) {})
	tags := map[string]string{}
	for what, tag := range map[string]string{
		"the answer":     send(h, http.MethodGet, "/state").Header().Get("ETag"),
		"packed":         send(h, http.MethodGet, "/state", "Accept-Encoding", "gzip").Header().Get("ETag"),
		"a script":       send(h, http.MethodGet, "/state?jsonp=f").Header().Get("ETag"),
		"another script": send(h, http.MethodGet, "/state?jsonp=g").Header().Get("ETag"),
		"a view":         askAs(h, "/state", httpapi.View{Roles: []string{"web"}}).Header().Get("ETag"),
		"no roles":       askAs(h, "/state", httpapi.View{Roles: []string{}}).Header().Get("ETag"),
		"another path":   send(h, http.MethodGet, "/slaves").Header().Get("ETag"),
		"a parameter":    send(h, http.MethodGet, "/slaves?slave_id=m1-S1").Header().Get("ETag"),
		"later":          send(changed(func(s *master.State) { s.Version++ }), http.MethodGet, "/state").Header().Get("ETag"),
		"another master": send(changed(func(s *master.State) { s.Master.ID = "m2" }), http.MethodGet, "/state").Header().Get("ETag"),
		"another start":  send(changed(func(s *master.State) { s.Started = at(1) }), http.MethodGet, "/state").Header().Get("ETag"),
	} {
		if other, is := tags[tag]; is || tag == "" {
			t.Errorf("%s has the tag %s of %q", what, tag, other)
		}
		tags[tag] = what
	}
}

func TestAParameterCannotPassForAnother(t *testing.T) {
	h := httpapi.New(still{fullCluster(t)}, options)
	odd := send(h, http.MethodGet, "/tasks?framework_id=f1%00task_id=t1").Body.String()
	if got := send(h, http.MethodGet, "/tasks?framework_id=f1&task_id=t1").Body.String(); got == odd {
		t.Errorf("both are answered with %s", got)
	}
}

func TestAnswersThatAreFoundAreCounted(t *testing.T) {
	source := &moving{state: newMaster()}
	h := httpapi.New(source, options)
	for range 3 {
		send(h, http.MethodGet, "/state")
		send(h, http.MethodGet, "/slaves")
	}
	later := newMaster()
	later.Version++
	source.set(later)
	send(h, http.MethodGet, "/state")
	if got := h.CacheHits(); got != 4 {
		t.Errorf("%d hits, want 4", got)
	}
}

// remembered is how many bytes leaves of tasks and agents remember.
func remembered(s *master.State) (n int) {
	for l := range s.AgentLeaves() {
		n += l.Size()
	}
	for f := range s.Frameworks() {
		for l := range f.TaskLeaves() {
			n += l.Size()
		}
	}
	return n
}

func TestWhatNobodyAsksForIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fullCluster(t)
		h := httpapi.New(still{s}, options)
		for range 2 {
			send(h, http.MethodGet, "/state")
			time.Sleep(4 * time.Minute)
			send(h, http.MethodGet, "/state")
			time.Sleep(4 * time.Minute)
			if remembered(s) == 0 {
				t.Error("is forgotten too early")
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if n := remembered(s); n != 0 {
				t.Errorf("%d bytes are remembered after five minutes", n)
			}
		}
	})
}

func TestAllFrameworksTogetherAreBounded(t *testing.T) {
	var frameworks []*master.Framework
	for _, id := range []string{"f1", "f2", "f3"} {
		frameworks = append(frameworks, master.NewFramework(wire.FrameworkInfo{ID: id}, []*wire.Task{{ID: "t", FrameworkID: id}}, nil, nil, nil))
	}
	s := master.NewState(nil, nil, frameworks, nil)
	o := options
	o.StateCacheBytes = 500 // room for two of them
	h := httpapi.New(still{s}, o)
	for _, f := range frameworks {
		send(h, http.MethodGet, "/frameworks?framework_id="+f.Info.ID)
	}
	if n := remembered(s); n == 0 || n > 500 {
		t.Errorf("%d bytes are remembered, of 500", n)
	}
}

// TestALaterRequestHasADeadlineOfItsOwn asks on a connection for which the deadline of
// the first answer is long over.
func TestALaterRequestHasADeadlineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		server := &http.Server{Handler: httpapi.New(still{fullCluster(t)}, options)}
		l := &oneConn{make(chan net.Conn, 1)}
		l.conns <- far
		go server.Serve(l)
		defer server.Close()
		defer near.Close()
		for path, want := range map[string]int{"/health": 200, "/flags": 200, "/ready": 200, "/nothing": 404, "/state?jsonp=1": 400} {
			if answer, _ := ask(t, near, getState); answer.StatusCode != 200 {
				t.Fatal(answer.Status)
			}
			time.Sleep(time.Minute)
			if answer, _ := ask(t, near, "GET "+path+" HTTP/1.1\r\nHost: m\r\n\r\n"); answer.StatusCode != want {
				t.Errorf("%s: %s", path, answer.Status)
			}
		}
		io.WriteString(near, getState) // and is not read
		synctest.Wait()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if rest, err := io.ReadAll(near); err != nil || len(rest) > 0 {
			t.Errorf("a client that reads nothing for 10 s gets %d bytes, %v; want the end", len(rest), err)
		}
	})
}

// oneConn is a listener of connections that are there.
type oneConn struct{ conns chan net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (l *oneConn) Close() error   { close(l.conns); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
