package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/master/metrics"
)

// counting is a handler with some metrics, and the table of them.
func counting(t *testing.T, rate master.Rate) (http.Handler, *metrics.Table) {
	t.Helper()
	table := &metrics.Table{}
	c, err := table.Counter("master/tasks_failed")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(3)
	o := options
	o.Metrics, o.MetricsRate = table, &rate
	return httpapi.New(still{newMaster()}, o), table
}

const threeFailed = `{"master/http_cache_hits":0.0,"master/tasks_failed":3.0}`

func TestMetricsSnapshotIsAFlatObject(t *testing.T) {
	h, _ := counting(t, master.Rate{})
	for target, want := range map[string]string{
		"/metrics/snapshot":                threeFailed,
		"/metrics/snapshot/":               threeFailed,
		"/metrics/snapshot?timeout=5secs":  threeFailed,
		"/metrics/snapshot?jsonp=a.b":      "a.b(" + threeFailed + ")",
		"/metrics/snapshot?timeout=5":      `Invalid timeout '5': "5" is no duration: want a number and a unit, as in 15secs, 1.5mins, 2weeks (ns, us, ms, secs, mins, hrs, days, weeks)`,
		"/metrics/snapshot?jsonp=alert(1)": "jsonp is not the name of a JavaScript function.",
	} {
		if got := send(h, http.MethodGet, target).Body.String(); got != want {
			t.Errorf("GET %s: %s, want %s", target, got, want)
		}
	}
	w := send(h, http.MethodGet, "/metrics/snapshot", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); string(got) != threeFailed || err != nil {
		t.Errorf("packed: %s, %v", got, err)
	}
}

func TestWhoAsksForMetricsTooSoonWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := counting(t, master.Rate{Count: 2, Per: time.Second})
		began := time.Now()
		for i := range 4 {
			if w := send(h, http.MethodGet, "/metrics/snapshot"); w.Code != http.StatusOK {
				t.Fatalf("status %d, want 200", w.Code)
			}
			if at, want := time.Since(began), time.Duration(i)*500*time.Millisecond; at != want {
				t.Errorf("answer %d came after %v, want %v", i, at, want)
			}
			calls(h, "application/json", []byte(`{"type":"GET_METRICS","get_metrics":{}}`)) // is not threeFailed
		}
	})
}

func TestAStuckMetricIsLeftOutAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, table := counting(t, master.Rate{})
		free := make(chan struct{})
		defer close(free)
		if err := table.Pull([]string{"stuck"}, func([]float64) { <-free }); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if got := send(h, http.MethodGet, "/metrics/snapshot?timeout=3secs").Body.String(); got != threeFailed {
			t.Errorf("got %s, want %s", got, threeFailed)
		}
		w := calls(h, "application/json", []byte(`{"type":"GET_METRICS","get_metrics":{"timeout":{"nanoseconds":2000000000}}}`))
		if got := w.Body.String(); strings.Contains(got, "stuck") || !strings.Contains(got, "tasks_failed") {
			t.Errorf("got %s", got)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("both took %v, want 5s", took)
		}
	})
}

// calls posts a call of the operator API, with headers by turns.
func calls(h http.Handler, kind string, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/api/v1", bytes.NewReader(body))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOperatorCallsAreCheckedInTheOrderOfMesos(t *testing.T) {
	h, _ := counting(t, master.Rate{})
	const good = `{"type":"GET_METRICS","get_metrics":{}}`
	for _, c := range []struct {
		kind, body, accept string
		want               int
	}{
		{"", "{", "", 400},
		{"text/plain", "{", "", 415},
		{"application/json; charset=utf-8", good, "", 415},
		{"application/json", "{", "", 400},
		{"application/json", `{"type":"MAKE_TEA"}`, "", 400},
		{"application/json", `{}`, "text/html", 400},
		{"application/json", `{"type":"GET_METRICS"}`, "text/html", 400},
		{"application/json", `{"type":"GET_METRICS","get_metrics":{"timeout":{}}}`, "", 400},
		{"application/json", good, "text/html", 406},
		{"application/json", `{"type":"UNKNOWN"}`, "text/html", 406},
		{"application/json", `{"type":"UNKNOWN"}`, "", 501},
		{"application/json", `{"type":"GET_STATE"}`, "", 501},
		{"application/json", good, "text/html, */*;q=0.1", 200},
		{"application/json", good, "application/json;q=0", 406},
		{"application/x-protobuf", "\x08", "", 400},
		{"application/x-protobuf", "", "", 400},
		{"application/x-protobuf", "\x08\x04", "", 400},
		{"application/x-protobuf", "\x08\x09", "", 501},
		{"application/x-protobuf", "\x08\x04\x12\x00", "", 200},
	} {
		var headers []string
		if c.accept != "" {
			headers = []string{"Accept", c.accept}
		}
		if got := calls(h, c.kind, []byte(c.body), headers...); got.Code != c.want {
			t.Errorf("%q %q accepting %q: %d %s, want %d", c.kind, c.body, c.accept, got.Code, got.Body, c.want)
		}
	}
	if w := send(h, http.MethodGet, "/api/v1"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET /api/v1: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestGetMetricsAnswersInBothForms(t *testing.T) {
	h, _ := counting(t, master.Rate{})
	call := []byte("\x08\x04\x12\x00")
	got := calls(h, "application/x-protobuf", call).Body.String()
	want := `{"type":"GET_METRICS","get_metrics":{"metrics":[{"name":"master/http_cache_hits","value":0.0},{"name":"master/tasks_failed","value":3.0}]}}`
	if got != want {
		t.Errorf("JSON: %s, want %s", got, want)
	}
	w := calls(h, "application/json", []byte(`{"type":"GET_METRICS","get_metrics":{}}`), "Accept", "application/x-protobuf")
	metric := func(name string, v float64) string {
		m := "\x0a" + string(rune(len(name))) + name + "\x11" + string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		return "\x0a" + string(rune(len(m))) + m
	}
	list := metric("master/http_cache_hits", 0) + metric("master/tasks_failed", 3)
	want = "\x08\x04\x2a" + string(rune(len(list))) + list
	if w.Body.String() != want {
		t.Errorf("protobuf: %q, want %q", w.Body, want)
	}
	if n := w.Header().Get("Content-Length"); n != fmt.Sprint(len(want)) {
		t.Errorf("Content-Length is %s, want %d", n, len(want))
	}
}

func TestWhoMaySeeOnlySomeRolesMayNotSeeMetrics(t *testing.T) {
	o := options
	o.Gate = newGate(t, httpapi.GateOptions{})
	o.Metrics = &metrics.Table{}
	h := httpapi.New(still{newMaster()}, o)
	for _, target := range []string{"/metrics/snapshot", "/metrics"} {
		for who, want := range map[string]int{"reader": http.StatusOK, "team": http.StatusForbidden, "agent": http.StatusUnauthorized} {
			if w := send(h, http.MethodGet, target, "Authorization", basic(who, "hush")); w.Code != want {
				t.Errorf("GET %s as %s: %d, want %d", target, who, w.Code, want)
			}
		}
	}
}

func TestPrometheusFindsNothingToComplainOf(t *testing.T) {
	table := &metrics.Table{}
	var names []string
	for _, d := range master.Definitions() {
		names = append(names, d.Name)
	}
	if err := table.Pull(names, func(v []float64) { v[0] = 1 }); err != nil {
		t.Fatal(err)
	}
	shape := metrics.NewShape([]metrics.Family{{Name: "fw_calls_total", Help: "Calls.", Counter: true, Label: "call"}}, []metrics.Member{{Name: "calls/a", Value: "a"}})
	if _, err := table.Block("master/frameworks/f/1/", `framework="1"`, shape); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"master/task_failed/source_x/reason_y", "frameworks/p/q/messages_received", "frameworks/of-somebody-else"} {
		if _, err := table.Counter(name); err != nil {
			t.Fatal(err)
		}
	}
	o := options
	o.Metrics = table
	h := httpapi.New(still{newMaster()}, o)
	text := send(h, http.MethodGet, "/metrics").Body.String()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool { return strings.HasPrefix(p.Metric, "go_") }) // not ours
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	found, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mesos_master_tasks", "fw_calls_total", "mesos_master_tasks_ended_by_reason_total", "mesos_master_principal_messages_total", "go_goroutines"} {
		if found[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	open := send(h, http.MethodGet, "/metrics", "Accept", "application/openmetrics-text; version=0.0.1").Body.String()
	if !strings.HasSuffix(open, "# EOF\n") || !strings.Contains(open, "# TYPE fw_calls counter\nfw_calls_total{framework=\"1\",call=\"a\"} 0\n") {
		t.Errorf("this is no OpenMetrics:\n%s", open[max(0, len(open)-300):])
	}
}
