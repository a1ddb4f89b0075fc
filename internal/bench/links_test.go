package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
)

func TestLinksMeasuresEachCaseAtEachSize(t *testing.T) {
	phases := 0
	b := Links{Links: []int{0, 300}, Exits: 100, Rounds: 2, Progress: func() { phases++ }}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if phases != b.Phases() {
		t.Errorf("progress was told of %d phases, not %d", phases, b.Phases())
	}
	names := []string{"exits", "node_loss", "fan_in", "churn", "stall_exits", "stall_node_loss"}
	notices := []int{0, 300, 300, 0, 0, 300} // of 300 links
	if len(r.Results) != 2*len(names) {
		t.Fatalf("%d rows, want %d", len(r.Results), 2*len(names))
	}
	for i, row := range r.Results {
		at, links := i%len(names), b.Links[i/len(names)]
		due := min(notices[at], links)
		if row.Case != names[at] || row.Links != links || row.Notices != due || row.Seconds <= 0 ||
			(links == 0) != (row.NaiveSeconds == 0) || (links == 0) != (row.Speedup == 0) {
			t.Errorf("row %d is %+v", i, row)
		}
	}
}

func TestLinksEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := Links{Links: []int{10}, Exits: 1, Rounds: 1000, Progress: cancel}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestLinksFailsIfANoticeIsMissing(t *testing.T) {
	c := linkCase{name: "node_loss", notices: all}
	lossy := func(linksAt) (linksSample, error) { return linksSample{notices: 9}, nil }
	if _, err := c.measure(lossy, linksAt{links: 10}); err == nil || err.Error() != "9 notices were delivered, 10 are due" {
		t.Errorf("the error is %v", err)
	}
}

func TestLongestWaitIsThatOfTheSlowestCall(t *testing.T) {
	held, met := make(chan struct{}), make(chan struct{})
	calls := 0
	slow := func() bool {
		if calls++; calls == 2 { // the first comes before act
			close(met)
			<-held
		}
		return true
	}
	took := time.Now()
	wait, err := longestWait(slow, func() bool { return true }, func() {
		<-met
		took = time.Now()
		for time.Since(took) < time.Millisecond { // act keeps the call waiting so long
		}
		close(held)
	})
	if err != nil || wait < time.Millisecond {
		t.Errorf("the longest wait is %v, %v, want at least 1ms", wait, err)
	}
	if _, err := longestWait(func() bool { return false }, func() bool { return true }, func() {}); err == nil {
		t.Error("a link that could not be made is no error")
	}
}

func TestLinksRowHasTheseFields(t *testing.T) {
	pairs := []linksPair{{linksSample{2, 0}, linksSample{8, 0}}}
	text, err := json.Marshal(linksRow(linkCases[0], 5000, pairs))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"case": "exits", "links": 5000.0, "seconds": 2.0, "notices": 0.0, "naive_seconds": 8.0, "speedup": 4.0,
		"published_before_seconds": 11.6, "published_seconds": 0.5, "mesos112_seconds": 0.1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("row is %v, want %v", got, want)
	}
}

// BenchmarkLinks has the cases of the benchmark, one by one:
//
//	go test ./internal/bench -run - -bench 'Links/case=node_loss/links=20000/v=ours' -cpuprofile cpu.out
func BenchmarkLinks(b *testing.B) {
	for _, links := range []int{5000, 20_000} {
		for _, c := range linkCases {
			for _, v := range []struct {
				name string
				run  func(linksAt) (linksSample, error)
			}{{"ours", c.ours}, {"naive", c.naive}} {
				b.Run(fmt.Sprintf("case=%s/links=%d/v=%s", c.name, links, v.name), func(b *testing.B) {
					timed(b, func() (float64, error) {
						s, err := c.measure(v.run, linksAt{links, 10_000})
						return s.seconds, err
					})
				})
			}
		}
	}
}
