package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// send asks a handler, with headers given as name and value by turns.
func send(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestEachEndpointHasTheNamesThatClientsAskFor(t *testing.T) {
	h := httpapi.New(still{fullCluster(t)}, options)
	for path, names := range map[string]struct{ master, dotJSON bool }{
		"/state":                 {true, true},
		"/state-summary":         {true, true},
		"/slaves":                {true, true},
		"/frameworks":            {true, true},
		"/tasks":                 {true, true},
		"/roles":                 {true, true},
		"/flags":                 {true, true},
		"/version":               {false, true},
		"/registrar(1)/registry": {false, true},
		"/health":                {true, false},
		"/redirect":              {true, false},
		"/ready":                 {false, false},
	} {
		want := send(h, http.MethodGet, path)
		for name, served := range map[string]bool{
			path: true, "/master" + path: names.master,
			path + ".json": names.dotJSON, "/master" + path + ".json": names.master && names.dotJSON,
		} {
			for _, slash := range []string{"", "/"} {
				got := send(h, http.MethodGet, name+slash)
				switch {
				case !served && got.Code != http.StatusNotFound:
					t.Errorf("GET %s%s: %d, want 404", name, slash, got.Code)
				case served && (got.Code != want.Code || got.Body.String() != want.Body.String()):
					t.Errorf("GET %s%s: %d with %d bytes, want what %s answers: %d with %d bytes",
						name, slash, got.Code, got.Body.Len(), path, want.Code, want.Body.Len())
				}
			}
		}
	}
}

func TestWhatIsNotThereIsA404InPlainText(t *testing.T) {
	h := httpapi.New(still{newMaster()}, httpapi.Options{})
	for _, path := range []string{
		"/", "/master", "/master/", "/stat", "/state/x", "/master/state/x", "/redirect/x", "/state.xml",
		"/master/master/state", "/ready.json", "/api/v1/nothing", "/master/../state", "/..", "/state/..%2f",
		"//state", "/master//state", "/state//", "//", "/./state", "/state/.", "//host/state",
	} {
		w := send(h, http.MethodGet, path)
		if w.Code != http.StatusNotFound || w.Body.String() != "404 Not Found." ||
			w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("GET %s: %d %q as %q", path, w.Code, w.Body, w.Header().Get("Content-Type"))
		}
	}
}

func TestEndpointsOfMesosTakeAnyMethod(t *testing.T) {
	h := httpapi.New(still{newMaster()}, options)
	want := send(h, http.MethodGet, "/state").Body.String()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, "PURGE"} {
		if w := send(h, method, "/state"); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
}

func TestOtherEndpointsNameTheMethodsTheyTake(t *testing.T) {
	h := httpapi.New(still{newMaster()}, options)
	w := send(h, http.MethodPost, "/ready/")
	const body = "Expecting one of { 'GET', 'HEAD' }, but received 'POST'."
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" || w.Body.String() != body {
		t.Errorf("%d, Allow %q, %q", w.Code, w.Header().Get("Allow"), w.Body)
	}
}

func TestHeadHasTheHeadersOfGetAndNoBody(t *testing.T) {
	server := httptest.NewServer(httpapi.New(still{fullCluster(t)}, options))
	defer server.Close()
	for _, path := range []string{"/state", "/version"} {
		get, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(get.Body) // the client asks for gzip, and undoes it
		get.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		head, err := http.Head(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		head.Body.Close()
		if head.StatusCode != http.StatusOK || head.ContentLength != int64(len(body)) ||
			head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d, %d bytes of %q; GET has %d of %q", path, head.StatusCode, head.ContentLength,
				head.Header.Get("Content-Type"), len(body), get.Header.Get("Content-Type"))
		}
	}
}

func TestAnswersAreJSONWithoutACharset(t *testing.T) {
	h := httpapi.New(still{newMaster()}, options)
	for _, path := range []string{"/state", "/version", "/registrar(1)/registry"} {
		if got := send(h, http.MethodGet, path).Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%s is %q", path, got)
		}
	}
}

func TestABrowserMayAskForACallOfItsFunction(t *testing.T) {
	h := httpapi.New(still{newMaster()}, options)
	for _, path := range []string{"/state", "/version", "/registrar(1)/registry", "/master/tasks.json"} {
		plain := send(h, http.MethodGet, path).Body.String()
		for _, name := range []string{"f", "$", "_x1", "jQuery_1.cb", "angular.callbacks._0", "a[12].b"} {
			w := send(h, http.MethodGet, path+"?jsonp="+name)
			if got, want := w.Body.String(), name+"("+plain+")"; w.Code != http.StatusOK || got != want {
				t.Errorf("%s with %s: %d %s, want %s", path, name, w.Code, got, want)
			}
			if got := w.Header().Get("Content-Type"); got != "text/javascript" {
				t.Errorf("%s with %s is %q", path, name, got)
			}
		}
	}
}

func TestNoOtherTextGetsIntoAScript(t *testing.T) {
	h := httpapi.New(still{newMaster()}, options)
	for _, name := range []string{
		"", "1a", "a-b", "a.", ".a", "a..b", "a[b]", "a[]", "alert(1)//", "a%3Bb", "a%20b", "a%0A", "%3Cscript%3E", "a%00", "%C3%A4",
		strings.Repeat("a", 257),
	} {
		w := send(h, http.MethodGet, "/state?jsonp="+name)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "jsonp") ||
			w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%q: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestLongAnswersAreCompressedForThoseWhoWantIt(t *testing.T) {
	h := httpapi.New(still{fullCluster(t)}, options)
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "deflate, gzip;q=0.5": true, "gzip;q=0": false, "br": false, "identity": false, "GZIP": true,
		"gzip; q=0.0, *": false, "x-gzip": true, "br, X-GZIP;q=0.5": true, "x-gzip;q=0": false, "*, x-gzip;q=0": false,
	} {
		plain := send(h, http.MethodGet, "/state").Body.Bytes()
		w := send(h, http.MethodGet, "/state", "Accept-Encoding", accept)
		got := w.Body.Bytes()
		if w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: caches are not told: %v", accept, w.Header())
		}
		if is := w.Header().Get("Content-Encoding") == "gzip"; is != want {
			t.Errorf("%q: compressed is %v, want %v", accept, is, want)
			continue
		}
		if want {
			got = unzip(t, got)
		}
		if !bytes.Equal(got, plain) {
			t.Errorf("%q: says something else", accept)
		}
	}
}

func TestShortAnswersAreNeverCompressed(t *testing.T) {
	state := newMaster()
	for _, c := range []struct {
		size int
		want string
	}{{1023, ""}, {1024, "gzip"}} {
		rest := len(`{"flags":{"f":""}}`)
		h := httpapi.New(still{state}, httpapi.Options{Flags: map[string]string{"f": strings.Repeat("x", c.size-rest)}})
		w := send(h, http.MethodGet, "/flags", "Accept-Encoding", "gzip")
		if got := w.Header().Get("Content-Encoding"); got != c.want {
			t.Errorf("%d bytes: %q, want %q", c.size, got, c.want)
		}
	}
}

func unzip(t rapid.TB, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false) // there is one member
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestReadyTellsWhyItIsNot(t *testing.T) {
	var reason error
	h := httpapi.New(still{newMaster()}, httpapi.Options{Ready: func() error { return reason }})
	if w := send(h, http.MethodGet, "/ready"); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	reason = errors.New("the store has failed")
	w := send(h, http.MethodGet, "/ready")
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != "the store has failed" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if w := send(h, http.MethodGet, "/health"); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("/health: %d %q", w.Code, w.Body)
	}
}

func TestReadySaysThatMarkingIsFrozen(t *testing.T) {
	s := newMaster()
	since := time.Date(2026, 12, 3, 7, 7, 8, 9, time.FixedZone("", 3600))
	s.Frozen = []master.Freeze{
		{Domain: registry.Domain{Region: "eu", Zone: "eu-1"}, Since: since, Waiting: 3}, {Since: since.Add(time.Hour)},
	}
	var reason error
	h := httpapi.New(still{s}, httpapi.Options{Ready: func() error { return reason }})
	w := send(h, http.MethodGet, "/ready")
	const want = "frozen since 2026-12-03T06:07:08Z: too many agents are away, no more are marked unreachable"
	if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %q, %v", w.Code, w.Body, w.Header())
	}
	reason = errors.New("the master is stopping")
	if w := send(h, http.MethodGet, "/ready"); w.Code != http.StatusServiceUnavailable || w.Body.String() != reason.Error() {
		t.Errorf("when it is not ready: %d %q", w.Code, w.Body)
	}
}

// unwell is a disk that is full, of a witness and a checkpoint that are late.
func unwell() registrar.Health {
	return registrar.Health{
		State: registrar.Degraded,
		Reasons: []registrar.Reason{
			{Name: registrar.ReasonDiskFull, Text: "disk is full: 1.0 MiB are free"}, {Name: registrar.ReasonSlow, Text: "it takes 2s"},
		},
		OldestUnsynced: 2 * time.Second, CheckpointAge: time.Minute, CheckpointBehind: 7,
		Storage: store.Condition{Free: 1 << 20, Total: 1 << 30, Failures: 3, WitnessBehind: 1500 * time.Millisecond, UnwitnessedRecords: 4},
	}
}

func TestReadySaysWhatIsNotWell(t *testing.T) {
	s := newMaster()
	o := httpapi.Options{Health: unwell}
	ask := func(accept string) *httptest.ResponseRecorder {
		return send(httpapi.New(still{s}, o), http.MethodGet, "/ready", "Accept", accept)
	}
	const lines = "degraded disk_full: disk is full: 1.0 MiB are free\ndegraded slow: it takes 2s"
	if w := ask("*/*"); w.Code != http.StatusOK || w.Body.String() != lines || w.Header().Get("Vary") != "Accept" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	const rest = `"reasons":[{"name":"disk_full","text":"disk is full: 1.0 MiB are free"},{"name":"slow","text":"it takes 2s"}],` +
		`"oldest_unsynced_seconds":2,"checkpoint_age_seconds":60,"checkpoint_behind_bytes":7,"witness_behind_seconds":1.5,` +
		`"witness_behind_records":4,"background_errors":3,"disk_free_bytes":1048576,"disk_size_bytes":1073741824}` + "\n"
	if w := ask("application/json"); w.Code != http.StatusOK || w.Body.String() != `{"ready":true,"state":"degraded",`+rest || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	since := time.Date(2026, 12, 3, 6, 7, 8, 0, time.UTC)
	s.Frozen = []master.Freeze{{Since: since}}
	if w := ask("text/plain"); w.Body.String() != "frozen since 2026-12-03T06:07:08Z: too many agents are away, no more are marked unreachable\n"+lines {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	o.Ready = func() error { return errors.New("the master is stopping") }
	want := `{"ready":false,"why":"the master is stopping","state":"degraded",` + strings.Replace(rest, `],`, `],"frozen_since":"2026-12-03T06:07:08Z",`, 1)
	if w := ask("application/json"); w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(""); w.Code != http.StatusServiceUnavailable || w.Body.String() != "the master is stopping" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestRedirectNamesTheLeader(t *testing.T) {
	for want, change := range map[string]func(*master.State){
		"//master-1.example:5050": func(*master.State) {},
		"//10.0.0.1:5050":         func(s *master.State) { s.Master.Hostname = "" },
		"//[fd00::1]:5050":        func(s *master.State) { s.Master.Hostname, s.Master.IP = "", "fd00::1" },
	} {
		s := newMaster()
		change(s)
		w := send(httpapi.New(still{s}, options), http.MethodGet, "/master/redirect")
		if got := w.Header().Get("Location"); w.Code != http.StatusTemporaryRedirect || got != want {
			t.Errorf("%d to %q, want %q", w.Code, got, want)
		}
	}
}

func TestAMasterThatDoesNotLeadNamesNoLeader(t *testing.T) {
	s := newMaster()
	s.Elected = time.Time{}
	h := httpapi.New(still{s}, options)
	if w := send(h, http.MethodGet, "/redirect"); w.Code != http.StatusServiceUnavailable || w.Body.String() != "No leader elected" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	state := decode(t, get(t, s, "/state"))
	for _, name := range []string{"leader", "leader_info", "elected_time"} {
		if state.member(name) != nil {
			t.Errorf("has %s", name)
		}
	}
}

func TestARegistryThatCannotBeReadIsLoggedAndNotServed(t *testing.T) {
	s := newMaster()
	s.Registry = damaged(t)
	var log bytes.Buffer
	h := httpapi.New(still{s}, httpapi.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w := send(h, http.MethodGet, "/registrar(1)/registry")
	if w.Code != http.StatusInternalServerError || w.Body.String() != "500 Internal Server Error." {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "cannot answer") || !strings.Contains(log.String(), "a1") {
		t.Errorf("log: %s", log.String())
	}
}

// damaged is a registry with an agent whose bytes are cut short.
func damaged(t *testing.T) *registry.Registry {
	t.Helper()
	d := registry.New().Draft()
	if _, err := d.Try(func(d *registry.Draft) error {
		return d.PutAgent(registry.Agent{ID: "a1", Hostname: "host-with-a-name"}, registry.Status{State: registry.Admitted})
	}); err != nil {
		t.Fatal(err)
	}
	rows := bytes.Replace(d.Rows(), []byte("host-with-a-name"), []byte("host-with-\xff-name"), 1)
	bad := registry.New().Draft()
	if err := bad.Redo(rows, 1); err != nil {
		t.Skipf("damage is found early: %v", err)
	}
	return bad.Freeze()
}
