package main

import (
	"encoding/json"
	"slices"
	"testing"
)

// podAnswer is what a master says of one pod of each kind.
const podAnswer = `[
 {"id":"/stable","status":"STABLE","statusSince":"2026-01-02T15:04:05.678Z","spec":{"id":"/stable"},
  "instances":[{"id":"stable.instance-1","status":"STABLE","statusSince":"2026-01-02T15:04:05.678Z","agentHostname":"h1","agentId":"a1"}]},
 {"id":"/short","status":"DEGRADED","statusSince":"2026-01-02T15:04:06.000Z","spec":{"scaling":{"kind":"fixed","instances":4}},
  "instances":[{"id":"i1","status":"STABLE"},{"id":"i2","status":"DEGRADED","message":"pod instance has become unreachable"},{"id":"i3","status":"PENDING"}]},
 {"id":"/none","status":"STABLE","statusSince":"2026-01-02T15:04:07.000Z","spec":{"scaling":{"instances":0}},"instances":[]},
 {"id":"/many","status":"STABLE","statusSince":"2026-01-02T15:04:08.000Z","spec":{},
  "instances":[{"id":"i1","status":"STABLE"},{"id":"i2","status":"TERMINAL"},{"id":"i3","status":"STAGING"},{"id":"i4","status":"STAGING"}]}
]`

func TestPodsAreTableRowsThatSayWhatIsNotStable(t *testing.T) {
	var pods []podStatus
	if err := json.Unmarshal([]byte(podAnswer), &pods); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"/stable", "STABLE", "1/1", "2026-01-02T15:04:05.678Z", ""},
		{"/short", "DEGRADED", "1/4", "2026-01-02T15:04:06.000Z", "1 PENDING, 1 DEGRADED, 1 not reported"},
		{"/none", "STABLE", "0/0", "2026-01-02T15:04:07.000Z", ""},
		{"/many", "STABLE", "1/1", "2026-01-02T15:04:08.000Z", "2 STAGING, 1 TERMINAL"},
	}
	if got := podStatusRows(pods); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("rows are\n%q, want\n%q", got, want)
	}
}

func TestPodsHaveAJSONFormOfOurOwn(t *testing.T) {
	var pods []podStatus
	if err := json.Unmarshal([]byte(podAnswer), &pods); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(toPodStatusJSON(pods[:2]))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"pod":"/stable","status":"STABLE","since":"2026-01-02T15:04:05.678Z","wanted":1,"stable":1,` +
		`"instances":[{"instance":"stable.instance-1","status":"STABLE","since":"2026-01-02T15:04:05.678Z","agent_hostname":"h1","agent_id":"a1"}]},` +
		`{"pod":"/short","status":"DEGRADED","since":"2026-01-02T15:04:06.000Z","wanted":4,"stable":1,` +
		`"instances":[{"instance":"i1","status":"STABLE","since":""},{"instance":"i2","status":"DEGRADED","since":"","message":"pod instance has become unreachable"},` +
		`{"instance":"i3","status":"PENDING","since":""}]}]`
	if string(got) != want {
		t.Errorf("it is\n%s, want\n%s", got, want)
	}
	if empty, err := json.Marshal(toPodStatusJSON(nil)); err != nil || string(empty) != "[]" {
		t.Errorf("of no pods it is %s, %v", empty, err)
	}
}
