package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/agent/wire"
)

const manual = "../../docs/agent-api.md"

var fences = regexp.MustCompile("(?s)```(json up|json down|text)\n(.*?)```\n")

func TestExamplesOfTheManualAreRecords(t *testing.T) {
	page, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, fence := range fences.FindAllStringSubmatch(string(page), -1) {
		text := strings.TrimSuffix(fence[2], "\n")
		if fence[1] == "text" {
			framesOfManual(t, text)
			continue
		}
		var said any
		var again []byte
		if fence[1] == "json up" {
			call, err := wire.DecodeCall(wire.JSON, []byte(text))
			if err != nil {
				t.Errorf("%v\n%s", err, text)
				continue
			}
			said = call
			again, err = wire.AppendCall(nil, wire.JSON, call)
			if err != nil {
				t.Error(err)
			}
		} else {
			event, err := wire.DecodeEvent(wire.JSON, []byte(text))
			if err != nil {
				t.Errorf("%v\n%s", err, text)
				continue
			}
			said = event
			again, err = wire.AppendEvent(nil, wire.JSON, event)
			if err != nil {
				t.Error(err)
			}
		}
		var want bytes.Buffer
		if err := json.Compact(&want, []byte(text)); err != nil {
			t.Fatal(err)
		}
		// Nothing in it is unknown, and so was passed over.
		if diff := cmp.Diff(want.String(), string(again)); diff != "" {
			t.Errorf("an example, as we would write it (-example +ours)\n%s", diff)
		}
		shown[typeOf(said, fence[1])] = true
	}
	for _, s := range samples {
		dir := "json up"
		if s.call == nil {
			dir = "json down"
		}
		if name := typeOf(s.value(), dir); !shown[name] && !strings.HasPrefix(name, "*wire.Unknown") {
			t.Errorf("%s has no example of a %s", manual, name)
		}
	}
}

func typeOf(v any, dir string) string { return fmt.Sprintf("%T in %s", v, dir) }

// framesOfManual reads an example of a stream.
func framesOfManual(t *testing.T, text string) {
	records, err := readAll(wire.NewReader(strings.NewReader(text), 1000))
	if err != io.EOF || len(records) != 2 {
		t.Errorf("%q is %q, %v", text, records, err)
	}
	for _, record := range records {
		if _, err := wire.DecodeCall(wire.JSON, []byte(record)); err != nil {
			t.Errorf("%s: %v", record, err)
		}
	}
}

// Each member that a record can have stands in the manual.
func TestManualHasEveryMember(t *testing.T) {
	page, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		for name := range members(plainJSON(t, s), map[string]bool{}) {
			if !bytes.Contains(page, []byte("`"+name+"`")) && !bytes.Contains(page, []byte(`"`+name+`"`)) {
				t.Errorf("%s does not have %q of %s", manual, name, s.name)
			}
		}
	}
}

// members gathers the names in v, but for those that are data.
func members(v any, into map[string]bool) map[string]bool {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if into[k] = true; !free[k] {
				members(v[k], into)
			}
		}
	case []any:
		for i := range v {
			members(v[i], into)
		}
	}
	return into
}
