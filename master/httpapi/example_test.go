package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

// A master in a program of your own, which agents and clients of Mesos reach as they
// reach that of regtool serve.
func ExampleNewServer() {
	ctx, quiet := context.Background(), slog.New(slog.DiscardHandler)
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{Logger: quiet}) // wal.Open for one that outlives the process
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	m, err := master.Start(ctx, r, master.Options{Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	agents := httpapi.AgentStream(m, httpapi.AgentStreamOptions{Logger: quiet})
	s := httpapi.NewServer(httpapi.New(m, httpapi.Options{Agents: agents, Logger: quiet}), httpapi.ServerOptions{Logger: quiet})
	l, err := net.Listen("tcp", "127.0.0.1:0") // 5050 is the port of Mesos
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	defer func() { s.Close(); <-ended }()

	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + l.Addr().String() + "/tasks")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Println(answer.Status, string(body), err)
	// Output: 200 OK {"tasks":[]} <nil>
}
