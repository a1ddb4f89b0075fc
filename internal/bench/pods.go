package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// Pods measures how fast a master says what became of its pods: of all, and of
// one among so many. Beside each stands the same bytes, written by net/http from
// memory to as many connections. It is modelled on the benchmark of Marathon's
// #6786 (MARATHON-8563).
type Pods struct {
	// Pods are how many pods, each size in turn. Each has one instance.
	Pods []int
	// Connections ask in a closed loop, each over one of its own.
	Connections int
	// Seconds is for how long each server is asked in all, over all rounds.
	Seconds float64
	// Changes is how many instances a second change their status meanwhile, while
	// the bytes in memory are asked for too.
	Changes int
	// Rounds is how often each is measured, at least 1, on one master; medians are
	// reported. One more repetition runs before them.
	Rounds int
	// Dir is where the registries are made; "" is for temporary files.
	Dir string
	// Client is the command of [RunStateClient].
	Client func(ctx context.Context) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// PodsReport is what was found, in the form of its JSON.
type PodsReport struct {
	Benchmark string     `json:"benchmark"`
	Host      Host       `json:"host"`
	Params    PodsParams `json:"params"`
	Results   []PodsRow  `json:"results"`
}

// PodsParams is how it was called.
type PodsParams struct {
	Pods        []int   `json:"pods"`
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"`
	Changes     int     `json:"changes"`
	Rounds      int     `json:"rounds"`
}

// PodsRow is one kind of request at one size. Requests a second are medians over
// the rounds, ratios those of the ratios to what was static right before and
// after; latencies are in seconds, over the answers of all rounds.
type PodsRow struct {
	Case    string `json:"case"` // "status" of all pods, "status_one" of one
	Pods    int    `json:"pods"`
	Answers int    `json:"answers"`
	Changes int    `json:"changes"` // of instances, made meanwhile
	Bytes   int64  `json:"bytes"`   // of an answer, the median

	RequestsPerSecond       float64 `json:"requests_per_second"`
	P50                     float64 `json:"p50"`
	P99                     float64 `json:"p99"`
	Max                     float64 `json:"max"`
	Stdev                   float64 `json:"stdev"`
	StaticP99               float64 `json:"static_p99"`
	StaticRequestsPerSecond float64 `json:"static_requests_per_second"`
	RatioToStatic           float64 `json:"ratio_to_static"` // of requests a second
	RatioP99                float64 `json:"ratio_p99"`

	PublishedRequestsPerSecond float64 `json:"published_requests_per_second,omitzero"`
}

// podsCase is something that can be asked.
type podsCase struct{ name, path string }

var podsCases = []podsCase{
	{"status", "/v2/pods/::status"},
	{"status_one", "/v2/pods" + podID(0) + "::status"},
}

func (c podsCase) static() string { return staticPath + "/" + c.name }

// Phases is how many phases Run goes through in all.
func (b Pods) Phases() int { return len(b.Pods) * (b.Rounds + 1) * len(podsCases) }

// Validate says what is wrong with the parameters, or nothing.
func (b Pods) Validate() error {
	if len(b.Pods) == 0 {
		return errors.New("no number of pods is given")
	}
	for _, n := range b.Pods {
		if n < 1 || n > 100_000 {
			return fmt.Errorf("%d pods: from 1 to 100,000 can be measured", n)
		}
	}
	switch {
	case b.Connections < 1 || b.Connections > 10_000:
		return fmt.Errorf("%d connections: from 1 to 10,000 can ask", b.Connections)
	case !(b.Seconds > 0 && b.Seconds <= 86_400): // NaN neither
		return fmt.Errorf("%v seconds: more than 0 and at most a day are needed", b.Seconds)
	case b.Changes < 0 || b.Changes > 1_000_000:
		return fmt.Errorf("%d changes a second: from 0 to 1,000,000 can be made", b.Changes)
	case b.Rounds < 1:
		return fmt.Errorf("%d rounds: at least 1 is needed", b.Rounds)
	}
	return nil
}

// Run measures every size in turn. Ending ctx ends it with an error.
func (b Pods) Run(ctx context.Context) (report PodsReport, err error) {
	report = PodsReport{Benchmark: "pods", Host: thisHost(), Params: PodsParams{b.Pods, b.Connections, b.Seconds, b.Changes, b.Rounds}}
	client, err := startStateClient(b.Client(ctx))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, client.kill()) }()
	for _, n := range b.Pods {
		rows, err := b.size(ctx, client, n)
		if ctx.Err() != nil {
			return report, context.Cause(ctx) // the client has gone for that
		}
		if err != nil {
			return report, fmt.Errorf("measure the status of %d pods: %w", n, err)
		}
		report.Results = append(report.Results, rows...)
	}
	return report, nil
}

func (b Pods) size(ctx context.Context, client stateClient, pods int) (rows []PodsRow, err error) {
	static := map[string][]byte{}
	fleet := newPodFleet(pods)
	cluster, err := startStateCluster(ctx, b.Dir, fleet, static)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.close()) }()
	if err := fleet.define(ctx, cluster.address); err != nil {
		return nil, err
	}
	// Nobody but us asks this master yet.
	for _, c := range podsCases {
		if static["/"+c.name], err = readBody(ctx, "http://"+cluster.address+c.path); err != nil {
			return nil, err
		}
	}
	if err := stablePods(static["/"+podsCases[0].name], pods); err != nil {
		return nil, err
	}
	samples := make([]podsSample, len(podsCases))
	for round := range b.Rounds + 1 {
		for i, c := range podsCases {
			var s podsSample
			if err := b.measure(ctx, client, cluster, c, &s); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 {
				samples[i].add(s)
			}
			if b.Progress != nil {
				b.Progress()
			}
		}
	}
	for i, c := range podsCases {
		rows = append(rows, b.row(c, pods, samples[i]))
	}
	return rows, nil
}

// podsSample is what came of some rounds.
type podsSample struct {
	took, static          []time.Duration // of each answer
	bytes                 []float64
	rates, statics        []float64 // a second
	rateRatios, p99Ratios []float64
	changes               int
}

func (s *podsSample) add(o podsSample) {
	s.took, s.static, s.bytes = append(s.took, o.took...), append(s.static, o.static...), append(s.bytes, o.bytes...)
	s.rates, s.statics = append(s.rates, o.rates...), append(s.statics, o.statics...)
	s.rateRatios, s.p99Ratios = append(s.rateRatios, o.rateRatios...), append(s.p99Ratios, o.p99Ratios...)
	s.changes += o.changes
}

// measure is one round: half of the static time, the master, the other half.
// Instances change all the while.
func (b Pods) measure(ctx context.Context, client stateClient, cluster *stateCluster, c podsCase, s *podsSample) error {
	ctx, cancel := context.WithCancel(ctx)
	changing := new(errgroup.Group)
	if b.Changes > 0 {
		changing.Go(func() (err error) {
			s.changes, err = cluster.keepChanging(ctx, b.Changes)
			return err
		})
	}
	err := b.ask(client, cluster.address, c, s)
	cancel()
	return errors.Join(err, changing.Wait())
}

func (b Pods) ask(client stateClient, address string, c podsCase, s *podsSample) error {
	slice := time.Duration(b.Seconds / float64(b.Rounds) * float64(time.Second))
	var loops [3]podsLoop
	for i, path := range []string{c.static(), c.path, c.static()} {
		d := slice
		if i != 1 {
			d = slice / 2
		}
		var err error
		if loops[i], err = loopOn(client, address, path, b.Connections, d); err != nil {
			return err
		}
	}
	before, ours, after := loops[0], loops[1], loops[2]
	static := append(before.took, after.took...)
	rate := (before.rate + after.rate) / 2
	s.took, s.bytes, s.static = ours.took, ours.bytes, static
	s.rates, s.statics = []float64{ours.rate}, []float64{rate}
	s.rateRatios = []float64{ratio(ours.rate, rate)}
	s.p99Ratios = []float64{ratio(quantile(ours.took, 0.99), quantile(static, 0.99))}
	return nil
}

// podsLoop is what came of asking for one thing for a while.
type podsLoop struct {
	took  []time.Duration
	bytes []float64
	rate  float64 // answers a second
}

// loopOn has connections ask for one path in a closed loop.
func loopOn(client stateClient, address, path string, connections int, d time.Duration) (l podsLoop, err error) {
	lines := make([]readLine, connections)
	for i := range lines {
		lines[i] = readLine{Path: path, For: d}
	}
	answer, err := client.do(readJob{address, lines})
	if err != nil {
		return l, err
	}
	for _, line := range answer.Lines {
		for _, r := range line {
			l.took, l.bytes = append(l.took, r.Took), append(l.bytes, float64(r.Bytes))
		}
	}
	l.rate = ratio(float64(len(l.took)), answer.Took.Seconds())
	return l, nil
}

// stablePods fails unless an answer has so many pods, each with an instance that
// is stable.
func stablePods(answer []byte, want int) error {
	var pods []struct {
		Status    string
		Instances []struct{ Status string }
	}
	if err := json.Unmarshal(answer, &pods); err != nil {
		return err
	}
	stable := 0
	for _, p := range pods {
		if p.Status == "STABLE" && len(p.Instances) == 1 && p.Instances[0].Status == "STABLE" {
			stable++
		}
	}
	if stable != want || len(pods) != want {
		return fmt.Errorf("of %d pods %d are stable with one instance, %d are due", len(pods), stable, want)
	}
	return nil
}

func (b Pods) row(c podsCase, pods int, s podsSample) PodsRow {
	row := PodsRow{
		Case: c.name, Pods: pods, Answers: len(s.took), Changes: s.changes, Bytes: int64(median(s.bytes)),
		RequestsPerSecond: median(s.rates), StaticRequestsPerSecond: median(s.statics),
		P50: quantile(s.took, 0.5), P99: quantile(s.took, 0.99), Max: quantile(s.took, 1), Stdev: stdev(s.took),
		StaticP99:     quantile(s.static, 0.99),
		RatioToStatic: median(s.rateRatios), RatioP99: median(s.p99Ratios),
	}
	if c.name == "status" && b.Connections == 10 && b.Changes == 0 {
		row.PublishedRequestsPerSecond = podsPublished[pods]
	}
	return row
}

// stdev is the standard deviation in seconds, 0 for none.
func stdev(durations []time.Duration) float64 {
	var sum, squares float64
	for _, d := range durations {
		sum += d.Seconds()
		squares += d.Seconds() * d.Seconds()
	}
	n := float64(len(durations))
	if n == 0 {
		return 0
	}
	return math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
}

// Table is the report for people.
func (r PodsReport) Table() Table {
	t := Table{Header: []string{"case", "pods", "kB", "requests/s", "p50 ms", "p99 ms", "max ms", "stdev ms",
		"static requests/s", "static p99 ms", "x static", "x static p99", "changes", "2019 requests/s"}}
	for _, row := range r.Results {
		published := "-"
		if row.PublishedRequestsPerSecond > 0 {
			published = fmt.Sprintf("%.0f", row.PublishedRequestsPerSecond)
		}
		t.Rows = append(t.Rows, []string{
			row.Case, strconv.Itoa(row.Pods), fmt.Sprintf("%.1f", float64(row.Bytes)/1000), fmt.Sprintf("%.0f", row.RequestsPerSecond),
			milli(row.P50), milli(row.P99), milli(row.Max), milli(row.Stdev),
			fmt.Sprintf("%.0f", row.StaticRequestsPerSecond), milli(row.StaticP99),
			times(row.RatioToStatic), times(row.RatioP99), strconv.Itoa(row.Changes), published,
		})
	}
	return t
}
