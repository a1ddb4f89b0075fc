package mesosjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/testdata/cluster"
)

// load makes a registry of everything an input holds.
func load(r io.Reader) (*registry.Registry, mesosjson.Report, error) {
	d := registry.New().Draft()
	report, err := mesosjson.Read(r, func(e mesosjson.Entry) error { return put(d, e) })
	if err == nil && report.Master != nil {
		_, err = d.Try(func(d *registry.Draft) error { return d.SetMaster(*report.Master) })
	}
	return d.Freeze(), report, err
}

// writesBack reports an error unless what Write makes of reg reads as reg.
func writesBack(reg *registry.Registry) error {
	var out bytes.Buffer
	if err := mesosjson.Write(&out, reg); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if reg.Count() == 0 {
		return nil // {} is refused: it is what a master answers too early
	}
	back, report, err := load(&out)
	if err != nil {
		return fmt.Errorf("read what was written: %w", err)
	}
	if len(report.NotKept) != 0 {
		return fmt.Errorf("not kept of what was written: %+v", report.NotKept)
	}
	if back.Digest() != reg.Digest() {
		return fmt.Errorf("reads back as another registry: %d entries, was %d", back.Count(), reg.Count())
	}
	return nil
}

func TestRegistryIsWrittenAsAMasterDoes(t *testing.T) {
	grace := 90 * time.Second
	d := registry.New().Draft()
	for _, e := range []mesosjson.Entry{
		{ID: "u", Status: registry.Status{State: registry.Unreachable, At: time.Unix(0, 1714563456559287346)}},
		{ID: "a", Status: registry.Status{State: registry.Admitted}, Agent: &registry.Agent{
			ID: "a", Hostname: "h/1", Checkpoint: true, Domain: registry.Domain{Region: "r", Zone: "z"},
			Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text("\"1\"\n")}, {Name: "s", Value: registry.Set("a", "b")}},
			Resources: []registry.Resource{
				{Name: "cpus", Value: registry.Scalar(4)},
				{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 1, End: 2}), Reservations: []registry.Reservation{
					{Role: "web", Dynamic: true, Principal: "p", Labels: []registry.Label{{Key: "k", Value: "v"}, {Key: "b", Bare: true}}}}},
				{Name: "mem", Value: registry.Scalar(0.1), Reservations: []registry.Reservation{{Role: "x"}, {Role: "x/y", Dynamic: true}}},
			},
		}},
		{ID: "d", Status: registry.Status{State: registry.Admitted, Deactivated: true, Drain: registry.Drain{State: registry.Draining, MaxGrace: &grace}},
			Agent: &registry.Agent{ID: "d", Port: 7}},
		{ID: "g", Status: registry.Status{State: registry.Gone, At: time.Unix(0, 5)}},
	} {
		if err := put(d, e); err != nil {
			t.Fatal(err)
		}
	}
	d.Try(func(d *registry.Draft) error {
		return d.SetMaster(registry.Master{ID: "m", IP: "10.0.5.101", PID: "master@10.0.5.101:5050", Hostname: "h", Version: "1", Capabilities: []string{"QUOTA_V2"}})
	})
	const want = `{"gone":{"slaves":[{"id":{"value":"g"},"timestamp":{"nanoseconds":5}}]},` +
		`"master":{"info":{"address":{"hostname":"h","ip":"10.0.5.101","port":5050},"capabilities":[{"type":"QUOTA_V2"}],"hostname":"h","id":"m",` +
		`"ip":1694826506,"pid":"master@10.0.5.101:5050","port":5050,"version":"1"}},` +
		`"minimum_capabilities":[{"capability":"AGENT_DRAINING"}],` +
		`"slaves":{"slaves":[{"deactivated":false,"info":{"attributes":[{"name":"rack","text":{"value":"\"1\"\n"},"type":"TEXT"},` +
		`{"name":"s","set":{"item":["a","b"]},"type":"SET"}],"checkpoint":true,` +
		`"domain":{"fault_domain":{"region":{"name":"r"},"zone":{"name":"z"}}},"hostname":"h/1","id":{"value":"a"},"port":5051,` +
		`"resources":[{"name":"cpus","role":"*","scalar":{"value":4.0},"type":"SCALAR"},` +
		`{"name":"ports","ranges":{"range":[{"begin":1,"end":2}]},"reservation":{"labels":{"labels":[{"key":"k","value":"v"},{"key":"b"}]},"principal":"p"},"role":"web","type":"RANGES"},` +
		`{"name":"mem","reservations":[{"role":"x","type":"STATIC"},{"role":"x/y","type":"DYNAMIC"}],"scalar":{"value":0.1},"type":"SCALAR"}]}},` +
		`{"deactivated":true,"drain_info":{"config":{"mark_gone":false,"max_grace_period":{"nanoseconds":90000000000}},"state":"DRAINING"},` +
		`"info":{"checkpoint":false,"hostname":"","id":{"value":"d"},"port":7}}]},` +
		`"unreachable":{"slaves":[{"deactivated":false,"id":{"value":"u"},"timestamp":{"nanoseconds":1714563456559287346}}]}}`
	var out bytes.Buffer
	if err := mesosjson.Write(&out, d.Freeze()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, ","), strings.Split(out.String(), ",")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEmptyRegistryIsWrittenAsAnEmptyObject(t *testing.T) {
	var out bytes.Buffer
	if err := mesosjson.Write(&out, registry.New()); err != nil || out.String() != "{}" {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}

func TestAgentsAreWrittenInTheOrderOfTheirTransition(t *testing.T) {
	d := registry.New().Draft()
	for _, id := range []registry.AgentID{"a", "b", "c"} {
		put(d, mesosjson.Entry{ID: id, Status: registry.Status{State: registry.Admitted}, Agent: &registry.Agent{ID: id}})
	}
	for _, id := range []registry.AgentID{"c", "a"} {
		put(d, mesosjson.Entry{ID: id, Status: registry.Status{State: registry.Unreachable, At: time.Unix(1, 0)}})
	}
	// a comes back, and so stands behind b.
	put(d, mesosjson.Entry{ID: "a", Status: registry.Status{State: registry.Admitted}})
	put(d, mesosjson.Entry{ID: "b", Status: registry.Status{State: registry.Unreachable, At: time.Unix(0, 0)}})
	var out bytes.Buffer
	if err := mesosjson.Write(&out, d.Freeze()); err != nil {
		t.Fatal(err)
	}
	list, _ := mustRead(t, out.String())
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprint(e.Status.State, " ", e.ID))
	}
	if want := []string{"admitted a", "unreachable c", "unreachable b"}; !cmp.Equal(got, want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestNumbersAreWrittenAsAMasterDoes(t *testing.T) {
	for _, c := range []struct {
		value float64
		want  string
	}{
		{0, "0.0"}, {4, "4.0"}, {-4, "-4.0"}, {0.1, "0.1"}, {15026.5, "15026.5"}, {1e20, "100000000000000000000.0"},
		{1e21, "1e21"}, {-2.5e22, "-2.5e22"}, {1e-6, "0.000001"}, {1e-7, "1e-7"}, {math.MaxFloat64, "1.7976931348623157e308"},
	} {
		d := registry.New().Draft()
		put(d, mesosjson.Entry{ID: "a", Status: registry.Status{State: registry.Admitted}, Agent: &registry.Agent{
			ID: "a", Attributes: []registry.Attribute{{Name: "x", Value: registry.Scalar(c.value)}}}})
		var out bytes.Buffer
		if err := mesosjson.Write(&out, d.Freeze()); err != nil {
			t.Fatal(err)
		}
		if want := `"scalar":{"value":` + c.want + `}`; !strings.Contains(out.String(), want) {
			t.Errorf("%v is not written as %s: %s", c.value, c.want, out.String())
		}
	}
}

func TestErrorOfTheWriterIsReported(t *testing.T) {
	reg, _, err := load(cluster.Registry())
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	if err := mesosjson.Write(&fullWriter{room: 1 << 20, err: full}, reg); !errors.Is(err, full) {
		t.Errorf("Write returned %v, want %v", err, full)
	}
}

type fullWriter struct {
	room int
	err  error
}

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, w.err
	}
	return len(p), nil
}

func TestShippedClusterIsExportedAsItWas(t *testing.T) {
	original, err := io.ReadAll(cluster.Registry())
	if err != nil {
		t.Fatal(err)
	}
	reg, report, err := load(bytes.NewReader(original))
	if err != nil {
		t.Fatal(err)
	}
	if report.Admitted != cluster.Admitted || report.Unreachable != cluster.Unreachable || report.Gone != cluster.Gone {
		t.Errorf("report is %+v", report)
	}
	var paths []string
	for _, l := range report.NotKept {
		paths = append(paths, l.Path)
	}
	want := []string{"machines.machines[]", "minimum_capabilities[]", "quota_configs[]",
		"resource_provider_registry.resource_providers[]", "schedules[]", "slaves.slaves[].info.resources[].disk", "weights[]"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("not kept, -want +got:\n%s", diff)
	}
	var exported bytes.Buffer
	if err := mesosjson.Write(&exported, reg); err != nil {
		t.Fatal(err)
	}
	was, is := without(t, original, report.NotKept), without(t, exported.Bytes(), nil)
	if !reflect.DeepEqual(was, is) { // cmp is slow on trees of this size
		t.Errorf("export differs from what was imported, -want +got:\n%.2000s", cmp.Diff(was, is))
	}
}

// without is JSON as Go values, less what is listed as lost and less lists and
// objects that are empty.
func without(t *testing.T, data []byte, lost []mesosjson.Lost) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for _, l := range lost {
		v = remove(v, strings.Split(strings.ReplaceAll(l.Path, "[]", ".[]"), "."), l.Example)
	}
	return prune(v)
}

// remove takes away what stands at the path; of the minimum capabilities, only
// the one named.
func remove(v any, path []string, example string) any {
	switch v := v.(type) {
	case map[string]any:
		if inner, ok := v[path[0]]; ok && len(path) > 1 {
			v[path[0]] = remove(inner, path[1:], example)
		} else {
			delete(v, path[0])
		}
	case []any:
		var left []any
		for _, item := range v {
			if c, ok := item.(map[string]any); ok && c["capability"] != nil && c["capability"] != example {
				left = append(left, item)
			} else if len(path) > 1 {
				left = append(left, remove(item, path[1:], example))
			}
		}
		return left
	}
	return v
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if v[k] = prune(inner); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

func TestWhatIsWrittenReadsBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := registry.New().Draft()
		for i := range rapid.IntRange(0, 8).Draw(t, "agents") {
			if err := put(d, drawEntry(t, registry.AgentID(fmt.Sprintf("agent-%d", i)))); err != nil {
				t.Fatal(err)
			}
		}
		if err := writesBack(d.Freeze()); err != nil {
			t.Fatal(err)
		}
	})
}

func drawEntry(t *rapid.T, id registry.AgentID) mesosjson.Entry {
	e := mesosjson.Entry{ID: id, Status: registry.Status{State: rapid.SampledFrom([]registry.State{
		registry.Admitted, registry.Unreachable, registry.Gone}).Draw(t, "state")}}
	if e.Status.State != registry.Admitted {
		e.Status.At = time.Unix(0, rapid.Int64().Draw(t, "at"))
	}
	if e.Status.State != registry.Gone {
		e.Status.Deactivated = rapid.Bool().Draw(t, "deactivated")
	}
	if e.Status.Deactivated && rapid.Bool().Draw(t, "drain") {
		e.Status.Drain = registry.Drain{State: rapid.SampledFrom([]registry.DrainState{registry.Draining, registry.Drained}).Draw(t, "drain state")}
		e.Status.Drain.MarkGone = rapid.Bool().Draw(t, "mark gone")
		if rapid.Bool().Draw(t, "grace given") {
			grace := time.Duration(rapid.Int64Min(0).Draw(t, "grace"))
			e.Status.Drain.MaxGrace = &grace
		}
	}
	if e.Status.State == registry.Admitted {
		e.Agent = drawAgent(t, id)
	}
	return e
}

// text draws strings that are hard on JSON; U+FFFD is what reading refuses.
var text = rapid.OneOf(
	rapid.SampledFrom([]string{"", "*", "a/b", "[1-2]", "{a}", "\x00\x1f\"\\/\u2028é😀", "null"}),
	rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, '\uFFFD') }),
)

func drawAgent(t *rapid.T, id registry.AgentID) *registry.Agent {
	a := &registry.Agent{
		ID: id, Hostname: text.Draw(t, "hostname"), Port: rapid.Uint16Range(1, math.MaxUint16).Draw(t, "port"),
		Checkpoint: rapid.Bool().Draw(t, "checkpoint"),
		Domain:     registry.Domain{Region: text.Draw(t, "region"), Zone: text.Draw(t, "zone")},
	}
	for range rapid.IntRange(0, 3).Draw(t, "attributes") {
		a.Attributes = append(a.Attributes, registry.Attribute{Name: text.Draw(t, "name"), Value: drawValue(t, registry.KindText)})
	}
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		r := registry.Resource{Name: text.Draw(t, "name"), Value: drawValue(t, registry.KindSet)}
		for range rapid.IntRange(0, 2).Draw(t, "reservations") {
			r.Reservations = append(r.Reservations, drawReservation(t))
		}
		a.Resources = append(a.Resources, r)
	}
	return a
}

func drawValue(t *rapid.T, last registry.Kind) registry.Value {
	switch registry.Kind(rapid.IntRange(0, int(last)).Draw(t, "kind")) {
	case registry.KindScalar:
		if last == registry.KindSet { // a resource
			return registry.Scalar(rapid.Float64Min(0).Draw(t, "amount"))
		}
		return registry.Scalar(rapid.Float64().Draw(t, "scalar"))
	case registry.KindRanges:
		var list []registry.Range
		for range rapid.IntRange(0, 2).Draw(t, "ranges") {
			begin := rapid.Uint64().Draw(t, "begin")
			list = append(list, registry.Range{Begin: begin, End: rapid.Uint64Min(begin).Draw(t, "end")})
		}
		return registry.Ranges(list...)
	case registry.KindSet:
		return registry.Set(rapid.SliceOfN(text, 0, 3).Draw(t, "set")...)
	}
	return registry.Text(text.Draw(t, "text"))
}

func drawReservation(t *rapid.T) registry.Reservation {
	role := text.Filter(func(s string) bool { return s != "" })
	v := registry.Reservation{Role: role.Draw(t, "role"), Dynamic: rapid.Bool().Draw(t, "dynamic"), Principal: text.Draw(t, "principal")}
	for range rapid.IntRange(0, 2).Draw(t, "labels") {
		l := registry.Label{Key: text.Draw(t, "key"), Bare: rapid.Bool().Draw(t, "bare")}
		if !l.Bare {
			l.Value = text.Draw(t, "value")
		}
		v.Labels = append(v.Labels, l)
	}
	return v
}

// U+FFFD stands for text that could not be read, and is text as well.
func TestReplacementCharacterIsKept(t *testing.T) {
	for _, hostname := range []string{"x\ufffdy", `x\ufffdy`} {
		got, _, err := read(inRegistry(`"hostname":"` + hostname + `"`))
		if err != nil || len(got) != 1 || got[0].Agent.Hostname != "x\ufffdy" {
			t.Errorf("%q is read as %+v, %v", hostname, got, err)
		}
	}
}
