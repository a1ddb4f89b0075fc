package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// podSite is a master that serves over TCP.
type podSite struct {
	*testing.T
	*site
	memory *store.Memory
	r      *registrar.Registrar
	m      *master.Master
	stop   func()
	agent  *master.Stream
	told   chan struct{} // that there is something for the agent
	last   uint64        // that the agent has said
}

func newPodSite(t *testing.T, memory *store.Memory, o httpapi.Options) *podSite {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	r, err := registrar.Open(t.Context(), memory, registrar.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	m, err := master.Start(t.Context(), r, master.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	p := &podSite{T: t, memory: memory, r: r, m: m, told: make(chan struct{}, 1)}
	p.stop = func() { m.Close(); r.Close() }
	t.Cleanup(func() { p.stop() })
	o.Pods = m
	p.site = newSite(t, o, httpapi.ServerOptions{}, m)
	return p
}

// answered is what came back.
type answered struct {
	status int
	header http.Header
	body   string
}

// asks sends a request, as JSON if it has a body; header are names and values.
func (p *podSite) asks(method, path, body string, header ...string) answered {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, "http://"+p.address+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, ExpectContinueTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		p.Fatal(err)
	}
	return answered{a.StatusCode, a.Header, string(text)}
}

// wants asks, and compares status and body.
func (p *podSite) wants(method, path, body string, status int, want string, header ...string) answered {
	p.Helper()
	a := p.asks(method, path, body, header...)
	if a.status != status || a.body != want {
		p.Errorf("%s %s: got %d %s\nwant %d %s", method, path, a.status, a.body, status, want)
	}
	return a
}

// runs has an agent say what tasks it has now, and waits until that is seen.
func (p *podSite) runs(tasks ...wire.Task) {
	p.Helper()
	p.last++
	if p.agent == nil {
		s, err := p.m.Subscribe(p.Context(), &wire.Subscribe{Sequence: p.last, Agent: registry.Agent{Hostname: "host-1"}, Tasks: tasks}, "127.0.0.1:1", func() {
			select {
			case p.told <- struct{}{}:
			default:
			}
		})
		if err != nil {
			p.Fatal(err)
		}
		p.agent = s
	} else if err := p.agent.Receive(&wire.Update{Sequence: p.last, Tasks: tasks}); err != nil {
		p.Fatal(err)
	}
	for {
		e, ok := p.agent.Next()
		if ack, is := e.(*wire.Ack); is && ack.Sequence == p.last {
			return
		}
		if !ok {
			<-p.told
		}
	}
}

func definition(id, more string) string {
	return fmt.Sprintf(`{"id":%q,"containers":[{"name":"a","resources":{"cpus":0.1,"mem":32}}]%s}`, id, more)
}

func ofPod(id, instance string, s wire.TaskState) wire.Task {
	safe := pod.SafePath(id)
	return wire.Task{ID: safe + ".instance-" + instance + ".a.1", ExecutorID: "instance-" + safe + "." + instance, FrameworkID: "f1", Name: "a", State: s,
		Statuses: []wire.TaskStatus{{State: s, Timestamp: 1_700_000_000.25}}}
}

const noStore = "no-cache, no-store, must-revalidate"

func TestPodsAreDefinedReadAndRemovedOverHTTP(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	p.wants("GET", "/v2/pods", "", 200, "[]")
	p.wants("GET", "/v2/pods/::status", "", 200, "[]")
	p.wants("HEAD", "/v2/pods", "", 200, "")

	made := p.asks("POST", "/v2/pods", definition("web/front", ""))
	kept, _ := p.m.State().Pod("/web/front")
	if made.status != 201 || made.body != string(kept.Definition.JSON()) || made.header.Get("Location") != "/web/front" ||
		made.header.Get("Marathon-Deployment-Id") == "" || made.header.Get("Cache-Control") != noStore || made.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %+v", made)
	}
	for _, path := range []string{"/v2/pods/web/front", "/v2/pods//web/front", "/v2/pods/%2Fweb%2Ffront", "/v2/pods/web/front?force=true"} {
		p.wants("GET", path, "", 200, made.body)
	}
	p.wants("GET", "/v2/pods", "", 200, "["+made.body+"]")
	p.wants("GET", "/v2/pods/", "", 200, "["+made.body+"]")
	for _, path := range []string{"/v2/pods/web/front::status", "/v2/pods//web/front::status"} {
		p.wants("GET", path, "", 200, string(kept.JSON()))
	}
	p.wants("GET", "/v2/pods/::status", "", 200, "["+string(kept.JSON())+"]")
	p.wants("GET", "/v2/pods::status", "", 404, `{"message":"URI not found"}`)

	version := pod.FormatTime(kept.Definition.Version.Time)
	p.wants("GET", "/v2/pods/web/front::versions", "", 200, `["`+version+`"]`)
	p.wants("GET", "/v2/pods/web/front::versions/"+version, "", 200, made.body)
	p.wants("GET", "/v2/pods/web/front::versions/2001-01-01T00:00:00Z", "", 404,
		`{"message":"Pod '/web/front' does not exist in version 2001-01-01T00:00:00.000Z: only the current one is kept, `+version+`"}`)
	p.wants("GET", "/v2/pods/web/front::versions/yesterday", "", 422, `{"message":"version \"yesterday\" is not a time as 2006-01-02T15:04:05.000Z"}`)

	put := p.asks("PUT", "/v2/pods/web/front?force=false", definition("/web/front", `,"scaling":{"kind":"fixed","instances":0}`))
	if put.status != 200 || !strings.Contains(put.body, `"instances":0`) || put.header.Get("Marathon-Deployment-Id") == "" || put.header.Get("Location") != "" {
		t.Errorf("got %+v", put)
	}
	if s := p.asks("GET", "/v2/pods/web/front::status", ""); !strings.Contains(s.body, `"status":"STABLE"`) {
		t.Errorf("got %s", s.body)
	}
	upserted := p.asks("PUT", "/v2/pods/db", definition("db", ""))
	p.wants("GET", "/v2/pods/db", "", 200, upserted.body)

	gone := p.wants("DELETE", "/v2/pods/web/front?force=true", "", 202, "")
	if id := gone.header.Get("Marathon-Deployment-Id"); id == "" || gone.header.Get("Location") != id || gone.header.Get("Cache-Control") != noStore {
		t.Errorf("got %v", gone.header)
	}
	p.wants("DELETE", "/v2/pods/web/front", "", 404, `{"message":"Pod '/web/front' does not exist"}`)
	p.wants("GET", "/v2/pods/web/front", "", 404, `{"message":"Pod '/web/front' does not exist"}`)
	p.wants("GET", "/v2/pods/web/front::status", "", 404, `{"message":"Pod '/web/front' does not exist"}`)
	p.wants("GET", "/v2/pods/web/front::versions", "", 404, `{"message":"Pod '/web/front' does not exist"}`)
}

func TestWhatIsWrongWithAPodIsSaidAsMarathonDoes(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	p.asks("POST", "/v2/pods", definition("/web", ""))
	for _, row := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v2/pods", definition("/web", ""), 409, `{"message":"A pod with id [/web] already exists."}`},
		{"POST", "/v2/pods", `{"id"`, 400, `{"message":"Invalid JSON","details":"unexpected EOF within \"/id\" after offset 5"}`},
		{"POST", "/v2/pods", `{"id":1}`, 400, `{"message":"Invalid JSON","details":[{"path":"/id","errors":["is not a string"]}]}`},
		{"POST", "/v2/pods", `{"id":"/db","containers":[]}`, 422, `{"message":"Object is not valid","details":[{"path":"/containers","errors":["must not be empty"]}]}`},
		{"PUT", "/v2/pods/web", definition("/db", ""), 400, `{"message":"'/web' does not match the id of the pod in the body, '/db'"}`},
		{"PUT", "/v2/pods/W", definition("/db", ""), 422, `{"message":"Object is not valid","details":[{"path":"/id","errors":["must consist of lower case letters, digits, hyphens and dots between slashes, and \"W\" does not"]}]}`},
		{"GET", "/v2/pods/W::status", "", 422, `{"message":"Object is not valid","details":[{"path":"/id","errors":["must consist of lower case letters, digits, hyphens and dots between slashes, and \"W\" does not"]}]}`},
		{"DELETE", "/v2/pods/..", "", 422, `{"message":"Object is not valid","details":[{"path":"/id","errors":["must be a path that is not the root"]}]}`},
		{"GET", "/v2/apps", "", 404, `{"message":"URI not found"}`},
		{"GET", "/v2/", "", 404, `{"message":"URI not found"}`},
		{"GET", "/v2/podsx", "", 404, `{"message":"URI not found"}`},
		{"GET", "/v2/pods/web::what", "", 404, `{"message":"URI not found"}`},
		{"DELETE", "/v2/pods/web::instances", "", 404, `{"message":"URI not found"}`},
		{"PUT", "/v2/pods", definition("/web", ""), 405, `{"message":"PUT is not for this path"}`},
		{"POST", "/v2/pods/web", definition("/web", ""), 405, `{"message":"POST is not for this path"}`},
		{"DELETE", "/v2/pods/web::status", "", 405, `{"message":"DELETE is not for this path"}`},
		{"OPTIONS", "/v2/pods", "", 405, `{"message":"OPTIONS is not for this path"}`},
	} {
		a := p.wants(row.method, row.path, row.body, row.status, row.want)
		if a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: it is %s", row.method, row.path, a.header.Get("Content-Type"))
		}
	}
	// It is refused before it is read: a client that sends it all the same may see
	// the connection end before the answer, so this one asks first.
	p.wants("POST", "/v2/pods", strings.Repeat(" ", pod.MaxDefinition+1), 413, `{"message":"a body may have 262144 bytes here"}`, "Expect", "100-continue")
	p.wants("POST", "/v2/pods", definition("/db", ""), 415, `{"message":"Content-Type: want application/json"}`, "Content-Type", "text/plain")
	if a := p.asks("PUT", "/v2/pods", "{}"); a.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("it allows %s", a.header.Get("Allow"))
	}
}

func TestPodsThatNobodyMayDefineAreRead(t *testing.T) {
	s := newSite(t, httpapi.Options{}, httpapi.ServerOptions{}, still{newMaster()})
	p := &podSite{T: t, site: s}
	p.wants("GET", "/v2/pods", "", 200, "[]")
	if a := p.wants("POST", "/v2/pods", definition("/web", ""), 405, `{"message":"POST is not for this path"}`); a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("it allows %s", a.header.Get("Allow"))
	}
}

func TestClientsOfMarathonFindWhatElseTheyAskFor(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	p.wants("GET", "/ping", "", 200, "pong")
	p.wants("GET", "/v2/queue", "", 200, `{"queue":[]}`)
	p.wants("GET", "/v2/queue/", "", 200, `{"queue":[]}`)
	p.wants("HEAD", "/v2/queue", "", 200, "")
}

func TestDefinitionsSurviveARestart(t *testing.T) {
	memory := store.NewMemory()
	first := newPodSite(t, memory, httpapi.Options{})
	first.asks("POST", "/v2/pods", definition("/web", ""))
	first.asks("POST", "/v2/pods", definition("/db", ""))
	first.asks("DELETE", "/v2/pods/db", "")
	list := first.asks("GET", "/v2/pods", "")
	first.stop()
	second := newPodSite(t, memory.Reopen(), httpapi.Options{})
	again := second.wants("GET", "/v2/pods", "", 200, list.body)
	if again.header.Get("ETag") == list.header.Get("ETag") {
		t.Error("two masters have one ETag")
	}
}

func TestAStatusIsOfTheInstancesThatAgentsReport(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	p.asks("POST", "/v2/pods", definition("/web", ""))
	p.runs(ofPod("/web", "1", wire.TaskRunning), wire.Task{ID: "t", FrameworkID: "f1", Name: "t", State: wire.TaskRunning})
	a := p.asks("GET", "/v2/pods/web::status", "")
	for _, want := range []string{`"status":"STABLE","statusSince":"2023-11-14T22:13:20.250Z","instances":[{"id":"web.instance-1","status":"STABLE"`, `"agentHostname":"host-1"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("got %s\nwant %s in it", a.body, want)
		}
	}
}

func TestAnswersAboutPodsAreAskedForAgainByTheirTag(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	p.asks("POST", "/v2/pods", definition("/web", ""))
	p.asks("POST", "/v2/pods", definition("/db", ""))
	paths := []string{"/v2/pods/::status", "/v2/pods", "/v2/pods/web::status", "/v2/pods/web"}
	before := map[string]answered{}
	for _, path := range paths {
		a := p.asks("GET", path, "")
		before[path] = a
		if a.header.Get("Cache-Control") != "private, no-cache" || a.header.Get("ETag") == "" || a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("%s: got %v", path, a.header)
		}
		p.wants("GET", path, "", 304, "", "If-None-Match", a.header.Get("ETag"))
		h := p.wants("HEAD", path, "", 200, "")
		if h.header.Get("ETag") != a.header.Get("ETag") || h.header.Get("Content-Length") != a.header.Get("Content-Length") {
			t.Errorf("%s: HEAD has %v, GET %v", path, h.header, a.header)
		}
	}
	same := func(path string, is bool) {
		t.Helper()
		if got := p.asks("GET", path, "", "If-None-Match", before[path].header.Get("ETag")); (got.status == 304) != is {
			t.Errorf("%s: got %d", path, got.status)
		}
	}
	p.runs(wire.Task{ID: "t", FrameworkID: "f1", Name: "t", State: wire.TaskRunning}) // no pod's
	for _, path := range paths {
		same(path, true)
	}
	p.runs(ofPod("/db", "1", wire.TaskRunning))
	same("/v2/pods/::status", false)
	same("/v2/pods/web::status", true)
	same("/v2/pods/web", true)
}

func TestAnswersAboutPodsAreInGzipForWhoTakesIt(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	for i := range 5 {
		p.asks("POST", "/v2/pods", definition(fmt.Sprint("/web", i), ""))
	}
	for _, path := range []string{"/v2/pods/::status", "/v2/pods"} {
		plain := p.asks("GET", path, "")
		packed := p.asks("GET", path, "", "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(strings.NewReader(packed.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if string(text) != plain.body || err != nil || packed.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: got %v, %s, %v", path, packed.header, text, err)
		}
		p.wants("GET", path, "", 304, "", "Accept-Encoding", "gzip", "If-None-Match", packed.header.Get("ETag"))
	}
}

func TestALargeListComesWhole(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	for i := range 12 {
		p.asks("PUT", fmt.Sprintf("/v2/pods/web%d", i), definition(fmt.Sprint("/web", i), `,"labels":{"l":"`+strings.Repeat("x", 200_000)+`"}`))
	}
	var all []json.RawMessage
	for range 2 {
		a := p.asks("GET", "/v2/pods/::status", "")
		if err := json.Unmarshal([]byte(a.body), &all); err != nil || len(all) != 12 || len(a.body) < 12*200_000 {
			t.Fatalf("got %d pods in %d bytes, %v", len(all), len(a.body), err)
		}
	}
}

func TestWhoMaySeeSomeRolesSeesTheirPods(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{Gate: newGate(t, httpapi.GateOptions{})})
	as := func(name string) []string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(name, "hush")
		return []string{"Authorization", r.Header.Get("Authorization")}
	}
	all := as("all")
	for id, role := range map[string]string{"/a": "team/web", "/b": "other", "/c": "team", "/d": "*"} {
		if got := p.asks("POST", "/v2/pods", definition(id, `,"role":"`+role+`"`), all...); got.status != 201 {
			t.Fatalf("got %+v", got)
		}
	}
	ids := func(path string, header ...string) (ids []string) {
		var list []struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal([]byte(p.asks("GET", path, "", header...).body), &list); err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			ids = append(ids, one.ID)
		}
		return ids
	}
	for range 2 { // the second time from what was kept
		for _, path := range []string{"/v2/pods", "/v2/pods/::status"} {
			if got := ids(path, all...); !slices.Equal(got, []string{"/a", "/b", "/c", "/d"}) {
				t.Errorf("%s: who may see everything sees %v", path, got)
			}
			if got := ids(path, as("team")...); !slices.Equal(got, []string{"/a", "/c"}) {
				t.Errorf("%s: who may see team sees %v", path, got)
			}
		}
	}
	p.wants("GET", "/v2/pods/b", "", 404, `{"message":"Pod '/b' does not exist"}`, as("team")...)
	p.wants("GET", "/v2/pods/b::status", "", 404, `{"message":"Pod '/b' does not exist"}`, as("team")...)
	if got := p.asks("GET", "/v2/pods/a::status", "", as("team")...); got.status != 200 {
		t.Errorf("got %+v", got)
	}
	p.wants("GET", "/v2/pods", "", 401, `{"message":"say who you are: this needs a principal and its password"}`)
	for _, name := range []string{"reader", "team"} {
		p.wants("POST", "/v2/pods", definition("/e", ""), 403, fmt.Sprintf(`{"message":"\"%s\" is not let into the realm mesos-master-readwrite"}`, name), as(name)...)
		p.wants("DELETE", "/v2/pods/a", "", 403, fmt.Sprintf(`{"message":"\"%s\" is not let into the realm mesos-master-readwrite"}`, name), as(name)...)
	}
	p.wants("GET", "/ping", "", 200, "pong")
}

// keeper refuses everything, for one reason.
type keeper struct{ err error }

func (k keeper) AddPod(context.Context, *pod.Definition, master.By) (*pod.Definition, error) {
	return nil, k.err
}
func (k keeper) PutPod(context.Context, *pod.Definition, master.By) (*pod.Definition, error) {
	return nil, k.err
}
func (k keeper) RemovePod(context.Context, string, master.By) error { return k.err }

func TestAMasterThatCannotDefineAPodNowSaysWhenToComeAgain(t *testing.T) {
	s := newSite(t, httpapi.Options{Pods: keeper{master.ErrNotNow}}, httpapi.ServerOptions{}, still{newMaster()})
	p := &podSite{T: t, site: s}
	for _, a := range []answered{
		p.wants("POST", "/v2/pods", definition("/web", ""), 503, `{"message":"not now, try again later"}`),
		p.wants("DELETE", "/v2/pods/web", "", 503, `{"message":"not now, try again later"}`),
	} {
		if a.header.Get("Retry-After") == "" {
			t.Errorf("got %v", a.header)
		}
	}
}

func TestAPodTooManyIsForbidden(t *testing.T) {
	s := newSite(t, httpapi.Options{Pods: keeper{master.ErrTooManyPods}}, httpapi.ServerOptions{}, still{newMaster()})
	p := &podSite{T: t, site: s}
	p.wants("PUT", "/v2/pods/web", definition("/web", ""), 403, `{"message":"too many pods are defined"}`)
}

func TestWhoHasAnOlderStateGetsItsPods(t *testing.T) {
	h := httpapi.New(still{newMaster()}, httpapi.Options{})
	older := newMaster()
	list := func(s *master.State) string { return string(h.PodList(s)) }
	newer := newMaster()
	d, err := pod.Parse([]byte(definition("/web", "")))
	if err != nil {
		t.Fatal(err)
	}
	if d, err = d.At(at(1)); err != nil {
		t.Fatal(err)
	}
	newer.WithPods(&pod.Status{Definition: d}).PodsVersion = 5
	for range 2 {
		if got := list(newer); got != "["+string(d.JSON())+"]" {
			t.Errorf("got %s", got)
		}
		if got := list(older); got != "[]" {
			t.Errorf("of the older one: got %s", got)
		}
	}
	if a, b := h.PodList(newer), h.PodList(newer); &a[0] != &b[0] {
		t.Error("a list is made again while nothing has changed")
	}
}

func TestWhatWasKeptOfPodsIsValid(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	p.asks("POST", "/v2/pods", definition("/web", `,"labels":{"<a>":"\u0000\u2028ü"}`))
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(p.asks("GET", "/v2/pods/::status", "").body)); err != nil {
		t.Error(err)
	}
}
