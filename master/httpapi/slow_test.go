package httpapi_test

import (
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/master/httpapi"
)

func TestSlowReadersKeepNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options
		o.Flags = maps.Clone(options.Flags)
		o.Flags["long"] = strings.Repeat("x", 1<<20)
		l := &oneConn{make(chan net.Conn, 30)}
		server := &http.Server{Handler: httpapi.New(still{newMaster()}, o)}
		go server.Serve(l)
		defer server.Close()
		for range 20 {
			near, far := net.Pipe()
			defer near.Close()
			l.conns <- far
			io.WriteString(near, getState) // and does not read
		}
		synctest.Wait()
		begun := time.Now()
		near, far := net.Pipe()
		defer near.Close()
		l.conns <- far
		if answer, body := ask(t, near, getState); answer.StatusCode != 200 || len(body) < 1<<20 {
			t.Errorf("%s with %d bytes", answer.Status, len(body))
		}
		if took := time.Since(begun); took >= 10*time.Second {
			t.Errorf("the answer came after %v, when the others were cut off", took)
		}
	})
}

func TestWhoAsksAfterAChangeSeesIt(t *testing.T) {
	source := &moving{state: newMaster()}
	h := httpapi.New(source, options)
	var readers sync.WaitGroup
	for version := range 20 {
		s := fullCluster(t)
		s.Version, s.Elected = uint64(version+10), at(float64(version+1))
		source.set(s)
		want := string(get(t, s, "/state"))
		for range 4 {
			readers.Go(func() {
				if got := send(h, http.MethodGet, "/state").Body.String(); got != want {
					t.Error("is another state")
				}
			})
		}
		readers.Wait()
	}
}
