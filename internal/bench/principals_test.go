package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEachPrincipalSeesHisRoleAndOneSeesEverything(t *testing.T) {
	fleet := stateFleet{agents: 3, frameworks: 2, tasks: 2, completed: 1}
	cluster, err := startStateCluster(t.Context(), t.TempDir(), fleet, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.close()
	client, err := startStateClient(testStateClient(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.kill()
	p, err := admitPrincipals(t.Context(), client, cluster, fleet.frameworks) // which fails if they see anything else
	if err != nil {
		t.Fatal(err)
	}
	if len(p.own) != 2 || len(p.one) != 2 || p.own[0] == p.own[1] || p.one[0] != p.one[1] {
		t.Errorf("there are %d with a view of their own and %d of one view", len(p.own), len(p.one))
	}
	if err := p.sees(t.Context(), p.own[0], fleet.running()); err == nil || err.Error() != "a principal sees 6 tasks, 12 are due" {
		t.Errorf("a principal was to see everything: %v", err)
	}
	if _, err := client.readOne(cluster.address, guardedPath+"/state"); err == nil || !strings.HasSuffix(err.Error(), "answered 401 Unauthorized") {
		t.Errorf("nobody in particular asked: %v", err)
	}
	var s principalsSample
	before := cluster.moment
	if err := p.measure(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	const both = 2 * principalTurns
	if len(s.own.took) != both || len(s.one.took) != both || len(s.ratios) != principalTurns || len(s.idle) != idleStates ||
		s.own.bytes == 0 || s.own.bytes >= s.one.bytes {
		t.Errorf("the sample is %+v", s)
	}
	if slices.Min(s.ratios) <= 0 {
		t.Errorf("the ratios are %v", s.ratios)
	}
	if n := cluster.moment - before; n != s.changes || n != both*changeGroup {
		t.Errorf("%d tasks changed, %d are told of", n, s.changes)
	}
}

func TestPrincipalsRowHasTheseFields(t *testing.T) {
	seconds := func(list ...int) (all []time.Duration) {
		for _, n := range list {
			all = append(all, time.Duration(n)*time.Second)
		}
		return all
	}
	s := principalsSample{
		own: askers{seconds(1, 2, 3, 4), 10}, one: askers{seconds(8, 6, 10, 12), 100},
		ratios: []float64{0.5, 0.25, 2}, idle: seconds(1), changes: 7,
	}
	got, err := json.Marshal(principalsRow(2, s))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"case":"principals","endpoint":"/state","answers":4,"changes":7,"min":1,"p25":1,"p50":2,"p75":3,"p90":4,"max":4,` +
		`"idle_min":1,"idle_p50":1,"idle_p90":1,"idle_max":1,"clients":2,"bytes":10,"one_view_bytes":100,"one_view_p50":8,"one_view_max":12,` +
		`"ratio_to_one_view":0.5}`
	if string(got) != want {
		t.Errorf("row is\n%s, want\n%s", got, want)
	}
}
