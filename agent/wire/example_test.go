package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// An agent says who it is, and its master reads it.
func Example() {
	var up bytes.Buffer // the body of a request
	err := wire.NewWriter(&up).Call(wire.JSON, &wire.Subscribe{
		Sequence: 1,
		Agent: registry.Agent{
			Hostname:  "host-1",
			Resources: []registry.Resource{{Name: "cpus", Value: registry.Scalar(4)}},
		},
		Version: "1.12.0",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(up.String())

	record, err := wire.NewReader(&up, 1<<20).Next()
	if err != nil {
		log.Fatal(err)
	}
	call, err := wire.DecodeCall(wire.JSON, record)
	if err != nil {
		log.Fatal(err)
	}
	switch call := call.(type) {
	case *wire.Subscribe:
		fmt.Println(call.Agent.Hostname, "has", call.Agent.Resources[0].Value.Scalar, "cpus")
	case *wire.Unknown:
		fmt.Println("somebody newer said", call.Type)
	}
	// Output:
	// 168
	// {"type":"SUBSCRIBE","sequence":1,"subscribe":{"agent_info":{"hostname":"host-1","resources":[{"name":"cpus","type":"SCALAR","scalar":{"value":4}}]},"version":"1.12.0"}}
	// host-1 has 4 cpus
}

// What is wrong with a record is said by the name of the field.
func ExampleFieldError() {
	_, err := wire.DecodeCall(wire.JSON, []byte(`{"type":"SUBSCRIBE","sequence":1,"subscribe":{"agent_info":{"port":"http"}}}`))
	var field *wire.FieldError
	if errors.As(err, &field) {
		fmt.Println(field.Field)
		fmt.Println(field.Reason)
	}
	// Output:
	// subscribe.agent_info.port
	// is a text, want a number
}
