package metrics

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestANameIsTakenOnce(t *testing.T) {
	var table Table
	if _, err := table.Counter("a"); err != nil {
		t.Fatal(err)
	}
	_, err := table.Gauge("a")
	if !errors.Is(err, ErrExists) {
		t.Errorf("a second metric of a name: %v, want ErrExists", err)
	}
	if err := table.Pull([]string{"b", "a"}, func([]float64) {}); !errors.Is(err, ErrExists) {
		t.Errorf("a pulled value of a name that is taken: %v, want ErrExists", err)
	}
	if got := string(written(t, &table, V0)); got != `{"a":0.0}` {
		t.Errorf("what was refused left something behind: %s", got)
	}
	if err := table.Remove("b"); !errors.Is(err, ErrNotKnown) {
		t.Errorf("remove what is not there: %v, want ErrNotKnown", err)
	}
}

func TestNamesThatWouldMixWithABlockAreRefused(t *testing.T) {
	shape := NewShape(nil, []Member{{"calls", -1, ""}, {"events", -1, ""}})
	for _, c := range []struct{ first, second string }{
		{"f/a/", "f/a/b/"}, {"f/a/b/", "f/a/"}, // an ID with a slash
		{"f/a/", "f/a/d"}, {"f/a/d", "f/a/"}, // d is between calls and events
		{"f/a", "f/a"},
	} {
		var table Table
		var errs []error
		for _, name := range []string{c.first, c.second} {
			var err error
			if strings.HasSuffix(name, "/") {
				_, err = table.Block(name, "", shape)
			} else {
				_, err = table.Counter(name)
			}
			errs = append(errs, err)
		}
		if errs[0] != nil || !errors.Is(errs[1], ErrOrder) && !errors.Is(errs[1], ErrExists) {
			t.Errorf("%s and %s: %v", c.first, c.second, errs)
		}
	}
	var table Table
	if _, err := table.Block("f/a", "", shape); !errors.Is(err, ErrOrder) {
		t.Errorf("a prefix without a slash: %v, want ErrOrder", err)
	}
}

func TestASharedCounterLivesAsLongAsItsLastUser(t *testing.T) {
	var table Table
	a, err := table.Shared("p")
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.Shared("p")
	if err != nil || a != b {
		t.Fatalf("the second user has another counter, and %v", err)
	}
	a.Inc()
	if err := table.Release("p"); err != nil {
		t.Fatal(err)
	}
	if got := string(written(t, &table, V0)); got != `{"p":1.0}` {
		t.Errorf("one user is left, and there is %s", got)
	}
	if err := table.Release("p"); err != nil {
		t.Fatal(err)
	}
	if got := string(written(t, &table, V0)); got != `{}` {
		t.Errorf("no user is left, and there is %s", got)
	}
}

func TestAStuckPullIsLeftOutOnceTheTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table Table
		free := make(chan struct{})
		var calls atomic.Int64
		table.Pull([]string{"stuck"}, func(v []float64) { calls.Add(1); <-free; v[0] = 7 })
		table.Pull([]string{"missing", "there"}, func(v []float64) { v[0], v[1] = math.NaN(), 2 })
		for range 3 {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			s := table.Snapshot(ctx)
			cancel()
			if got := maps.Collect(s.Each); !maps.Equal(got, map[string]float64{"there": 2}) {
				t.Errorf("got %v, want what was there in time", got)
			}
			if took := time.Since(began); took != 5*time.Second {
				t.Errorf("it took %v, want the time that was given", took)
			}
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("what is stuck was asked %d times", n)
		}
		got := make(chan map[string]float64)
		go func() { got <- maps.Collect(table.Snapshot(t.Context()).Each) }()
		synctest.Wait()
		select {
		case <-got:
			t.Error("without a time it did not wait")
		default:
		}
		close(free)
		if got := <-got; got["stuck"] != 7 {
			t.Errorf("got %v, want what was waited for", got)
		}
	})
}

func TestAPullThatIsUnderWayIsNotForWhoAsksLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table Table
		var now atomic.Int64
		seen := make(chan struct{})
		table.Pull([]string{"n"}, func(v []float64) { v[0] = float64(now.Load()); <-seen })
		got := make([]map[string]float64, 3)
		var all sync.WaitGroup
		for i := range got {
			now.Add(1)
			all.Go(func() { got[i] = maps.Collect(table.Snapshot(t.Context()).Each) })
			synctest.Wait() // it has asked
		}
		close(seen)
		all.Wait()
		for i, want := range []float64{1, 3, 3} { // the last two share one
			if got[i]["n"] != want {
				t.Errorf("asker %d got %v, want %v", i, got[i]["n"], want)
			}
		}
	})
}

func TestEveryIncrementIsInALaterSnapshotAndNoneTwice(t *testing.T) {
	var table Table
	shape := shapeOf(70)
	b, _ := table.Block("block/b/", `id="b"`, shape)
	c, _ := table.Counter("c")
	const each, goroutines = 2000, 4
	var writers sync.WaitGroup
	for g := range goroutines {
		writers.Go(func() {
			for i := range each {
				b.Add((i*7+g)%shape.Len(), 1)
				c.Inc()
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	var others sync.WaitGroup
	others.Go(func() { comeAndGo(t, &table, done) })
	defer others.Wait()

	counted := func() (n int64) {
		for i := range shape.Len() {
			n += b.Value(i)
		}
		return n + c.Value()
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		before, now := counted(), int64(0)
		for name, v := range parsedV0(t, written(t, &table, V0)) {
			if name == "c" || strings.HasPrefix(name, "block/b/") {
				now += int64(v)
			}
		}
		if after := counted(); now < before || now > after {
			t.Fatalf("it shows %d; %d were counted before it was asked for, and %d after", now, before, after)
		}
	}
	if n := counted(); n != 2*each*goroutines {
		t.Errorf("counted %d, want %d", n, 2*each*goroutines)
	}
}

// comeAndGo adds and removes what is beside the others until done.
func comeAndGo(t *testing.T, table *Table, done <-chan struct{}) {
	shape := shapeOf(0)
	for {
		select {
		case <-done:
			return
		default:
		}
		for _, id := range []string{"block/a/", "block/c/"} {
			b, err := table.Block(id, "", shape)
			if err != nil {
				t.Error(err)
				return
			}
			b.Add(0, 1)
		}
		counter, err := table.Shared("d")
		if err != nil {
			t.Error(err)
			return
		}
		counter.Inc()
		if err := errors.Join(table.Remove("block/c/"), table.Remove("block/a/"), table.Release("d")); err != nil {
			t.Error(err)
			return
		}
	}
}

func TestAReaderSeesWhatWasCountedBeforeHeAsked(t *testing.T) {
	var table Table
	b, _ := table.Block("block/a/", "", shapeOf(0))
	var readers sync.WaitGroup
	for range 4 { // one of them takes the mark, and the others are not to see old bytes
		readers.Go(func() {
			for range 300 {
				b.Add(1, 1)
				want := float64(b.Value(1))
				if got := parsedV0(t, written(t, &table, V0))["block/a/"+b.shape.members[1].Name]; got < want {
					t.Errorf("got %v, want at least %v", got, want)
				}
			}
		})
	}
	readers.Wait()
}

func TestWhatIsRememberedIsLittleMoreThanTheAnswer(t *testing.T) {
	var table Table
	for _, id := range strings.Split("abcdefghij", "") {
		b, err := table.Block("master/frameworks/default/20261203-000000-000000-00000-000"+id+"/", `framework_id="20261203-000000-000000-00000-000`+id+`",framework="default"`, shapeOf(58))
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.values {
			b.Set(i, int64(i))
		}
	}
	for f := V0; f < forms; f++ {
		table.Forget()
		n := len(written(t, &table, f))
		if got := float64(table.Remembered()) / float64(n); got > 1.15 {
			t.Errorf("form %d: remembers %.2f times what it writes", f, got)
		}
	}
	table.Forget()
	if got := table.Remembered(); got != 0 {
		t.Errorf("remembers %d bytes after it forgot", got)
	}
}
