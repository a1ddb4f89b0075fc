package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/collector"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// oddName is a framework's name that each form has to escape in its own way.
const oddName = "team a/shop: \"v1.0\" \\ 100%\nü"

// inMeasuredCluster calls f with a master of two frameworks whose names are odd, at
// a time that stands still.
func inMeasuredCluster(t *testing.T, f func(h http.Handler)) {
	synctest.Test(t, func(t *testing.T) {
		quiet := slog.New(slog.DiscardHandler)
		r, err := registrar.Open(t.Context(), store.NewMemory(), registrar.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := master.Start(t.Context(), r, master.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		task := func(framework, id string, state wire.TaskState) wire.Task {
			return wire.Task{FrameworkID: framework, ID: id, State: state, Resources: []wire.Resource{{Resource: registry.Resource{Name: "cpus", Value: registry.Scalar(0.5)}}}}
		}
		stream, err := m.Subscribe(t.Context(), &wire.Subscribe{
			Sequence: 1, Agent: registry.Agent{Hostname: "host-1", Resources: []registry.Resource{{Name: "cpus", Value: registry.Scalar(4)}, {Name: "mem", Value: registry.Scalar(1024)}}},
			Frameworks: []wire.FrameworkInfo{
				{ID: `id"1`, Name: oddName, Principal: "p/q r", Roles: []string{"web/eu", `"x"`}},
				{ID: "a.b-2", Name: "a.b", Role: "*"},
			},
			Tasks: []wire.Task{task(`id"1`, "t1", wire.TaskRunning), task(`id"1`, "t2", wire.TaskStaging), task("a.b-2", "t1", wire.TaskRunning)},
		}, "127.0.0.1:1", func() {})
		if err != nil {
			t.Fatal(err)
		}
		failed := task("a.b-2", "t1", wire.TaskFailed)
		failed.Statuses = []wire.TaskStatus{{State: wire.TaskFailed, Source: "SOURCE_EXECUTOR", Reason: "REASON_COMMAND_EXECUTOR_FAILED"}}
		synctest.Wait() // it is a member
		if err := stream.Receive(&wire.Update{Sequence: 2, Tasks: []wire.Task{failed}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the task has failed
		f(httpapi.New(m, httpapi.Options{Logger: quiet, Metrics: m.Metrics(), MetricsRate: &master.Rate{}, Collectors: []prometheus.Collector{collector.New(r)}}))
	})
}

// What of the answers is of the machine, of Go, or of how the registrar groups
// operations, and not of the cluster.
var (
	machineJSON = regexp.MustCompile(`,"system/\w+":[^,}]+|,\{"name":"system/\w+",[^}]+\}`)
	machineText = regexp.MustCompile(`(?m)^(# (HELP|TYPE|UNIT) )?(go|process|mesos_system|registrar)_.*\n`)
)

func TestMetricsAreThoseInTestdata(t *testing.T) {
	inMeasuredCluster(t, func(h http.Handler) {
		file := func(name string) string { return filepath.Join("testdata", name) }
		call := []byte(`{"type":"GET_METRICS","get_metrics":{}}`)
		v0 := send(h, http.MethodGet, "/metrics/snapshot").Body.Bytes()
		v1 := calls(h, "application/json", call).Body.Bytes()
		for name, answer := range map[string][]byte{"metrics-v0.json": v0, "metrics-v1.json": v1} {
			compact(t, answer)
			checkGolden(t, file(name), indented(t, machineJSON.ReplaceAll(answer, nil)))
		}
		packed := calls(h, "application/json", call, "Accept", "application/x-protobuf").Body.Bytes()
		checkGolden(t, file("metrics-v1.protoscope"), []byte(protoscope(t, packed)))
		for name, accept := range map[string]string{
			"metrics.prometheus":  "text/plain",
			"metrics.openmetrics": "application/openmetrics-text; version=1.0.0",
		} {
			answer := send(h, http.MethodGet, "/metrics", "Accept", accept).Body.Bytes()
			checkGolden(t, file(name), machineText.ReplaceAll(answer, nil))
		}
	})
}

// protoscope is an answer to GET_METRICS as that tool prints it, a metric a line.
func protoscope(t *testing.T, answer []byte) string {
	t.Helper()
	var b strings.Builder
	fields(t, answer, func(field protowire.Number, v any) {
		list, is := v.([]byte)
		if !is {
			fmt.Fprintf(&b, "%d: %d\n", field, v)
			return
		}
		fmt.Fprintf(&b, "%d: {\n", field)
		fields(t, list, func(field protowire.Number, v any) {
			var name, value string
			fields(t, v.([]byte), func(field protowire.Number, v any) {
				if text, is := v.([]byte); is {
					name = fmt.Sprintf("%d: {%q}", field, text)
				} else {
					value = fmt.Sprintf("%d: %s", field, jsonout.Float(nil, v.(float64)))
				}
			})
			if !strings.Contains(name, `"system/`) {
				fmt.Fprintf(&b, "  %d: {%s %s}\n", field, name, value)
			}
		})
		b.WriteString("}\n")
	})
	return b.String()
}

// fields yields the fields of a message: numbers, doubles and bytes.
func fields(t *testing.T, b []byte, yield func(field protowire.Number, v any)) {
	t.Helper()
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		b = b[max(n, 0):]
		var v any
		var m int
		switch kind {
		case protowire.VarintType:
			v, m = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			var bits uint64
			bits, m = protowire.ConsumeFixed64(b)
			v = math.Float64frombits(bits)
		default:
			v, m = protowire.ConsumeBytes(b)
		}
		if n < 0 || m < 0 {
			t.Fatalf("%v, %v in %q", protowire.ParseError(n), protowire.ParseError(m), b)
		}
		yield(field, v)
		b = b[m:]
	}
}

func TestPrometheusReadsTheNamesThatPeopleGive(t *testing.T) {
	inMeasuredCluster(t, func(h http.Handler) {
		text := send(h, http.MethodGet, "/metrics").Body.String()
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		for _, p := range problems {
			if !strings.HasPrefix(p.Metric, "go_") { // not ours
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
		if err != nil {
			t.Error(err)
		}
		p := expfmt.NewTextParser(model.LegacyValidation)
		found, err := p.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"framework": `id"1`, "framework_name": oddName, "state": "task_running"}
		if got := valueOf(found["mesos_framework_tasks"], want); got != 1 {
			t.Errorf("%v tasks of %q run, want 1", got, oddName)
		}
		want = map[string]string{"framework": `id"1`, "framework_name": oddName, "role": `"x"`}
		if got := valueOf(found["mesos_framework_suppressed"], want); got != 0 {
			t.Errorf("the role %q is suppressed: %v, want 0", `"x"`, got)
		}
	})
}

func TestDocumentHasEveryFamilyOfPrometheus(t *testing.T) {
	document, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	inMeasuredCluster(t, func(h http.Handler) {
		text := send(h, http.MethodGet, "/metrics").Body.String()
		families := regexp.MustCompile(`(?m)^# TYPE ((mesos|registrar)_\w+) `).FindAllStringSubmatch(text, -1)
		if len(families) == 0 {
			t.Errorf("/metrics has no family:\n%s", text)
		}
		for _, f := range families {
			if !regexp.MustCompile("`" + f[1] + "[`{]").Match(document) {
				t.Errorf("docs/metrics.md does not have %s", f[1])
			}
		}
	})
}

// valueOf is the gauge of a family that has these labels, or not a number.
func valueOf(f *dto.MetricFamily, labels map[string]string) float64 {
	for _, m := range f.GetMetric() {
		same := len(m.Label) == len(labels)
		for _, l := range m.Label {
			same = same && labels[l.GetName()] == l.GetValue()
		}
		if same {
			return m.GetGauge().GetValue()
		}
	}
	return math.NaN()
}

func TestMetricsSayWhichFormatTheyHave(t *testing.T) {
	h, _ := counting(t, master.Rate{})
	const open, text = "application/openmetrics-text; version=", "text/plain; version=0.0.4"
	for accept, want := range map[string]string{
		"":    text,
		"*/*": text,
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1": open + "1.0.0",
		"application/openmetrics-text;version=0.0.1": open + "0.0.1",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;version=0.0.4;q=0.3": text,
	} {
		w := send(h, http.MethodGet, "/metrics", "Accept", accept)
		if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("accepting %q: %s, want %s", accept, got, want)
		}
		body, err := io.ReadAll(w.Body)
		if ended := bytes.HasSuffix(body, []byte("# EOF\n")); err != nil || ended != strings.HasPrefix(want, open) {
			t.Errorf("accepting %q: it ends with EOF: %v, %v", accept, ended, err)
		}
	}
}
