package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// Calls that are of no use, and what is said about them. Each is tried as
// msgpack too.
var badCalls = map[string]string{
	`[]`:                            `record: is a list, want an object`,
	`7`:                             `record: is a number, want an object`,
	`{}`:                            `type: is missing`,
	`{"type":null}`:                 `type: is missing`,
	`{"type":7}`:                    `type: is a number, want a text`,
	`{"type":["a"]}`:                `type: is a list, want a text`,
	`{"sequence":1}`:                `type: is missing`,
	`{"type":"UPDATE"}`:             `sequence: is missing`,
	`{"type":"UPDATE","update":{}}`: `sequence: is missing`,
	`{"type":"UPDATE","update":null,"sequence":1}`:                 `update: is missing`,
	`{"type":"UPDATE","update":{},"sequence":-1}`:                  `sequence: is -1, want 0 to 18446744073709551615`,
	`{"type":"UPDATE","update":{},"sequence":1.5}`:                 `sequence: is 1.5, want a whole number`,
	`{"type":"SUBSCRIBE","sequence":0,"subscribe":{}}`:             `sequence: is 0, want at least 1`,
	`{"type":"UPDATE","update":{},"sequence":"1"}`:                 `sequence: is a text, want a number`,
	`{"type":"UPDATE","update":[],"sequence":1}`:                   `update: is a list, want an object`,
	`{"type":"UNREGISTER"}`:                                        `sequence: is missing`,
	`{"type":"SUBSCRIBE","sequence":1}`:                            `subscribe: is missing`,
	`{"type":"SUBSCRIBE","sequence":1,"subscribe":{}}`:             `subscribe.agent_info: is missing`,
	`{"update":{},"type":"UPDATE"}`:                                `sequence: is missing`,
	`{"update":7,"type":"HEARTBEAT"}`:                              ``, // not of this type
	`{"subscribe":{},"sequence":1,"type":"SUBSCRIBE"}`:             `subscribe.agent_info: is missing`,
	`{"subscribe":{"agent_info":{}},"type":"SUBSCRIBE"}`:           `subscribe.agent_info.hostname: is missing`,
	subscribe(`"hostname":null`):                                   `subscribe.agent_info.hostname: is missing`,
	subscribe(`"hostname":true`):                                   `subscribe.agent_info.hostname: is a boolean, want a text`,
	subscribe(`"hostname":{}`):                                     `subscribe.agent_info.hostname: is an object, want a text`,
	subscribe(`"hostname":""`):                                     `subscribe.agent_info.hostname: is empty`,
	subscribe(`"hostname":"` + long(254) + `"`):                    `subscribe.agent_info.hostname: has 254 bytes, at most 253 are allowed`,
	subscribe(`"hostname":"h","id":{"value":"` + long(256) + `"}`): `subscribe.agent_info.id.value: has 256 bytes, at most 255 are allowed`,
	subscribe(`"hostname":"h","incarnation":"` + long(256) + `"`):  `subscribe.agent_info.incarnation: has 256 bytes, at most 255 are allowed`,
	`{"type":"SUBSCRIBE","sequence":1,"subscribe":{"version":"1","agent_info":{"hostname":"h"},"supersedes":"` + long(256) + `"}}`: `subscribe.supersedes: has 256 bytes, at most 255 are allowed`,
	task(`"task_id":{"value":"` + long(256) + `"}`):                                              `update.tasks[0].task_id.value: has 256 bytes, at most 255 are allowed`,
	task(`"executor_id":{"value":"a/b"}`):                                                        `update.tasks[0].executor_id.value: contains the character '/'`,
	task(`"resources":[{"name":"a","type":"SET","set":{},"allocation_info":{"role":"a//b"}}]`):   `update.tasks[0].resources[0].allocation_info.role: has a part that is empty`,
	resource(`"name":"a","type":"SET","set":{},"reservations":[{"role":"a/*","type":"STATIC"}]`): `update.resources[0].reservations[0].role: has a part that is "*"`,
	resource(`"name":"a","type":"SET","set":{},"role":"a/.."`):                                   `update.resources[0].role: has a part that is ".."`,
	updateOf(`"executors":[{"executor_id":{"value":"e"},"framework_id":{"value":"f"},"resources":[{"name":"a","type":"SET","set":{},"reservations":[{"role":""}]}]}]`): `update.executors[0].resources[0].reservations[0].role: is empty`,
	updateOf(`"frameworks":[{"id":{"value":"f"},"name":"n","user":"u","role":"-a"}]`):                                                                                  `update.frameworks[0].role: has a part that begins with a dash, "-a"`,
	updateOf(`"frameworks":[{"id":{"value":"f"},"name":"n","user":"u","roles":["a","` + strings.Repeat("a/", 20000) + `"]}]`):                                          `update.frameworks[0].roles[1]: has 40000 bytes, at most 1024 are allowed`,
	subscribe(`"hostname":"h","id":"a1"`):                                                               `subscribe.agent_info.id: is a text, want an object`,
	subscribe(`"hostname":"h","id":{}`):                                                                 `subscribe.agent_info.id.value: is missing`,
	subscribe(`"hostname":"h","id":{"value":""}`):                                                       `subscribe.agent_info.id.value: is empty`,
	subscribe(`"hostname":"h","port":65536`):                                                            `subscribe.agent_info.port: is 65536, want 0 to 65535`,
	subscribe(`"hostname":"h","checkpoint":1`):                                                          `subscribe.agent_info.checkpoint: is a number, want a boolean`,
	subscribe(`"hostname":"h","labels":{"a":"b","c":7}`):                                                `subscribe.agent_info.labels.c: is a number, want a text`,
	subscribe(`"hostname":"h","labels":[]`):                                                             `subscribe.agent_info.labels: is a list, want an object`,
	subscribe(`"hostname":"h","domain":{}`):                                                             `subscribe.agent_info.domain.fault_domain: is missing`,
	subscribe(`"hostname":"h","domain":{"fault_domain":{"region":{"name":"r"}}}`):                       `subscribe.agent_info.domain.fault_domain.zone: is missing`,
	subscribe(`"hostname":"h","attributes":[{"name":"a","type":"TEXT"}]`):                               `subscribe.agent_info.attributes[0].text: is missing`,
	subscribe(`"hostname":"h","attributes":[{"type":"TEXT"}]`):                                          `subscribe.agent_info.attributes[0].name: is missing`,
	subscribe(`"hostname":"h","attributes":[{"name":"a","type":"BLOB"}]`):                               `subscribe.agent_info.attributes[0].type: "BLOB" is not a type of value`,
	resource(`"name":"a","type":"SCALAR"`):                                                              `update.resources[0].scalar: is missing`,
	resource(`"name":"a","type":"SCALAR","scalar":{}`):                                                  `update.resources[0].scalar.value: is missing`,
	resource(`"name":"a","type":"TEXT","text":{"value":"x"}`):                                           `update.resources[0].text: a resource cannot be a text`,
	resource(`"name":"a","type":"RANGES","ranges":{"range":[{"begin":1,"end":2},{"begin":1}]}`):         `update.resources[0].ranges.range[1].end: is missing`,
	resource(`"name":"a","type":"SET","set":{"item":["a",7]}`):                                          `update.resources[0].set.item[1]: is a number, want a text`,
	resource(`"name":"a","type":"SET","set":{},"revocable":{}`):                                         `update.resources[0]: is revocable, shared, or of a volume or provider: the registry keeps no such resources of an agent`,
	resource(`"name":"a","type":"SET","set":{},"reservations":[{"type":"STATIC"}]`):                     `update.resources[0].reservations[0].role: is missing`,
	resource(`"name":"a","type":"SET","set":{},"reservations":[{"role":"r","type":"?"}]`):               `update.resources[0].reservations[0].type: "?" is not a type of reservation`,
	resource(`"name":"a","type":"SET","set":{},"reservations":[{"role":"r","labels":{"labels":[{}]}}]`): `update.resources[0].reservations[0].labels.labels[0].key: is missing`,
	resource(`"name":"a","type":"SCALAR","scalar":{"value":-1}`):                                        `update.resources: is not what an agent may have: resources[0].value: -1 is less than nothing`,
	updateOf(`"tasks":{}`):                                                    `update.tasks: is an object, want a list`,
	updateOf(`"tasks":[null]`):                                                `update.tasks[0]: is null, want an object`,
	updateOf(`"tasks":[{"name":"n"}]`):                                        `update.tasks[0].task_id: is missing`,
	task(`"framework_id":null`):                                               `update.tasks[0].framework_id: is missing`,
	task(`"state":7`):                                                         `update.tasks[0].state: is a number, want a text`,
	task(`"statuses":[{"state":"s"},{}]`):                                     `update.tasks[0].statuses[1].state: is missing`,
	task(`"statuses":[{"state":"s","healthy":0}]`):                            `update.tasks[0].statuses[0].healthy: is a number, want a boolean`,
	task(`"limits":{"cpus":1}`):                                               `update.tasks[0].limits.cpus: is a number, want an object`,
	task(`"limits":{"cpus":{"value":"many"}}`):                                `update.tasks[0].limits.cpus.value: is a text, and not Infinity`,
	updateOf(`"removed_tasks":[{"task_id":{"value":"t"}}]`):                   `update.removed_tasks[0].framework_id: is missing`,
	updateOf(`"removed_executors":[{"framework_id":{"value":"f"}}]`):          `update.removed_executors[0].executor_id: is missing`,
	updateOf(`"frameworks":[{"id":{"value":"f"},"name":"n"}]`):                `update.frameworks[0].user: is missing`,
	updateOf(`"executors":[{"executor_id":{"value":"e"}}]`):                   `update.executors[0].framework_id: is missing`,
	`{"type":"UPDATE","sequence":1,"update":{},"subscribe":{"agent_info":7}}`: ``, // not of this type
}

// Events likewise.
var badEvents = map[string]string{
	`{"type":"ACK","ack":{}}`:     `ack.sequence: is missing`,
	`{"type":"ACK"}`:              `ack: is missing`,
	`{"type":"DRAIN","drain":{}}`: `drain.config: is missing`,
	`{"type":"DRAIN","drain":{"config":{"max_grace_period":{"nanoseconds":-1}}}}`: `drain.config.max_grace_period.nanoseconds: is -1, want 0 to 9223372036854775807`,
	`{"type":"DRAIN","drain":{"config":{"max_grace_period":{}}}}`:                 `drain.config.max_grace_period.nanoseconds: is missing`,
	`{"type":"KILL","kill":{"task_id":{"value":"t"}}}`:                            `kill.framework_id: is missing`,
	`{"type":"KILL","kill":{"framework_id":{"value":"t"}}}`:                       `kill.task_id: is missing`,
	`{"type":"SHUTDOWN","shutdown":{}}`:                                           `shutdown.reason: is missing`,
	`{"error":{},"type":"ERROR"}`:                                                 `error.message: is missing`,
	subscribed(`"agent_id":null`):                                                 `subscribed.agent_id: is missing`,
	subscribed(`"master_id":null`):                                                `subscribed.master_id: is missing`,
	subscribed(`"heartbeat_interval_seconds":null`):                               `subscribed.heartbeat_interval_seconds: is missing`,
	subscribed(`"heartbeat_interval_seconds":0`):                                  `subscribed.heartbeat_interval_seconds: is 0, want more than 0 and at most 86400`,
	subscribed(`"heartbeat_interval_seconds":86401`):                              `subscribed.heartbeat_interval_seconds: is 86401, want more than 0 and at most 86400`,
	subscribed(`"max_missed_heartbeats":0`):                                       `subscribed.max_missed_heartbeats: is 0, want at least 1`,
	subscribed(`"max_missed_heartbeats":null`):                                    `subscribed.max_missed_heartbeats: is missing`,
	subscribed(`"max_missed_heartbeats":4294967296`):                              `subscribed.max_missed_heartbeats: is 4294967296, want 0 to 4294967295`,
}

func long(n int) string { return strings.Repeat("x", n) }

func subscribe(info string) string {
	return `{"type":"SUBSCRIBE","sequence":1,"subscribe":{"version":"1","agent_info":{` + info + `}}}`
}

func updateOf(body string) string { return `{"type":"UPDATE","sequence":1,"update":{` + body + `}}` }

func resource(body string) string { return updateOf(`"resources":[{` + body + `}]`) }

// task is an update of a task with all that is required, and its fields over
// that; members lists those that stand in both once.
func task(fields string) string {
	return updateOf(`"tasks":[` + merge(`{"name":"n","task_id":{"value":"t"},"framework_id":{"value":"f"},"state":"TASK_RUNNING"}`, fields) + `]`)
}

func subscribed(fields string) string {
	return `{"type":"SUBSCRIBED","subscribed":` + merge(`{"agent_id":{"value":"a"},"master_id":"m","heartbeat_interval_seconds":15,"max_missed_heartbeats":5}`, fields) + `}`
}

func merge(object, fields string) string {
	m := map[string]any{}
	for _, part := range []string{object, "{" + fields + "}"} {
		if err := json.Unmarshal([]byte(part), &m); err != nil {
			panic(part)
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestErrorsNameTheField(t *testing.T) {
	try := func(bad map[string]string, decode func(wire.Encoding, []byte) error) {
		for text, want := range bad {
			for e, record := range inBoth(t, text) {
				err := decode(e, record)
				if want == "" && err == nil {
					continue
				}
				var field *wire.FieldError
				if !errors.As(err, &field) || err.Error() != want {
					t.Errorf("%v of %s: error is %v, want %s", e, text, err, want)
				}
			}
		}
	}
	try(badCalls, func(e wire.Encoding, b []byte) error { _, err := wire.DecodeCall(e, b); return err })
	try(badEvents, func(e wire.Encoding, b []byte) error { _, err := wire.DecodeEvent(e, b); return err })
}

// inBoth is a JSON text in both encodings, with its members in the same order.
func inBoth(t *testing.T, text string) map[wire.Encoding][]byte {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var out bytes.Buffer
	packNext(t, dec, msgpack.NewEncoder(&out), &out)
	return map[wire.Encoding][]byte{wire.JSON: []byte(text), wire.Msgpack: out.Bytes()}
}

// packNext takes a value from dec and appends it to out.
func packNext(t *testing.T, dec *json.Decoder, enc *msgpack.Encoder, out *bytes.Buffer) {
	t.Helper()
	token, err := dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	d, ok := token.(json.Delim)
	if !ok {
		if n, ok := token.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				token = i
			} else if token, err = n.Float64(); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.Encode(token); err != nil {
			t.Fatal(err)
		}
		return
	}
	head := out.Len()
	n := 0
	for ; dec.More(); n++ {
		packNext(t, dec, enc, out)
	}
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	code := byte(0x90 | n)
	if d == '{' {
		code = byte(0x80 | n/2)
	}
	rest := bytes.Clone(out.Bytes()[head:])
	out.Truncate(head)
	out.WriteByte(code)
	out.Write(rest)
}

// Records that are not well formed, or beyond a bound.
func TestWhatCannotBeReadIsRefused(t *testing.T) {
	deep := func(n int, open, end string) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	for text, want := range map[string]string{
		"":                                                    `at byte 0: the record ends too early`,
		" ":                                                   `at byte 0: the record ends too early`,
		"\xef\xbb\xbf{}":                                      `at byte 0: invalid character '\ufeff' at start of value`,
		`{"type":"HEARTBEAT"} {}`:                             `at byte 22: the record goes on behind its end`,
		`{"type":"HEARTBEAT",}`:                               `at byte 19: invalid character ',' at start of value`,
		`{"type":"HEARTBEAT" "x":1}`:                          `at byte 20: invalid character '"' after object value (expecting ',' or '}')`,
		`{"type" "HEARTBEAT"}`:                                `at byte 8: invalid character '"' after object name (expecting ':')`,
		`{type:"HEARTBEAT"}`:                                  `at byte 2: invalid character 'y' in literal true (expecting 'r')`,
		`{"type":'HEARTBEAT'}`:                                `at byte 8: invalid character '\'' at start of value`,
		`{"type":"HEARTBEAT","x":[1 2]}`:                      `at byte 27: invalid character '2' after array element (expecting ',' or ']')`,
		`{"type":"HEARTBEAT","x":[1,]}`:                       `at byte 26: invalid character ',' at start of value`,
		`{"type":"HEARTBEAT","x":nul}`:                        `at byte 27: invalid character '}' in literal null (expecting 'l')`,
		`{"type":"HEARTBEAT","x":01}`:                         `at byte 25: invalid character '1' after object value (expecting ',' or '}')`,
		`{"type":"HEARTBEAT","x":-}`:                          `at byte 25: invalid character '}' in number (expecting digit)`,
		`{"type":"HEARTBEAT","x":1.}`:                         `at byte 26: invalid character '}' in number (expecting digit)`,
		`{"type":"HEARTBEAT","x":1e+}`:                        `at byte 27: invalid character '}' in number (expecting digit)`,
		`{"type":"HEARTBEAT","x":NaN}`:                        `at byte 24: invalid character 'N' at start of value`,
		`{"type":"\x"}`:                                       "at byte 9: invalid escape sequence `\\x` in string",
		`{"type":"\u12"}`:                                     "at byte 9: invalid escape sequence `\\u12\"}` in string",
		`{"type":"\u12g4"}`:                                   "at byte 9: invalid escape sequence `\\u12g4` in string",
		`{"type":"\ud800"}`:                                   "at byte 9: invalid surrogate pair `\\ud800\"}` in string",
		`{"type":"\ud800\u0041"}`:                             "at byte 9: invalid surrogate pair `\\ud800\\u0041` in string",
		`{"type":"\udc00x"}`:                                  "at byte 9: invalid surrogate pair `\\udc00x\"}` in string",
		"{\"type\":\"\n\"}":                                   `at byte 9: invalid character '\n' in string (expecting non-control character)`,
		"{\"type\":\"\xff\"}":                                 `at byte 9: invalid UTF-8`,
		"{\"type\":\"HEARTBEAT\",\"\xff\":1}":                 `at byte 21: invalid UTF-8`,
		"{\"type\":\"HEARTBEAT\",\"x\":\"\xff\"}":             `at byte 25: invalid UTF-8`,
		`{"type":"HEARTBEAT","type":"HEARTBEAT"}`:             `type: stands there twice`,
		`{"type":"HEARTBEAT","\u0074ype":null}`:               `type: stands there twice`,
		`{"type":"HEARTBEAT","x":` + deep(32, "[", "]") + `}`: `at byte 56: lists and objects nest deeper than 32`,
		`{"type":"HEARTBEAT","x":` + deep(31, `{"a":`, `}`) + `}`:                                          `at byte 179: missing value after object name`,
		`{"type":"HEARTBEAT","x":` + deep(1<<20, `{"a":`, `}`) + `}`:                                       `at byte 180: lists and objects nest deeper than 32`,
		subscribe(`"hostname":"h","labels":{"a":"b","a":"b"}`):                                             `subscribe.agent_info.labels.a: stands there twice`,
		subscribe(`"hostname":"h","payload":"?"`):                                                          `subscribe.agent_info.payload: is not base64`,
		subscribe(`"hostname":"h","payload":"YQ"`):                                                         `subscribe.agent_info.payload: is not base64`,
		`{"type":"UPDATE","sequence":18446744073709551616,"update":{}}`:                                    `sequence: is 18446744073709551616, want 0 to 18446744073709551615`,
		task(`"container":{"a":1e-1}`)[:90]:                                                                `at byte 90: the record ends too early`,
		strings.Replace(task(`"container":0`), `"container":0`, `"container":{"a":[{"b":1,"b":1}]}`, 1):    `update.tasks[0].container.a[0].b: stands there twice`,
		strings.Replace(task(`"container":0`), `"container":0`, `"container":`+deep(29, "[", "]"), 1):      `update.tasks[0].container: cannot be handed on: lists and objects nest deeper than 32`,
		strings.Replace(task(`"container":0`), `"container":0`, `"container":[1e400]`, 1):                  `update.tasks[0].container: cannot be handed on: 1e400 is out of the range of a float64`,
		strings.Replace(task(`"container":0`), `"container":0`, "\"container\":{\"\xff\":1}", 1):           `at byte 64: invalid UTF-8`,
		strings.Replace(task(`"limits":0`), `"limits":0`, `"limits":{"a":{"value":1},"a":{"value":1}}`, 1): `update.tasks[0].limits.a: stands there twice`,
	} {
		_, err := wire.DecodeCall(wire.JSON, []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%.200s: error is %v, want %s", text, err, want)
		}
	}
	heartbeat := "\x82\xa4type\xa9HEARTBEAT\xa1x"
	for text, want := range map[string]string{
		"":                                                 `at byte 0: the record ends too early`,
		"\xc1":                                             `at byte 0: no value of ours begins with 0xc1`,
		"\xdd\xff\xff\xff\xff":                             `at byte 5: the record ends too early`,
		"\x82\xa1a\xc0":                                    `at byte 4: the record ends too early`,
		"\xdf\xff\xff\xff\xff":                             `at byte 5: the record ends too early`,
		"\xc6\xff\xff\xff\xff":                             `at byte 5: the record ends too early`,
		"\xdb\xff\xff\xff\xff":                             `at byte 5: the record ends too early`,
		"\xc9\xff\xff\xff\xff":                             `at byte 5: the record ends too early`,
		heartbeat + "\xdd\xff\xff\xff\xff":                 `at byte 23: the record ends too early`,
		heartbeat + "\xdf\xff\xff\xff\xff":                 `at byte 23: the record ends too early`,
		heartbeat + "\xc6\xff\xff\xff\xff":                 `at byte 23: the record ends too early`,
		heartbeat + "\xdb\xff\xff\xff\xff":                 `at byte 23: the record ends too early`,
		heartbeat + "\xc9\xff\xff\xff\xff":                 `at byte 23: the record ends too early`,
		heartbeat + "\xd8":                                 `at byte 19: the record ends too early`,
		heartbeat + "\xd4\x01":                             `at byte 20: the record ends too early`,
		heartbeat + "\x93\x01\x02":                         `at byte 21: the record ends too early`,
		heartbeat + "\xa3ab":                               `at byte 19: the record ends too early`,
		heartbeat + "\xcd\x01":                             `at byte 20: the record ends too early`,
		heartbeat + "\xa1\xff":                             `at byte 20: is not valid UTF-8`,
		heartbeat + "\xc1":                                 `at byte 18: no value of ours begins with 0xc1`,
		heartbeat + "\xc0\xc0":                             `at byte 19: 1 bytes too many`,
		heartbeat + strings.Repeat("\x91", 32) + "\xc0":    `at byte 50: lists and objects nest deeper than 32`,
		heartbeat + strings.Repeat("\x91", 1<<20) + "\xc0": `at byte 50: lists and objects nest deeper than 32`,
		heartbeat + strings.Repeat("\x81\xa0", 1<<20) + "\xc0":                           `at byte 81: lists and objects nest deeper than 32`,
		"\x82\xa4type\xa9HEARTBEAT\x07\xc0":                                              `at byte 16: a name begins with 0x07, want a text`,
		"\x82\xa4type\xa9HEARTBEAT\xa1\xff\xc0":                                          `at byte 18: is not valid UTF-8`,
		"\x82\xa4type\xa9HEARTBEAT\xd9\x04type\xc0":                                      `type: stands there twice`,
		"\x81\xa4type\xa1\xff":                                                           `at byte 8: is not valid UTF-8`,
		"\x81\xa4type\xc4\x01a":                                                          `type: is bytes, an extension, or no finite number`,
		"\x82\xa4type\xa3ACK\xa3ack\x81\xa8sequence\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00": `ack.sequence: is bytes, an extension, or no finite number`,
		"\x82\xa4type\xa3ACK\xa3ack\x81\xa8sequence\xca\x7f\xc0\x00\x00":                 `ack.sequence: is bytes, an extension, or no finite number`,
		"\x82\xa4type\xa4KILL\xa4kill\x81\xabkill_policy\xc4\x00":                        `kill.kill_policy: has what JSON does not have: bytes, an extension, or no finite number`,
		"\x82\xa4type\xa4KILL\xa4kill\x81\xabkill_policy\x91\xd4\x00\x00":                `kill.kill_policy: has what JSON does not have: bytes, an extension, or no finite number`,
		"\x82\xa4type\xa4KILL\xa4kill\x81\xabkill_policy\x81\x01\x01":                    `at byte 30: a name begins with 0x01, want a text`,
	} {
		_, err := wire.DecodeEvent(wire.Msgpack, []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%.60q: error is %v, want %s", text, err, want)
		}
	}
}

// In MessagePack bytes are bytes, and a text in base64 is a text.
func TestTextsAreNotTakenForBytes(t *testing.T) {
	records := inBoth(t, subscribe(`"hostname":"h","payload":"aGk="`))
	call, err := wire.DecodeCall(wire.JSON, records[wire.JSON])
	if err != nil || string(call.(*wire.Subscribe).Agent.Payload) != "hi" {
		t.Errorf("call is %v, %v", call, err)
	}
	const want = "subscribe.agent_info.payload: is a text, want bytes"
	if _, err := wire.DecodeCall(wire.Msgpack, records[wire.Msgpack]); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestWhatIsAnnouncedCostsNoMemory(t *testing.T) {
	const most = 64 << 10 // for messages and what is kept between records
	update := "\x83\xa4type\xa6UPDATE\xa8sequence\x01\xa6update\x81\xa5tasks"
	for _, bomb := range []string{
		"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff",
		update + "\xdd\xff\xff\xff\xff", update + "\xdf\xff\xff\xff\xff",
		update + "\x91\x81\xa4name\xdb\xff\xff\xff\xff", update + "\x91\x81\xb2status_update_uuid\xc6\xff\xff\xff\xff",
		update + "\x91\x81\xa6labels\x81\xa6labels\xdd\xff\xff\xff\xff", update + "\x91\x81\xa9container\xdd\xff\xff\xff\xff",
		update + "\x91\x81\xa9container\xdf\xff\xff\xff\xff", update + "\x91\x81\xa6limits\xdf\xff\xff\xff\xff",
		update + strings.Repeat("\xdd\x00\x00\xff\xff", 1000),
		update + strings.Repeat("\x91", 1<<20), strings.Repeat("[", 1<<20), strings.Repeat(`{"subscribe":`, 1<<18),
	} {
		for _, e := range encodings {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := wire.DecodeCall(e, []byte(bomb))
			runtime.ReadMemStats(&after)
			if took := int(after.TotalAlloc-before.TotalAlloc) - len(bomb); err == nil || took > most {
				t.Errorf("%v of %.60q takes %d bytes of memory, want at most %d; %v", e, bomb, took, most, err)
			}
		}
	}
}

func TestRecordsThatAreCutAreRefused(t *testing.T) {
	for _, s := range samples {
		for _, e := range encodings {
			record, err := s.append(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			for n := range record {
				var syntax *wire.SyntaxError
				if v, err := s.decode(e, record[:n:n]); !errors.As(err, &syntax) {
					t.Errorf("%s, %v: the first %d of %d bytes are %v, %v", s.name, e, n, len(record), v, err)
				}
			}
		}
	}
}

// What a newer version adds: a field in every object, and records of types that
// nobody here knows.
func TestWhatIsNewerIsPassedOver(t *testing.T) {
	for _, s := range samples {
		record, err := s.append(nil, wire.JSON)
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(record))
		dec.UseNumber()
		var plain any
		if err := dec.Decode(&plain); err != nil {
			t.Fatal(err)
		}
		grow(plain)
		if record, err = json.Marshal(plain); err != nil {
			t.Fatal(err)
		}
		got, err := s.decode(wire.JSON, record)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		} else if diff := cmp.Diff(s.value(), got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", s.name, diff)
		}
	}
	for e, record := range inBoth(t, `{"type":"SING","sequence":7,"sing":{"song":[1,{"a":null}],"b":true},"update":7,"ack":false}`) {
		want := &wire.Unknown{Type: "SING", Sequence: 7}
		if got, err := wire.DecodeCall(e, record); err != nil || !cmp.Equal(got, wire.Call(want)) {
			t.Errorf("%v: call is %v, %v", e, got, err)
		}
		if got, err := wire.DecodeEvent(e, record); err != nil || !cmp.Equal(got, wire.Event(want)) {
			t.Errorf("%v: event is %v, %v", e, got, err)
		}
	}
	// What only msgpack has, in a field that nobody knows.
	odd := "\x82\xa4type\xa9HEARTBEAT\xa1x\x95\xd4\x01\x00\xc7\x02\x05ab\xc4\x01a\xca\x00\x00\x00\x00\xd7\xff12345678"
	if got, err := wire.DecodeCall(wire.Msgpack, []byte(odd)); err != nil || !cmp.Equal(got, wire.Call(&wire.Heartbeat{})) {
		t.Errorf("call is %v, %v", got, err)
	}
}

// free are members whose value is anybody's: what is new in them is not ours.
var free = map[string]bool{
	"labels": true, "limits": true, "discovery": true, "container": true, "health_check": true, "kill_policy": true,
	"container_status": true, "check_status": true, "limitation": true, "offer_filters": true, "command": true,
	"disk": true, "revocable": true, "shared": true,
}

func grow(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if !free[k] {
				grow(v[k])
			}
		}
		v["zz_new"] = map[string]any{"a": []any{1, "x", nil, map[string]any{}}, "type": 7}
		v["a_new"] = "größe"
	case []any:
		for i := range v {
			grow(v[i])
		}
	}
}

func TestNullIsAbsent(t *testing.T) {
	for e, record := range inBoth(t, `{"type":"SUBSCRIBE","sequence":1,"update":null,"subscribe":{"version":"1","capabilities":null,`+
		`"agent_id":null,"tasks":null,"x":null,"agent_info":{"hostname":"h","port":null,"labels":{"a":null},"domain":null,"payload":null}}}`) {
		want := &wire.Subscribe{Sequence: 1, Version: "1", Agent: registry.Agent{Hostname: "h"}}
		got, err := wire.DecodeCall(e, record)
		if diff := cmp.Diff(wire.Call(want), got); diff != "" || err != nil {
			t.Errorf("%v: %v\n%s", e, err, diff)
		}
	}
}

func TestRawIsInOneForm(t *testing.T) {
	for text, want := range map[string]wire.Raw{
		" { \"a\" : [ 1 , 2.50 , -0 , -0.0, 1e2 , true , null ] , \"b\\u0041\" : \"\\/\\u00e9\\ud83d\\ude00\\n\" } ": `{"a":[1,2.5,0,0,100,true,null],"bA":"/é😀\n"}`,
		`12345678901234567890123`:          `1.2345678901234568e+22`,
		`18446744073709551615`:             `18446744073709551615`,
		`-9223372036854775808`:             `-9223372036854775808`,
		`-9223372036854775809`:             `-9223372036854776000`,
		`9007199254740993.0`:               `9007199254740992`,
		`0.000001`:                         `0.000001`,
		`1E-7`:                             `1e-7`,
		`0.000000000000000000000000000125`: `1.25e-28`,
		`"a\u007f"`:                        "\"a\x7f\"",
	} {
		got, err := wire.DecodeEvent(wire.JSON, []byte(`{"type":"KILL","kill":{"task_id":{"value":"t"},"framework_id":{"value":"f"},"kill_policy":`+text+`}}`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := got.(*wire.Kill).KillPolicy; got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

func TestErrorsQuoteLittle(t *testing.T) {
	many := strings.Repeat("é", 1<<19)
	for _, text := range []string{
		subscribe(`"hostname":"h","labels":{"` + many + `":7}`),
		subscribe(`"hostname":"h","attributes":[{"name":"a","type":"` + many + `"}]`),
		subscribe(`"hostname":"h","id":{"value":"` + many + `"}`),
		updateOf(`"frameworks":[{"id":{"value":"f"},"name":"n","user":"u","role":"-` + many[:1000] + `"}]`),
	} {
		_, err := wire.DecodeCall(wire.JSON, []byte(text))
		if err == nil || len(err.Error()) > 160 || !utf8.ValidString(err.Error()) {
			t.Errorf("error is %v, want one of at most 160 bytes", err)
		}
	}
}

func TestRawOfManyNamesIsRead(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `,"%d":%d`, i, i)
	}
	text := func(more string) []byte {
		return []byte(task(`"container":0`)[:len(task(`"container":0`))-len(`0,"framework_id":{"value":"f"},"name":"n","state":"TASK_RUNNING","task_id":{"value":"t"}}]}}`)] +
			`{` + b.String()[1:] + more + `},"framework_id":{"value":"f"},"name":"n","state":"s","task_id":{"value":"t"}}]}}`)
	}
	got, err := wire.DecodeCall(wire.JSON, text(""))
	if err != nil {
		t.Fatal(err)
	}
	if raw := got.(*wire.Update).Tasks[0].Container; string(raw) != "{"+b.String()[1:]+"}" {
		t.Errorf("container is %s", raw)
	}
	for _, name := range []string{"0", "50", "99"} {
		want := `update.tasks[0].container[` + name + `]: stands there twice`
		if _, err := wire.DecodeCall(wire.JSON, text(`,"`+name+`":1`)); err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestWhatNobodyWouldUnderstandIsNotSaid(t *testing.T) {
	for want, s := range map[string]sample{
		`subscribe.version: is not valid UTF-8`:           {call: &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "h"}, Version: "\xff"}},
		`subscribe.agent_info.labels: is not valid UTF-8`: {call: &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "h", Labels: map[string]string{"\xff": ""}}}},
		`subscribe.agent_info.attributes[0].scalar.value: is not a finite number`: {call: &wire.Subscribe{Sequence: 1, Agent: registry.Agent{
			Hostname: "h", Attributes: []registry.Attribute{{Value: registry.Scalar(math.NaN())}},
		}}},
		`subscribe.agent_info.attributes[1].scalar.value: is not a finite number`: {call: &wire.Subscribe{Sequence: 1, Agent: registry.Agent{
			Hostname: "h", Attributes: []registry.Attribute{{}, {Value: registry.Scalar(math.Inf(1))}},
		}}},
		`subscribe.agent_info.attributes[0].type: is no kind of value`: {call: &wire.Subscribe{Sequence: 1, Agent: registry.Agent{
			Hostname: "h", Attributes: []registry.Attribute{{Value: registry.Value{Kind: 4}}},
		}}},
		`update.resources[0].text: a resource cannot be a text`: {call: &wire.Update{Resources: []registry.Resource{{Value: registry.Text("")}}}},
		`update.tasks[1].task_id: is missing`:                   {call: &wire.Update{Tasks: []wire.Task{fullTask, {FrameworkID: "f"}}}},
		`update.tasks[0].framework_id: is missing`:              {call: &wire.Update{Tasks: []wire.Task{{ID: "t"}}}},
		`update.frameworks[0].id: is missing`:                   {call: &wire.Update{Frameworks: []wire.FrameworkInfo{{}}}},
		`update.executors[0].executor_id: is missing`:           {call: &wire.Update{Executors: []wire.ExecutorInfo{{}}}},
		`update.executors[0].shutdown_grace_period.nanoseconds: is -1ns, want at least 0`: {call: &wire.Update{Executors: []wire.ExecutorInfo{
			{ID: "e", FrameworkID: "f", ShutdownGracePeriod: ptr(time.Duration(-1))},
		}}},
		`kill.kill_policy: is not JSON that can be handed on: at byte 1: the record ends too early`: {event: &wire.Kill{
			Task: wire.TaskRef{FrameworkID: "f", ID: "t"}, KillPolicy: `{`,
		}},
		`kill.kill_policy: is not JSON that can be handed on: it goes on at byte 2`: {event: &wire.Kill{
			Task: wire.TaskRef{FrameworkID: "f", ID: "t"}, KillPolicy: `{},`,
		}},
		`kill.kill_policy: is null: leave it out`: {event: &wire.Kill{
			Task: wire.TaskRef{FrameworkID: "f", ID: "t"}, KillPolicy: `null`,
		}},
		`subscribed.heartbeat_interval_seconds: is 0s, want more than 0 and at most 24h0m0s`: {event: &wire.Subscribed{AgentID: "a"}},
		`subscribed.heartbeat_interval_seconds: is 24h0m0.000000001s, want more than 0 and at most 24h0m0s`: {event: &wire.Subscribed{
			AgentID: "a", Heartbeat: 24*time.Hour + 1,
		}},
		`subscribed.max_missed_heartbeats: is 0, want at least 1`: {event: &wire.Subscribed{AgentID: "a", Heartbeat: 1}},
		`subscribe.agent_info.hostname: is empty`:                 {call: &wire.Subscribe{Sequence: 1}},
		`update.frameworks[0].roles[1]: begins or ends with a slash`: {call: &wire.Update{Frameworks: []wire.FrameworkInfo{
			{ID: "f", Name: "n", User: "u", Roles: []string{"a", "b/"}},
		}}},
		`subscribed.agent_id: is missing`: {event: &wire.Subscribed{Heartbeat: 1}},
	} {
		for _, e := range encodings {
			b, err := s.append([]byte("before"), e)
			if err == nil || err.Error() != want || string(b) != "before" {
				t.Errorf("%v: error is %v, want %s; %q is left", e, err, want, b)
			}
		}
	}
}

func TestValuesNestToTheBound(t *testing.T) {
	for _, e := range encodings {
		deep := wire.Raw(strings.Repeat("[", 30) + strings.Repeat("]", 30))
		want := &wire.Kill{Task: wire.TaskRef{FrameworkID: "f", ID: "t"}, KillPolicy: deep}
		record, err := wire.AppendEvent(nil, e, want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.DecodeEvent(e, record); err != nil || !cmp.Equal(got, wire.Event(want)) {
			t.Errorf("%v: %v, %v", e, got, err)
		}
		deep = "[" + deep + "]"
		if _, err := wire.AppendEvent(nil, e, &wire.Kill{Task: wire.TaskRef{FrameworkID: "f", ID: "t"}, KillPolicy: deep}); err == nil ||
			!strings.HasSuffix(err.Error(), " nest deeper than 32") {
			t.Errorf("%v: error is %v, want one about its depth", e, err)
		}
	}
}
