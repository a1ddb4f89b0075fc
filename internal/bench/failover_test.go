package bench

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
)

func TestFailoverMeasuresEachSizeAndLeavesNothing(t *testing.T) {
	for _, msgpack := range []bool{false, true} {
		phases := 0
		b := Failover{Agents: []int{1, 5}, Frameworks: 2, Tasks: 2, Completed: 1, Rounds: 1, Msgpack: msgpack, Dir: t.TempDir(),
			Master: testMaster, Floor: testFloor, Progress: func() { phases++ }}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if phases != b.Phases() || len(r.Results) != 2 {
			t.Fatalf("%d phases of %d, %d rows", phases, b.Phases(), len(r.Results))
		}
		for i, row := range r.Results {
			if row.Agents != b.Agents[i] || row.Tasks != 6*b.Agents[i] || row.RegistryWrites != 1 ||
				row.Seconds <= 0 || row.RecoverSeconds <= 0 || row.FloorSeconds <= 0 || row.RatioToFloor <= 0 || row.Mesos112 != 0 {
				t.Errorf("row %d is %+v", i, row)
			}
		}
		if left, err := os.ReadDir(b.Dir); err != nil || len(left) > 0 {
			t.Errorf("left behind are %v, %v", left, err)
		}
	}
}

func TestFailoverEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := Failover{Agents: []int{1}, Frameworks: 1, Rounds: 1000, Dir: t.TempDir(), Master: testMaster, Floor: testFloor, Progress: cancel}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestFailoverIsNotMeasuredWithoutAgentsOrFrameworks(t *testing.T) {
	good := Failover{Agents: []int{1}, Frameworks: 1, Rounds: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(b *Failover){
		"no size":       func(b *Failover) { b.Agents = nil },
		"no agents":     func(b *Failover) { b.Agents = []int{0} },
		"no frameworks": func(b *Failover) { b.Frameworks = 0 },
		"no rounds":     func(b *Failover) { b.Rounds = 0 },
	} {
		b := good
		spoil(&b)
		if b.Validate() == nil {
			t.Errorf("%s: taken for good", name)
		}
	}
}

// The floor says what an agent of the crowd says, but for its incarnation.
func TestFloorAndCrowdSayTheSame(t *testing.T) {
	f := fleet{Agents: 3, Frameworks: 2, Tasks: 2, Completed: 12}
	said := make(chan *wire.Subscribe, 1)
	var came atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if came.Swap(true) {
			return // it comes again, and may be cut off
		}
		encoding, _ := wire.ParseContentType(r.Header.Get("Content-Type"))
		record, err := wire.NewReader(r.Body, math.MaxInt).Next()
		if err != nil {
			t.Error(err)
			return
		}
		call, err := wire.DecodeCall(encoding, record)
		if err != nil {
			t.Error(err)
			return
		}
		said <- call.(*wire.Subscribe)
	}))
	defer s.Close()
	c := newCrowd(f, false)
	a, err := c.agent(2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	c.door.open(s.Listener.Addr().String())
	got, want := <-said, f.subscribe(2, "")
	cancel()
	<-ended
	if len(got.Agent.Incarnation) != len(want.Agent.Incarnation) {
		t.Errorf("incarnations are %q and %q", got.Agent.Incarnation, want.Agent.Incarnation)
	}
	got.Agent.Incarnation = want.Agent.Incarnation
	for _, e := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		a, err := wire.AppendCall(nil, e, got)
		if err != nil {
			t.Fatal(err)
		}
		b, err := wire.AppendCall(nil, e, want)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("the crowd says\n%s\nthe floor says\n%s", a, b)
		}
	}
}

func TestIdleMeasuresEachSizeAndLeavesNothing(t *testing.T) {
	phases := 0
	b := Idle{Agents: []int{1, 20}, Window: time.Millisecond, Dir: t.TempDir(), Master: testMaster, Bare: testFloor, Progress: func() { phases++ }}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if phases != b.Phases() || len(r.Results) != 2 {
		t.Fatalf("%d phases of %d, %d rows", phases, b.Phases(), len(r.Results))
	}
	for i, row := range r.Results {
		if row.Agents != b.Agents[i] || row.BeyondBare != row.BytesPerAgent-row.BareBytesPerStream || row.CPUShare < 0 {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if left, err := os.ReadDir(b.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind are %v, %v", left, err)
	}
}

func TestIdleEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := Idle{Agents: []int{1}, Window: 24 * time.Hour, Dir: t.TempDir(), Master: testMaster, Bare: testFloor, Progress: cancel}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}
