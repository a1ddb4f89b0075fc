package mesosjson_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/registry"
)

// inRegistry is a registry with one agent's info.
func inRegistry(info string) string {
	return `{"slaves":{"slaves":[{"info":{"id":{"value":"a"},` + info + `}}]}}`
}

func TestBadInputIsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"nothing", ``, `(byte 0): the input is empty`},
		{"a list", `[1]`, `(byte 1): does not begin with an object: is it what a Mesos master answered?`},
		{"not JSON", `{"slaves": nope}`, `slaves (byte 12): not JSON: invalid character 'o' in literal null (expecting 'u')`},
		{"JSONP", `f({})`, `(byte 1): not JSON: invalid character '('`},
		{"cut off", `{"slaves": [{"id": "a"`, `the input ends in the middle: was it cut off?`},
		{"two documents", `{"slaves": []} {}`, `(byte 16): there is more after the end of the document`},
		{"not recovered", `{}`, `is an empty object, as a master answers before it has recovered its registry: ask again later`},
		{"no agents", `{"frameworks": [], "tasks": 1}`, `this has frameworks, tasks`},
		{"two forms", `{"gone": {"slaves": []}, "slaves": []}`, `is both registry and state`},
		{"agent is a number", `{"slaves": [1]}`, `slaves[0] (byte 13): is a number, not an object`},
		{"agent is null", `{"slaves": [null]}`, `slaves[0] (byte 16): is not an agent`},
		{"no id", `{"slaves": [{"hostname": "h"}]}`, `slaves[0] (byte 13): id: is empty`},
		{"id", `{"slaves": [{"id": "a/b"}]}`, `slaves[0] (byte 13): id: contains the character '/'`},
		{"port", inRegistry(`"port":70000`), `slaves.slaves[0].info.port (byte 61): 70000 is not a port`},
		{"port 0", inRegistry(`"port":0`), `info.port (byte 57): 0 is not a port`},
		{"half a port", inRegistry(`"port":1.5`), `1.5 is not a whole number, or too large`},
		{"checkpoint", inRegistry(`"checkpoint":"yes"`), `slaves.slaves[0].info.checkpoint (byte 67): is a string, not a boolean`},
		{"not UTF-8", inRegistry(`"hostname":"h` + "\xff" + `"`), `info.hostname (byte 64): is not valid UTF-8: "h�"`},
		{"half a pair", inRegistry(`"hostname":"h\ud800"`), `info.hostname (byte 69): is not valid UTF-8: "h�"`},
		{"value type", inRegistry(`"resources":[{"name":"x","type":"BLOB"}]`), `info.resources[0] (byte 63): "BLOB" is not a type of value`},
		{"text resource", inRegistry(`"resources":[{"name":"x","type":"TEXT","text":{"value":"y"}}]`),
			`slaves.slaves[0] (byte 22): resources[0].value: a resource cannot be a text`},
		{"infinite", inRegistry(`"resources":[{"name":"x","type":"SCALAR","scalar":{"value":1e999}}]`), `scalar.value (byte 113): 1e999 is too large`},
		{"range", inRegistry(`"resources":[{"name":"x","type":"RANGES","ranges":{"range":[{"begin":5,"end":-4}]}}]`), `range[0].end (byte 128): -4 is less than 0`},
		{"backward range", inRegistry(`"resources":[{"name":"x","type":"RANGES","ranges":{"range":[{"begin":5,"end":4}]}}]`), `resources[0].value: range 5-4 ends before it begins`},
		{"amount", `{"slaves": [{"id": "a", "resources": {"ports": "[9-1]"}}]}`, `slaves[0].resources.ports (byte 54): "[9-1]" is neither a number nor ranges nor a set`},
		{"drain", `{"slaves": [{"id": "a", "drain_info": {"state": "LATER"}}]}`, `slaves[0].drain_info (byte 39): "LATER" is not a state of a drain`},
		{"no timestamp", `{"gone": {"slaves": [{"id": {"value": "a"}}]}}`, `gone.slaves[0] (byte 22): has no timestamp`},
		{"master", `{"master": {"info": {"id": 7}}, "slaves": {}}`, `master.info.id (byte 28): is a number, not a string`},
		{"state's master", `{"id": 7, "slaves": []}`, `id (byte 8): is a number, not a string`},
		{"deep", `{"x": ` + strings.Repeat("[", 100), `x (byte 70): more than 64 objects and arrays inside each other`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := read(c.input)
			var e *mesosjson.Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %v, want a *mesosjson.Error", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is\n\t%v\nwant it to contain\n\t%s", err, c.want)
			}
		})
	}
}

// endless yields begin and then the same byte for ever.
type endless struct {
	begin io.Reader
	byte  byte
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	if n, _ := e.begin.Read(p); n > 0 {
		return n, nil
	}
	for i := range p {
		p[i] = e.byte
	}
	e.read += len(p)
	return len(p), nil
}

func after(begin string, then byte) *endless {
	return &endless{begin: strings.NewReader(begin), byte: then}
}

func TestEndlessInputIsRefusedInBoundedMemory(t *testing.T) {
	for name, c := range map[string]struct {
		input *endless
		want  string
	}{
		"string": {after(`{"slaves": [{"id": "`, 'a'), "one string or number is longer than"},
		"number": {after(`{"x": 1`, '1'), "one string or number is longer than"},
		"name":   {after(`{"`, 'a'), "one string or number is longer than"},
		"spaces": {after(`{`, ' '), "one string or number is longer than"},
		"depth":  {after(`{"x": `, '['), "more than 64 objects"},
	} {
		_, err := mesosjson.Read(c.input, func(mesosjson.Entry) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
		if c.input.read > 8<<20 {
			t.Errorf("%s: took %d bytes of one thing", name, c.input.read)
		}
	}
}

func TestEndlessAgentIsRefused(t *testing.T) {
	item := strings.NewReader(`{"slaves": [{"id": "a", "attributes": {`)
	more := func() io.Reader {
		return strings.NewReader(strings.Repeat(`"name": "`+strings.Repeat("v", 100)+`", `, 1<<12))
	}
	input := io.MultiReader(append([]io.Reader{item}, repeat(more, 1<<9)...)...)
	_, err := mesosjson.Read(input, func(mesosjson.Entry) error { return nil })
	if want := "slaves[0]"; err == nil || !strings.Contains(err.Error(), "takes more than 16777216 bytes") || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one about slaves[0] and its bytes", err)
	}
}

// Two bytes of input each, values take a hundred of memory.
func TestAgentOfEndlesslyManyValuesIsRefused(t *testing.T) {
	for begin, want := range map[string]string{
		`{"slaves": [{"x": [0`: "slaves[0] (byte 524304): holds more than 262144 values",
		`{"weights": [[0`:      "weights (byte 524301): holds more than 262144 values",
	} {
		zeros := func() io.Reader { return strings.NewReader(strings.Repeat(",0", 1<<16)) }
		input := &counter{r: io.MultiReader(append([]io.Reader{strings.NewReader(begin)}, repeat(zeros, 64)...)...)}
		_, err := mesosjson.Read(input, func(mesosjson.Entry) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s…: error is %v, want %q", begin, err, want)
		}
		if input.n > 2<<20 {
			t.Errorf("%s…: read %d bytes", begin, input.n)
		}
	}
}

func TestWhatIsKeptToTheEndIsSmall(t *testing.T) {
	long := strings.Repeat("7", 1<<16)
	for _, input := range []string{
		`{"id": "` + long + `7", "slaves": []}`,
		`{"capabilities": ["a", "` + long + `"], "slaves": []}`,
	} {
		_, _, err := read(input)
		if err == nil || !strings.Contains(err.Error(), "takes more than 65536 bytes") {
			t.Errorf("%.20s…: error is %v", input, err)
		}
	}
}

func TestMinimumCapabilitiesAreToldApartUpToABound(t *testing.T) {
	list := func(name string) string { return `"minimum_capabilities": [{"capability": "` + name + `"}]` }
	_, report, err := read(`{"slaves": {}, ` + strings.Repeat(list("QUOTA_V2")+",", 200) + list("X") + "}")
	want := []mesosjson.Lost{{Path: "minimum_capabilities[]", Count: 2, Example: "QUOTA_V2"}}
	if err != nil || !slices.Equal(report.NotKept, want) {
		t.Errorf("got %+v, %v, want %+v", report.NotKept, err, want)
	}
	var many []string
	for i := range 101 {
		many = append(many, list(fmt.Sprint(i)))
	}
	_, _, err = read(`{` + strings.Join(many, ",") + `}`)
	if err == nil || !strings.Contains(err.Error(), "minimum_capabilities[0] (byte 4717): more than 100 minimum capabilities") {
		t.Errorf("error is %v, want one about the 101st", err)
	}
}

func repeat(make func() io.Reader, n int) (list []io.Reader) {
	for range n {
		list = append(list, make())
	}
	return list
}

func TestMemoryDoesNotGrowWithTheInput(t *testing.T) {
	// 32 MB of a state, nearly all of it tasks, as in real ones.
	task := `{"id": "task", "name": "` + strings.Repeat("n", 180) + `", "resources": {"cpus": 0.1}},`
	tasks := func() io.Reader { return strings.NewReader(strings.Repeat(task, 5000)) }
	input := io.MultiReader(append(append([]io.Reader{strings.NewReader(`{"frameworks": [{"tasks": [`)},
		repeat(tasks, 30)...), strings.NewReader(`{}]}], "slaves": [{"id": "a", "hostname": "h"}]}`))...)
	count := &counter{r: input}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	report, err := mesosjson.Read(count, func(mesosjson.Entry) error { return nil })
	runtime.ReadMemStats(&after)
	if err != nil || report.Admitted != 1 || count.n < 30<<20 {
		t.Fatalf("read %d bytes: %+v, %v", count.n, report, err)
	}
	// What the test itself allocates is the tasks, once each.
	if spent := after.TotalAlloc - before.TotalAlloc; spent > uint64(count.n)+(4<<20) {
		t.Errorf("reading %d bytes allocated %d beside them", count.n, spent-uint64(count.n))
	}
}

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestErrorsOfTheSourceAreHandedOn(t *testing.T) {
	broken := errors.New("connection reset")
	_, err := mesosjson.Read(io.MultiReader(strings.NewReader(`{"slaves": [`), badReader{broken}), func(mesosjson.Entry) error { return nil })
	if !errors.Is(err, broken) {
		t.Errorf("error is %v, want it to wrap %v", err, broken)
	}
}

type badReader struct{ err error }

func (b badReader) Read([]byte) (int, error) { return 0, b.err }

func FuzzReadNeverPanicsAndHandsOnOnlyWhatARegistryTakes(f *testing.F) {
	f.Add(`{"slaves": [{"id": "a", "hostname": "h", "attributes": {"x": "{a, b}"}, "resources": {"ports": "[1-2]"}}], "id": "m"}`)
	f.Add(`{"gone":{"slaves":[{"id":{"value":"g"},"timestamp":{"nanoseconds":1}}]},"weights":[1],"master":{"info":{"id":"m","ip":1}}}`)
	f.Add(`{"subscribed":{"get_state":{"get_agents":{"recovered_agents":[{"id":{"value":"r"}}]}}}} {}`)
	f.Add(inRegistry(`"resources":[{"name":"x","type":"SET","set":{"item":["a"]},"reservations":[{"role":"r","labels":{"labels":[{"key":"k"}]}}]}]`))
	f.Fuzz(func(t *testing.T, input string) {
		d := registry.New().Draft()
		report, err := mesosjson.Read(strings.NewReader(input), func(e mesosjson.Entry) error { return put(d, e) })
		if err != nil {
			return
		}
		if n := report.Admitted + report.Unreachable + report.Gone; uint64(n) != d.Count() {
			t.Errorf("reported %d agents, handed on %d", n, d.Count())
		}
		if m := report.Master; m != nil {
			if _, err := d.Try(func(d *registry.Draft) error { return d.SetMaster(*m) }); err != nil && m.ID != "" {
				t.Errorf("master %+v: %v", *m, err)
			}
		}
		if err := writesBack(d.Freeze()); err != nil {
			t.Error(err)
		}
	})
}

// put is what an import does with an entry.
func put(d *registry.Draft, e mesosjson.Entry) error {
	_, err := d.Try(func(d *registry.Draft) error {
		if e.Agent == nil {
			return d.PutStatus(e.ID, e.Status)
		}
		return d.PutAgent(*e.Agent, e.Status)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	return nil
}
