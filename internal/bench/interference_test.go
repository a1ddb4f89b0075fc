package bench

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestInterferenceMeasuresEachLoadAndLeavesNothing(t *testing.T) {
	dir, phases := t.TempDir(), 0
	b := Interference{Agents: 200, AgentBytes: []int{144, 600}, Rounds: 1, Dir: dir, Progress: func() { phases++ }}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if phases != b.Phases() {
		t.Errorf("progress was told of %d phases, not %d", phases, b.Phases())
	}
	wantEmpty(t, dir)
	if len(r.Results) != 2*len(loads) {
		t.Fatalf("%d rows, want %d", len(r.Results), 2*len(loads))
	}
	for i, row := range r.Results {
		alone := i%len(loads) == 0
		if row.Load != loads[i%len(loads)].name || row.AgentBytes != b.AgentBytes[i/len(loads)] || row.Seconds <= 0 ||
			alone != (row.RatioToAlone == 0) || alone != (row.Units == 0) {
			t.Errorf("row %d is %+v", i, row)
		}
	}
}

func TestInterferenceRowHasTheseFields(t *testing.T) {
	text, err := json.Marshal(InterferenceRow{Load: "reader", Agents: 1, AgentBytes: 144, Seconds: 2, RatioToAlone: 3, Units: 4})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"load": "reader", "agents": 1.0, "agent_bytes": 144.0, "seconds": 2.0, "ratio_to_alone": 3.0, "units": 4.0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("row is %v, want %v", got, want)
	}
}
