package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

// FuzzReadAgent reads any text as an agent: what it takes that a registry would
// take too, it reads again as the same from what it writes.
func FuzzReadAgent(f *testing.F) {
	f.Add([]byte(`{"id":"a6","hostname":"host-6","port":5051,"resources":[{"name":"cpus","scalar":4},{"name":"ports","ranges":[{"begin":31000,"end":32000}]},{"name":"disks","set":["sda"],"reservations":[{"role":"db","labels":[{"key":"k"}]}]}],"attributes":[{"name":"rack","text":"r12"}],"domain":{"region":"eu","zone":"eu-1"},"checkpoint":true,"labels":{"team":"blue"},"payload":"aGVsbG8="}`))
	f.Add([]byte(`[{"id":"a1","state":"admitted","since":1,"agent":{"id":"a1"}}]`))
	f.Add([]byte(`{"id":"a","id":"b"}`))
	f.Add([]byte(`{"id":"a","resources":[{"name":"x","scalar":1e999}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := readAgent(bytes.NewReader(text))
		if err != nil || a.Validate() != nil {
			return
		}
		out, err := json.Marshal(toAgentJSON(a))
		if err != nil {
			t.Fatal(err)
		}
		again, err := readAgent(bytes.NewReader(out))
		if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if got, want := encoded(t, again), encoded(t, a); !reflect.DeepEqual(got, want) {
			t.Errorf("read again it is %+v, was %+v", again, a)
		}
	})
}

func encoded(t *testing.T, a registry.Agent) registry.Encoded {
	t.Helper()
	e, err := registry.Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
