package metrics

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

func parsedV0(t *testing.T, b []byte) (all map[string]float64) {
	if err := json.Unmarshal(b, &all); err != nil {
		t.Errorf("%v in %s", err, b)
	}
	return all
}

func TestATimerShowsItsLastTimeAndThoseOfItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table Table
		timer := NewTimer(time.Hour)
		if err := table.Timer("store", timer); err != nil {
			t.Fatal(err)
		}
		expect := func(want string) {
			t.Helper()
			if got := string(written(t, &table, V0)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		expect(`{}`)
		timer.Observe(2 * time.Millisecond)
		expect(`{"store_ms":2.0}`)
		time.Sleep(time.Minute)
		timer.Observe(1 * time.Millisecond)
		time.Sleep(time.Minute)
		timer.Observe(4 * time.Millisecond)
		expect(`{"store_ms":4.0,"store_ms/count":3.0,"store_ms/max":4.0,"store_ms/min":1.0,"store_ms/p50":2.0,` +
			`"store_ms/p90":3.6,"store_ms/p95":3.8,"store_ms/p99":3.96,"store_ms/p999":3.996,"store_ms/p9999":3.9996}`)
		time.Sleep(2 * time.Hour) // time alone takes nothing away
		if got := parsedV0(t, written(t, &table, V0))["store_ms/count"]; got != 3 {
			t.Errorf("%v points before a newer one came, want 3", got)
		}
		timer.Observe(8 * time.Millisecond)
		expect(`{"store_ms":8.0}`)
		if err := table.Remove("store_ms/max"); err != nil || table.Len() != 0 {
			t.Errorf("a timer that was removed left %d names, and %v", table.Len(), err)
		}
	})
}

func TestATimerKeepsAThousandPoints(t *testing.T) {
	timer := NewTimer(24 * time.Hour)
	at := time.Unix(1e9, 0)
	for i := range 1002 {
		timer.observe(at.Add(time.Duration(i)*time.Second), time.Duration(i)*time.Millisecond)
	}
	values := make([]float64, len(timerNames("")))
	timer.read(values)
	if got := values[:4]; got[0] != 1001 || got[1] > 1000 || got[2] != 1001 || got[3] != 0 {
		t.Errorf("last, count, max, min are %v; want 1001, up to 1000, 1001, 0", got)
	}
	if n := len(timer.points); n != int(values[1]) || n < 700 {
		t.Errorf("%d points are kept", n)
	}
}
