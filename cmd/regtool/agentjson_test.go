package main

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

// fullAgent has something in every field, and every kind of value.
func fullAgent() registry.Agent {
	return registry.Agent{
		ID: "a1", Incarnation: "boot-7", Hostname: "host-1", Port: 5051, Checkpoint: true,
		Resources: []registry.Resource{
			{Name: "cpus", Value: registry.Scalar(0)},
			{Name: "mem", Value: registry.Scalar(15026.125), Reservations: []registry.Reservation{
				{Role: "eng"},
				{Role: "eng/web", Dynamic: true, Principal: "ops", Labels: []registry.Label{
					{Key: "why", Value: "cache"}, {Key: "empty"}, {Key: "bare", Bare: true}}},
			}},
			{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 31000, End: 32000}, registry.Range{Begin: 1<<64 - 1, End: 1<<64 - 1})},
			{Name: "disks", Value: registry.Set("sda", "sdb")},
		},
		Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text("")}, {Name: "level", Value: registry.Scalar(3)}},
		Domain:     registry.Domain{Region: "eu", Zone: "eu-1"},
		Labels:     map[string]string{"team": "\x1b<blue> & \u2028"},
		Payload:    []byte{0, 255, 10},
	}
}

func TestAgentComesBackFromJSON(t *testing.T) {
	for _, want := range []registry.Agent{{ID: "bare"}, fullAgent()} {
		var text bytes.Buffer
		if err := writeJSON(&text, toAgentJSON(want)); err != nil {
			t.Fatal(err)
		}
		got, err := readAgent(&text)
		if err != nil {
			t.Fatalf("agent %s: %v", want.ID, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestAgentJSONIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"a1","hostnam":"h"}`:                              `line 1, field "/hostnam": unknown field`,
		`{"id":"a1","Hostname":"h"}`:                             `line 1, field "/Hostname": unknown field`,
		"{\n\"id\":\"a1\",\n\"id\":\"a2\"}":                      `line 3, field "/id": duplicate object member name`,
		`{"id":7}`:                                               `line 1, field "/id": a JSON number does not fit here`,
		`{"id":"a1","port":70000}`:                               `line 1, field "/port": value out of range`,
		`{"id":"a1","port":-1}`:                                  `line 1, field "/port": invalid syntax`,
		`{"id":"a1","resources":[{"name":"cpus"}]}`:              `field "/resources/0": one of scalar, ranges, set and text must be there`,
		`{"id":"a1","attributes":[{"text":"a","scalar":1}]}`:     `field "/attributes/0": one of scalar, ranges, set and text must be there`,
		`{"id":"a1","resources":[{"name":"cpus","scalar":"4"}]}`: `line 1, field "/resources/0/scalar": a JSON string does not fit here`,
		`{"id":"a1","resources":[{"name":"cpus","cpu":4}]}`:      `line 1, field "/resources/0/cpu": unknown field`,
		`{"id":"a1","payload":"%%"}`:                             `line 1, field "/payload": illegal base64 data at input byte 0`,
		`{"id":"a1"} {"id":"a2"}`:                                `line 1: invalid character '{' after top-level value`,
		"{\"id\":\"a\xff\"}":                                     `line 1, field "/id": invalid UTF-8`,
		`{"id":"a1"`:                                             `line 1: unexpected EOF`,
		``:                                                       `line 1: unexpected EOF`,
	} {
		_, err := readAgent(strings.NewReader(text))
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestAgentFileHasABound(t *testing.T) {
	text := `{"id":"` + strings.Repeat("a", maxAgentFile) + `"}`
	if _, err := readAgent(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "more than 8388608 bytes") {
		t.Errorf("got %v", err)
	}
}
