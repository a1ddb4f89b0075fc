package wire_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

func TestRolesAreThoseOfMesos(t *testing.T) {
	for role, want := range map[string]string{
		"*": "", "a": "", "a/b-c/d.e": "", "größe": "", "a/..b": "", "**": "", long(255) + "/" + long(255): "",
		strings.Repeat("a/", 7) + "a":  "",
		"":                             "is empty",
		".":                            `has a part that is "."`,
		"a/./b":                        `has a part that is "."`,
		"..":                           `has a part that is ".."`,
		"a/*":                          `has a part that is "*"`,
		"/a":                           "begins or ends with a slash",
		"a/":                           "begins or ends with a slash",
		"/":                            "begins or ends with a slash",
		"a//b":                         "has a part that is empty",
		"-":                            `has a part that begins with a dash, "-"`,
		"a/-b":                         `has a part that begins with a dash, "-b"`,
		"a b":                          `contains the character ' '`,
		"a\tb":                         `contains the character '\t'`,
		"a\x00":                        `contains the character '\x00'`,
		"a/b\x08":                      `contains the character '\b'`,
		"a\x7f":                        `contains the character '\x7f'`,
		long(256):                      "has a part of 256 bytes, at most 255 are allowed",
		strings.Repeat("a/", 8) + "a":  "has 9 parts, at most 8 are allowed",
		strings.Repeat("abcd/", 205):   "has 1025 bytes, at most 1024 are allowed",
		"-" + strings.Repeat("é", 100): `has a part that begins with a dash, "-` + strings.Repeat("é", 31) + `…"`,
	} {
		info := wire.FrameworkInfo{ID: "f", Name: "n", User: "u", Roles: []string{role}}
		_, err := wire.AppendCall(nil, wire.JSON, &wire.Update{Frameworks: []wire.FrameworkInfo{info}})
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "update.frameworks[0].roles[0]: ")
		}
		if got != want {
			t.Errorf("%.40q: error is %q, want %q", role, got, want)
		}
	}
}

func TestAFrameworkIsInAThousandRolesAtMost(t *testing.T) {
	for n, want := range map[int]string{
		1000: "",
		1001: "update.frameworks[0].roles: has 1001 roles, at most 1000 are allowed",
	} {
		body := updateOf(`"frameworks":[{"id":{"value":"f"},"name":"n","user":"u","roles":["r"` + strings.Repeat(`,"r"`, n-1) + `]}]`)
		refused(t, fmt.Sprintf("%d roles read", n), want, func() error { _, err := wire.DecodeCall(wire.JSON, []byte(body)); return err })
		refused(t, fmt.Sprintf("%d roles written", n), want, func() error {
			info := wire.FrameworkInfo{ID: "f", Name: "n", User: "u", Roles: slices.Repeat([]string{"r"}, n)}
			_, err := wire.AppendCall(nil, wire.JSON, &wire.Update{Sequence: 1, Frameworks: []wire.FrameworkInfo{info}})
			return err
		})
	}
}

func TestAnUpdateHasNoMoreResourcesThanAnAgentMayHave(t *testing.T) {
	for n, want := range map[int]string{
		1<<20 - 100: "",
		1 << 20:     "update.resources: is not what an agent may have: agent: takes 1048587 bytes, at most 1048576 are allowed",
	} {
		call := &wire.Update{Sequence: 1, Resources: []registry.Resource{{Name: long(n), Value: registry.Set()}}}
		refused(t, fmt.Sprintf("%d bytes written", n), want, func() error { _, err := wire.AppendCall(nil, wire.JSON, call); return err })
		record := resource(`"name":"` + long(n) + `","type":"SET","set":{}`)
		refused(t, fmt.Sprintf("%d bytes read", n), want, func() error { _, err := wire.DecodeCall(wire.JSON, []byte(record)); return err })
	}
}

// refused wants an error of these words; "" is none.
func refused(t *testing.T, what, want string, do func() error) {
	t.Helper()
	got := ""
	if err := do(); err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: error is %q, want %q", what, got, want)
	}
}

func TestOnlyTasksThatAreKnownToHaveEndedHave(t *testing.T) {
	for state, want := range map[wire.TaskState]bool{
		wire.TaskStaging: false, wire.TaskStarting: false, wire.TaskRunning: false, wire.TaskKilling: false,
		wire.TaskUnreachable: false, wire.TaskUnknown: false, "": false, "TASK_NEWER": false,
		wire.TaskFinished: true, wire.TaskFailed: true, wire.TaskKilled: true, wire.TaskError: true,
		wire.TaskLost: true, wire.TaskDropped: true, wire.TaskGone: true, wire.TaskGoneByOperator: true,
	} {
		if got := state.Terminal(); got != want {
			t.Errorf("%q is terminal: %v", state, got)
		}
	}
}

func TestWhatOneUsesIsAllocatedToOneRole(t *testing.T) {
	uses := func(of, infos string) string {
		var list []string
		for info := range strings.FieldsSeq(infos) {
			if info != "-" {
				info = `,"allocation_info":{"role":"` + info + `"}`
			}
			list = append(list, `{"name":"a","type":"SET","set":{}`+strings.TrimPrefix(info, "-")+`}`)
		}
		if resources := `"resources":[` + strings.Join(list, ",") + `]`; of == "executors" {
			return updateOf(`"executors":[{"executor_id":{"value":"e"},"framework_id":{"value":"f"},` + resources + `}]`)
		} else {
			return task(resources)
		}
	}
	for infos, want := range map[string]string{
		"web": "", "web web": "", "- - *": "", "* -": "",
		"web web ops": `is allocated to the roles "web" and "ops", want one`,
		"web -":       `is allocated to the roles "web" and "*", want one`,
		"- web/a":     `is allocated to the roles "*" and "web/a", want one`,
	} {
		for _, of := range []string{"tasks", "executors"} {
			if want != "" {
				want = "update." + of + "[0].resources: " + want[strings.Index(want, "is alloc"):]
			}
			refused(t, of+" "+infos, want, func() error { _, err := wire.DecodeCall(wire.JSON, []byte(uses(of, infos))); return err })
		}
	}
	call := &wire.Update{Tasks: []wire.Task{{ID: "t", FrameworkID: "f", Resources: []wire.Resource{{AllocationRole: "a"}, {AllocationRole: "b"}}}}}
	refused(t, "written", `update.tasks[0].resources: is allocated to the roles "a" and "b", want one`,
		func() error { _, err := wire.AppendCall(nil, wire.JSON, call); return err })
}

func TestNumbersThatWouldBecomeNothingAreRefused(t *testing.T) {
	const scalar = `"name":"a","type":"SCALAR","scalar":{"value":7777}`
	for _, test := range []struct{ form, number, want string }{
		{`{"type":"UPDATE","update":{},"sequence":7777}`, "1e-400", "sequence: is 1e-400, want 0 to 18446744073709551615"},
		{`{"type":"UPDATE","update":{},"sequence":7777}`, "0.0e-400", ""},
		{`{"type":"UPDATE","update":{},"sequence":7777}`, "0.00e2", ""},
		{resource(scalar), "1e-400", "update.resources[0].scalar.value: is out of the range of a float64"},
		{resource(scalar), "0.010E-400", "update.resources[0].scalar.value: is out of the range of a float64"},
		{resource(scalar), "0e-400", ""},
		{resource(scalar), "5e-324", ""},
		{task(`"discovery":{"a":7777}`), "1e-400", "update.tasks[0].discovery: cannot be handed on: 1e-400 is out of the range of a float64"},
		{task(`"discovery":{"a":7777}`), "-0.0", ""},
	} {
		record := strings.ReplaceAll(test.form, "7777", test.number)
		refused(t, record, test.want, func() error { _, err := wire.DecodeCall(wire.JSON, []byte(record)); return err })
	}
}

func TestTheFirstCallHasANumber(t *testing.T) {
	_, err := wire.AppendCall(nil, wire.JSON, &wire.Subscribe{Agent: registry.Agent{Hostname: "h"}})
	refused(t, "SUBSCRIBE", "sequence: is 0, want at least 1", func() error { return err })
}

func TestQuotesAreShort(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		long(64):                 long(64),
		long(65):                 long(64) + "…",
		long(63) + "é":           long(63) + "…",
		strings.Repeat("é", 999): strings.Repeat("é", 32) + "…",
		"\x80" + long(99):        "\x80" + long(63) + "…",
	} {
		if got := wire.Shorten(text); got != want || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%.80q is shortened to %q, want %q", text, got, want)
		}
	}
}

// What a record becomes in memory is bounded by its own bytes.
func TestRecordsDoNotGrowInMemory(t *testing.T) {
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	packed := func(item string, n int) string {
		return string([]byte{0xdd, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + strings.Repeat(item, n)
	}
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s":""`, strconv.FormatInt(int64(i), 36))
		}
		return "{" + b.String()[1:] + "}"
	}
	const (
		json    = `{"type":"UPDATE","sequence":1,"update":{"tasks":[{"name":"","task_id":{"value":"t"},"framework_id":{"value":"f"},"state":"",`
		msgpack = "\x83\xa4type\xa6UPDATE\xa8sequence\x01\xa6update\x81\xa1x"
		listed  = "is more than there may be: what a record lists may take 6 times its bytes in memory"
	)
	for name, test := range map[string]struct {
		encoding wire.Encoding
		of       func(n int) string // a record with n of them
		want     string
	}{
		"statuses": {
			wire.JSON, func(n int) string { return json + `"statuses":` + list(`{"state":""}`, n) + `}]}}` },
			listed,
		},
		"labels": {
			wire.JSON, func(n int) string { return subscribe(`"hostname":"h","labels":` + members(n)) },
			listed,
		},
		"nothing but false": {
			wire.Msgpack, func(n int) string { return msgpack + packed("\xc2", n) },
			"the record is more than 4 times as long in JSON",
		},
		"nothing but no bytes": {
			wire.Msgpack, func(n int) string { return msgpack + packed("\xc4\x00", n) },
			"the record is more than 4 times as long in JSON",
		},
	} {
		if _, err := wire.DecodeCall(test.encoding, []byte(test.of(300))); err != nil {
			t.Errorf("300 of %s: %v", name, err)
		}
		if _, err := wire.DecodeCall(test.encoding, []byte(test.of(46_000))); err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("46000 of %s: error is %v, want %q", name, err, test.want)
		}
	}
}
