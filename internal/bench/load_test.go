package bench

import (
	"encoding/json"
	"testing"
	"time"
)

func TestLoadMeasuresEachEndpoint(t *testing.T) {
	phases := 0
	b := Load{Setup: 1, ChangesPerSecond: 1000, Rounds: 1, Dir: t.TempDir(), Client: testStateClient, Progress: func() { phases++ }}
	r, err := b.run(t.Context(), loadSetup{stateFleet{agents: 3, frameworks: 2, tasks: 2, completed: 1}, 2})
	if err != nil {
		t.Fatal(err)
	}
	if phases != b.Phases() {
		t.Errorf("progress was told of %d phases, not %d", phases, b.Phases())
	}
	if p := r.Params; p.Agents != 3 || p.Tasks != 12 || p.CompletedTasks != 6 || p.Pairs != 2 || p.StateBytes == 0 {
		t.Errorf("the parameters are %+v", p)
	}
	want := []LoadRow{
		{Case: "pairs", Endpoint: "/state", Answers: 2}, {Case: "pairs", Endpoint: "/flags", Answers: 2},
		{Case: "responsiveness", Endpoint: "/health", Answers: loadProbes}, {Case: "responsiveness", Endpoint: "/state"},
		{Case: "principals", Endpoint: "/state", Answers: 2 * principalTurns},
	}
	if len(r.Results) != len(want) {
		t.Fatalf("%d rows, want %d", len(r.Results), len(want))
	}
	for i, row := range r.Results {
		w := want[i]
		if row.Case != w.Case || row.Endpoint != w.Endpoint || w.Answers > 0 && row.Answers != w.Answers ||
			row.Changes == 0 || row.Min <= 0 || row.Max < row.P50 || row.IdleP50 <= 0 {
			t.Errorf("row %d is %+v", i, row)
		}
		if crowded := row.Case == "principals"; crowded != (row.Clients == 2) || crowded != (row.RatioToOneView > 0) {
			t.Errorf("row %d has %d clients at once, and %v to those of one view", i, row.Clients, row.RatioToOneView)
		}
	}
}

func TestPairsAreSentWhenTheyAreDue(t *testing.T) {
	lines := pairLines(2)
	want := []readLine{
		{Path: "/state", Times: 1}, {Path: "/flags", Times: 1},
		{Path: "/state", Times: 1, After: 200 * time.Millisecond}, {Path: "/flags", Times: 1, After: 200 * time.Millisecond},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("line %d is %+v, want %+v", i, lines[i], want[i])
		}
	}
}

func TestLoadRowHasTheseFields(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(100-i)*time.Second)
	}
	s := loadSample{map[string][]time.Duration{"/flags": took}, map[string][]time.Duration{"/flags": {3 * time.Second}}, 7}
	got, err := json.Marshal(loadRow("pairs", "/flags", 2, s))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"case":"pairs","endpoint":"/flags","answers":100,"changes":7,"min":1,"p25":25,"p50":50,"p75":75,"p90":90,"max":100,` +
		`"idle_min":3,"idle_p50":3,"idle_p90":3,"idle_max":3,"published_p50":0.831,"published_max":2.444}`
	if string(got) != want {
		t.Errorf("row is\n%s, want\n%s", got, want)
	}
	if row := loadRow("responsiveness", "/flags", 2, s); row.PublishedP50 != 0 {
		t.Error("figures of another load stand beside ours")
	}
}
