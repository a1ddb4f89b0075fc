package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/master/metrics"
)

// Metrics measures how fast a master tells its metrics when there are some 60 of
// each of many frameworks: again, after one of each framework has changed, and
// after all have. Beside each stands the same bytes, written by net/http from
// memory to the same client. It is modelled on Mesos's
// MasterMetricsQuery_BENCHMARK_Test.GetMetrics.
type Metrics struct {
	// Frameworks are how many, each size in turn. One agent tells of them.
	Frameworks []int
	// Rounds is how often each is measured, at least 1, each time on a new master;
	// medians are reported. One more repetition runs before them.
	Rounds int
	// Dir is where the registries are made; "" is for temporary files.
	Dir string
	// Client is the command of [RunStateClient].
	Client func(ctx context.Context) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// MetricsReport is what was found, in the form of its JSON.
type MetricsReport struct {
	Benchmark string        `json:"benchmark"`
	Host      Host          `json:"host"`
	Params    MetricsParams `json:"params"`
	// Table is what the table of metrics costs who counts.
	Table   TableCosts   `json:"table"`
	Results []MetricsRow `json:"results"`
}

// MetricsParams is how it was called.
type MetricsParams struct {
	Frameworks []int `json:"frameworks"`
	Rounds     int   `json:"rounds"`
}

// TableCosts are nanoseconds: of a counter's increment, of the same while 16
// goroutines do nothing else, and of adding and of removing one of 100,000
// metrics; and the memory that one of these has, but for its name.
type TableCosts struct {
	IncrementNs   float64 `json:"increment_ns"`
	IncrementBy16 float64 `json:"increment_by_16_ns"`
	AddNs         float64 `json:"add_ns"`
	RemoveNs      float64 `json:"remove_ns"`
	MetricBytes   float64 `json:"bytes_per_metric"`
}

// MetricsRow is one kind of request at one size: medians over the rounds, ratios
// paired with the static answers right before and after.
type MetricsRow struct {
	Kind       string `json:"kind"`
	Frameworks int    `json:"frameworks"`
	Metrics    int    `json:"metrics"`
	Bytes      int64  `json:"bytes"`

	FirstSeconds   float64 `json:"first_seconds"`
	QuietSeconds   float64 `json:"quiet_seconds"`
	ChangedSeconds float64 `json:"changed_seconds"`
	AllSeconds     float64 `json:"all_seconds"`
	StaticSeconds  float64 `json:"static_seconds"`
	RatioQuiet     float64 `json:"ratio_quiet"`
	RatioChanged   float64 `json:"ratio_changed"`
	RatioAll       float64 `json:"ratio_all"`

	// RememberedBytes is what is kept to answer this kind again, and how many times
	// the answer that is; DataBytesPerMetric is what lives of the master before
	// anybody has asked, tasks and all.
	RememberedBytes    int64   `json:"remembered_bytes"`
	RatioRemembered    float64 `json:"ratio_remembered"`
	DataBytesPerMetric float64 `json:"data_bytes_per_metric"`

	Published float64 `json:"published_seconds,omitzero"`
}

// metricsKinds are the ways to ask, each with what it sends.
var metricsKinds = []struct {
	name string
	line readLine
}{
	{"v0", readLine{Path: "/metrics/snapshot"}},
	{"v1_protobuf", readLine{Path: "/api/v1", Post: "\x08\x04\x12\x00", Kind: "application/x-protobuf"}},
	{"v1_json", readLine{Path: "/api/v1", Post: `{"type":"GET_METRICS","get_metrics":{}}`, Kind: "application/json"}},
	{"prometheus", readLine{Path: "/metrics"}},
}

// metricsSample is one round of one kind.
type metricsSample struct {
	metrics                    int
	bytes, remembered, data    int64
	first, quiet, changed, all besideStatic
}

// Phases is how many phases Run goes through in all.
func (b Metrics) Phases() int { return len(b.Frameworks) * (b.Rounds + 1) }

// Validate says what is wrong with the parameters, or nothing.
func (b Metrics) Validate() error {
	if len(b.Frameworks) == 0 {
		return errors.New("no number of frameworks is given")
	}
	for _, n := range b.Frameworks {
		if n < 1 || n > 100_000 {
			return fmt.Errorf("%d frameworks: from 1 to 100,000 can be measured", n)
		}
	}
	if b.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", b.Rounds)
	}
	return nil
}

// Run measures every size in turn. Ending ctx ends it with an error.
func (b Metrics) Run(ctx context.Context) (report MetricsReport, err error) {
	report = MetricsReport{Benchmark: "metrics", Host: thisHost(), Params: MetricsParams{b.Frameworks, b.Rounds}}
	if report.Table, err = tableCosts(); err != nil {
		return report, err
	}
	client, err := startStateClient(b.Client(ctx))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, client.kill()) }()
	for _, n := range b.Frameworks {
		rows, err := b.size(ctx, client, n)
		if ctx.Err() != nil {
			return report, context.Cause(ctx) // the client has gone for that
		}
		if err != nil {
			return report, fmt.Errorf("measure the metrics of %d frameworks: %w", n, err)
		}
		report.Results = append(report.Results, rows...)
	}
	return report, nil
}

func (b Metrics) size(ctx context.Context, client stateClient, frameworks int) (rows []MetricsRow, err error) {
	static := map[string][]byte{}
	samples := make([][]metricsSample, len(metricsKinds))
	for round := range b.Rounds + 1 {
		found, err := b.round(ctx, client, frameworks, static)
		if err != nil {
			return nil, err
		}
		for i, s := range found {
			if round > 0 {
				samples[i] = append(samples[i], s)
			}
		}
		if b.Progress != nil {
			b.Progress()
		}
	}
	for i, kind := range metricsKinds {
		rows = append(rows, metricsRow(kind.name, frameworks, samples[i]))
	}
	return rows, nil
}

// round measures all kinds on one master.
func (b Metrics) round(ctx context.Context, client stateClient, frameworks int, static map[string][]byte) (all []metricsSample, err error) {
	before := liveHeap()
	c, err := startStateCluster(ctx, b.Dir, stateFleet{agents: 1, frameworks: frameworks, tasks: 2, bare: true}, static)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	data := int64(liveHeap()) - int64(before)
	table := c.master.Metrics()
	for _, kind := range metricsKinds {
		if static["/"+kind.name], err = kind.line.body(ctx, "http://"+c.address+kind.line.Path); err != nil {
			return nil, err
		}
		table.Forget()
		r := metricsRound{client, c.address, kind.name, kind.line, table}
		s, err := r.run()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		s.metrics, s.data = table.Len(), data
		all = append(all, s)
	}
	return all, nil
}

// metricsRound asks one master in one way.
type metricsRound struct {
	client  stateClient
	address string
	kind    string
	line    readLine
	table   *metrics.Table
}

const metricsRepeats = 3 // how often each is asked in a round

func (r *metricsRound) run() (s metricsSample, err error) {
	if s.first, s.bytes, err = r.beside(); err != nil {
		return s, err
	}
	s.remembered = int64(r.table.Remembered())
	for _, of := range []struct {
		found  *besideStatic
		values func(n int) int // of a block, to be changed
	}{
		{&s.quiet, func(int) int { return 0 }},
		{&s.changed, func(int) int { return 1 }},
		{&s.all, func(n int) int { return n }},
	} {
		if *of.found, err = r.median(of.values); err != nil {
			return s, err
		}
	}
	return s, nil
}

// median changes values and asks, a few times.
func (r *metricsRound) median(values func(n int) int) (besideStatic, error) {
	var all []besideStatic
	var ratios []float64
	for range metricsRepeats {
		changeMetrics(r.table, values)
		found, _, err := r.beside()
		if err != nil {
			return found, err
		}
		all, ratios = append(all, found), append(ratios, found.ratio())
	}
	return all[medianIndex(ratios)], nil
}

// changeMetrics changes so many values of each block.
func changeMetrics(t *metrics.Table, values func(n int) int) {
	for b := range t.Blocks() {
		for i := range values(b.Len()) {
			b.Add(i, 1)
		}
	}
}

// beside asks once, between two static answers.
func (r *metricsRound) beside() (b besideStatic, bytes int64, err error) {
	before, err := r.client.readOne(r.address, staticPath+"/"+r.kind)
	if err != nil {
		return b, 0, err
	}
	answer, err := r.client.readLine(r.address, r.line)
	if err != nil {
		return b, 0, err
	}
	after, err := r.client.readOne(r.address, staticPath+"/"+r.kind)
	return besideStatic{answer.Took.Seconds(), (before.Took + after.Took).Seconds() / 2}, answer.Bytes, err
}

func metricsRow(kind string, frameworks int, rounds []metricsSample) MetricsRow {
	of := func(value func(s *metricsSample) float64) float64 {
		var all []float64
		for i := range rounds {
			all = append(all, value(&rounds[i]))
		}
		return median(all)
	}
	row := MetricsRow{
		Kind: kind, Frameworks: frameworks, Metrics: rounds[0].metrics,
		Bytes:          int64(of(func(s *metricsSample) float64 { return float64(s.bytes) })),
		FirstSeconds:   of(func(s *metricsSample) float64 { return s.first.seconds }),
		QuietSeconds:   of(func(s *metricsSample) float64 { return s.quiet.seconds }),
		ChangedSeconds: of(func(s *metricsSample) float64 { return s.changed.seconds }),
		AllSeconds:     of(func(s *metricsSample) float64 { return s.all.seconds }),
		StaticSeconds: of(func(s *metricsSample) float64 {
			return median([]float64{s.quiet.static, s.changed.static, s.all.static})
		}),
		RatioQuiet:      of(func(s *metricsSample) float64 { return s.quiet.ratio() }),
		RatioChanged:    of(func(s *metricsSample) float64 { return s.changed.ratio() }),
		RatioAll:        of(func(s *metricsSample) float64 { return s.all.ratio() }),
		RememberedBytes: int64(of(func(s *metricsSample) float64 { return float64(s.remembered) })),
		Published:       metricsPublished.seconds(frameworks, kind),
	}
	row.RatioRemembered = ratio(float64(row.RememberedBytes), float64(row.Bytes))
	row.DataBytesPerMetric = of(func(s *metricsSample) float64 { return float64(s.data) }) / float64(row.Metrics)
	return row
}

// tableCosts measures a table that nobody reads.
func tableCosts() (c TableCosts, err error) {
	const increments, goroutines, names = 4_000_000, 16, 100_000
	var counter metrics.Counter
	each := func(n int, do func()) float64 {
		begun := time.Now()
		do()
		return float64(time.Since(begun).Nanoseconds()) / float64(n)
	}
	count := func() {
		for range increments {
			counter.Inc()
		}
	}
	c.IncrementNs = each(increments, count)
	c.IncrementBy16 = each(goroutines*increments, func() {
		var all sync.WaitGroup
		for range goroutines {
			all.Go(count)
		}
		all.Wait()
	})
	var table metrics.Table
	all := make([]string, names)
	for i := range all {
		all[i] = fmt.Sprintf("metrics/of/a/benchmark/%077d", i*7919%names) // as long as Mesos's, in no order
	}
	before := liveHeap()
	c.AddNs = each(names, func() {
		for _, name := range all {
			_, e := table.Counter(name)
			err = errors.Join(err, e)
		}
	})
	c.MetricBytes = (float64(liveHeap()) - float64(before)) / names
	c.RemoveNs = each(names, func() {
		for _, name := range all {
			err = errors.Join(err, table.Remove(name))
		}
	})
	return c, err
}

// Tables are the report for people.
func (r MetricsReport) Tables() (answers, costs Table) {
	answers = Table{Header: []string{"kind", "frameworks", "metrics", "MB", "first ms", "quiet ms", "changed ms", "all ms", "static ms",
		"x quiet", "x changed", "x all", "x kept", "2018 ms"}}
	for _, row := range r.Results {
		answers.Rows = append(answers.Rows, []string{
			row.Kind, strconv.Itoa(row.Frameworks), strconv.Itoa(row.Metrics), signedMega(row.Bytes),
			milli(row.FirstSeconds), milli(row.QuietSeconds), milli(row.ChangedSeconds), milli(row.AllSeconds), milli(row.StaticSeconds),
			times(row.RatioQuiet), times(row.RatioChanged), times(row.RatioAll), times(row.RatioRemembered), milli(row.Published),
		})
	}
	tenths := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	costs = Table{Header: []string{"ns/increment", "ns by 16", "ns/add", "ns/remove", "B/metric"},
		Rows: [][]string{{tenths(r.Table.IncrementNs), tenths(r.Table.IncrementBy16), tenths(r.Table.AddNs), tenths(r.Table.RemoveNs), tenths(r.Table.MetricBytes)}}}
	return answers, costs
}
