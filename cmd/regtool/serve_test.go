package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// storeOnFullDisk is a store that takes no agent.
type storeOnFullDisk struct{ store.Store }

var errFull = errors.New("write /d/000004.log: no space left on device\nand a second line")

func (d storeOnFullDisk) Append(r store.Record) (func() error, error) {
	if r.Seq > 2 { // the first two say that it begins, and who leads
		return nil, errFull
	}
	return d.Store.Append(r)
}

func (d storeOnFullDisk) Close() error { return errors.Join(d.Store.Close(), errFull) }

func TestFailedRegistryIsSaidOnceInOneLineWithWhatToDo(t *testing.T) {
	r, err := registrar.Open(t.Context(), storeOnFullDisk{store.NewMemory()}, registrar.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := master.Start(t.Context(), r, master.Options{PingTimeout: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{flags: &serveFlags{dir: "/d", stopTimeout: 1e9}, log: slog.New(slog.DiscardHandler), door: &door{flags: new(doorFlags)}, registrar: r, master: m}
	s := d.server(new(gate))
	s.Close()
	call := &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "host-1"}}
	if _, err := m.Subscribe(t.Context(), call, "10.0.0.7:5051", func() {}); err == nil {
		t.Error("an agent was registered that cannot be written down")
	}
	err = d.end(s, d.wait(t.Context(), nil, nil))
	want := "the registry in /d cannot be written any more: write /d/000004.log: no space left on device; mend that and start again, " +
		"nothing acknowledged is lost; if it does not open then, regtool check --dir /d says why"
	if err == nil || err.Error() != want {
		t.Errorf("the master ended with\n%v\nwant\n%s", err, want)
	}
}

func TestMasterThatIsToldToStopSaysOnceWhatClosingMet(t *testing.T) {
	r, err := registrar.Open(t.Context(), storeOnFullDisk{store.NewMemory()}, registrar.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := master.Start(t.Context(), r, master.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{flags: &serveFlags{dir: "/d", stopTimeout: 1e9}, log: slog.New(slog.DiscardHandler), door: &door{flags: new(doorFlags)}, registrar: r, master: m}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := d.server(new(gate))
	s.Close()
	if err := d.end(s, d.wait(ctx, nil, nil)); !errors.Is(err, errFull) || strings.Count(err.Error(), errFull.Error()) != 1 {
		t.Errorf("the master ended with %v, want %v once", err, errFull)
	}
}

func TestClientsAreToldToComeAgainWhileTheMasterRecovers(t *testing.T) {
	g := new(gate)
	s := (&daemon{log: slog.New(slog.DiscardHandler), door: &door{flags: new(doorFlags)}}).server(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	defer func() { s.Close(); <-ended }()
	for _, path := range []string{"/health", "/ready", "/state", "/api/v1/agent"} {
		if got := answered(t, l, path); got != "503 after 1: The master is recovering its registry." {
			t.Errorf("%s answers %s", path, got)
		}
	}
	agent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	agent.SetDeadline(time.Now().Add(longest))
	io.WriteString(agent, "POST /api/v1/agent HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n10\r\n") // and the body stays open
	if answer, err := http.ReadResponse(bufio.NewReader(agent), nil); err != nil || answer.StatusCode != 503 || !answer.Close {
		t.Errorf("an agent hears %v, %v", answer, err)
	}
	g.open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "here") }))
	if got := answered(t, l, "/health"); got != "200 after : here" {
		t.Errorf("once it has recovered, /health answers %s", got)
	}
}

func TestMasterThatIsToldToStopWhileItRecoversStopsInGoodOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := call(t, ctx, "serve", "--dir", t.TempDir()+"/registry", "--port", "0", "--max-agents", "1")
	if code != exitFine || stdout != "" || !strings.HasSuffix(stderr, "level=INFO msg=\"told to stop before it had recovered\"\n") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// answered is a status, when to come again, and a body.
func answered(t *testing.T, l net.Listener, path string) string {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := c.Get("http://" + l.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := io.Copy(&body, answer.Body); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d after %s: %s", answer.StatusCode, answer.Header.Get("Retry-After"), &body)
}

func TestMasterSaysOfWhichSourceItWasBuilt(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "c1b42f7"}, {Key: "vcs.time", Value: "2026-11-12T08:00:00Z"}}}
	want := httpapi.Build{Version: "1.12.0", Time: time.Date(2026, 11, 12, 8, 0, 0, 0, time.UTC), GitSHA: "c1b42f7", GitTag: "v0.1.0"}
	if got := mesosBuild(info); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want.GitTag = ""
	for _, untagged := range []string{"(devel)", "", "v0.1.1-0.20261112080000-c1b42f79d2d1", "v0.1.0+dirty"} {
		info.Main.Version = untagged
		if got := mesosBuild(info); got != want {
			t.Errorf("of %q: got %+v, want %+v", untagged, got, want)
		}
	}
}
