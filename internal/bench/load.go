package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// Load measures how long small questions wait beside large ones. Pairs of /state
// and a small question are sent at fixed times, whether or not the last ones are
// answered; then clients ask for /state without rest while another asks whether
// the master is well; then principals who see a role each ask for /state at once. It
// is modelled on Mesos's
// MasterStateQueryLoad_BENCHMARK_Test.v0State and on MasterActorResponsiveness.
type Load struct {
	// Setup is 1 or 2, see loadSetups.
	Setup int
	// Pairs is how many pairs are sent in a round; 0 means as many as the setup has.
	Pairs int
	// ChangesPerSecond is how many tasks change meanwhile, in groups; where principals
	// ask, some change before each time instead.
	ChangesPerSecond int
	// Rounds is how often it is measured, at least 1, on the same master. All
	// answers of all rounds count.
	Rounds int
	// Dir is where the registry is made; "" is for temporary files.
	Dir string
	// Client is the command of [RunStateClient].
	Client func(ctx context.Context) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// LoadReport is what was found, in the form of its JSON.
type LoadReport struct {
	Benchmark string     `json:"benchmark"`
	Host      Host       `json:"host"`
	Params    LoadParams `json:"params"`
	Results   []LoadRow  `json:"results"`
}

// LoadParams is how it was called, and what the setup is.
type LoadParams struct {
	Setup      int `json:"setup"`
	Agents     int `json:"agents"`
	Frameworks int `json:"frameworks"`
	Tasks      int `json:"tasks"` // that run, in all
	// CompletedTasks are those that the master has kept of as many.
	CompletedTasks   int   `json:"completed_tasks"`
	Pairs            int   `json:"pairs"`
	ChangesPerSecond int   `json:"changes_per_second"`
	Rounds           int   `json:"rounds"`
	StateBytes       int64 `json:"state_bytes"`
}

// LoadRow is how long one endpoint took beside a load, over all rounds, and when
// nobody else asked.
type LoadRow struct {
	Case     string `json:"case"` // "pairs", "responsiveness" or "principals"
	Endpoint string `json:"endpoint"`
	Answers  int    `json:"answers"`
	Changes  int    `json:"changes"` // of tasks, made meanwhile

	Min float64 `json:"min"`
	P25 float64 `json:"p25"`
	P50 float64 `json:"p50"`
	P75 float64 `json:"p75"`
	P90 float64 `json:"p90"`
	Max float64 `json:"max"`

	IdleMin float64 `json:"idle_min"`
	IdleP50 float64 `json:"idle_p50"`
	IdleP90 float64 `json:"idle_p90"`
	IdleMax float64 `json:"idle_max"`

	// Of principals: how many ask at once, and the largest of their answers; and the
	// same of as many clients of one who sees everything. The ratio is that of when
	// the last has his answer, the median over all times.
	Clients        int     `json:"clients,omitzero"`
	Bytes          int64   `json:"bytes,omitzero"`
	OneViewBytes   int64   `json:"one_view_bytes,omitzero"`
	OneViewP50     float64 `json:"one_view_p50,omitzero"`
	OneViewMax     float64 `json:"one_view_max,omitzero"`
	RatioToOneView float64 `json:"ratio_to_one_view,omitzero"`

	PublishedP50 float64 `json:"published_p50,omitzero"` // 2018, with batching
	PublishedMax float64 `json:"published_max,omitzero"`
}

// loadSetup is a cluster, and how many pairs are sent to it.
type loadSetup struct {
	fleet stateFleet
	pairs int
}

// loadSetups are those of the review r/68132. Ten frameworks, each with a role of
// its own, share the tasks.
var loadSetups = map[int]loadSetup{
	1: {stateFleet{agents: 100, frameworks: 10, tasks: 10, completed: 10}, 50},
	2: {stateFleet{agents: 1000, frameworks: 10, tasks: 10, completed: 10}, 10},
}

// loadCase is a load, and the endpoints that are measured under it.
type loadCase struct {
	name      string
	lines     func(pairs int) []readLine
	endpoints []string
}

var loadCases = []loadCase{
	{"pairs", pairLines, []string{"/state", "/flags"}},
	{"responsiveness", responsivenessLines, []string{"/health", "/state"}},
}

const (
	pairInterval = 200 * time.Millisecond
	loadLoops    = 5  // clients that ask without rest
	loadProbes   = 50 // small questions beside them
	probePause   = 10 * time.Millisecond
	idleStates   = 5 // large questions when nobody else asks
)

func pairLines(pairs int) (lines []readLine) {
	for i := range pairs {
		after := time.Duration(i) * pairInterval
		lines = append(lines, readLine{Path: "/state", After: after, Times: 1}, readLine{Path: "/flags", After: after, Times: 1})
	}
	return lines
}

func responsivenessLines(int) []readLine {
	lines := []readLine{{Path: "/health", After: pairInterval, Times: loadProbes, Pause: probePause}}
	for range loadLoops {
		lines = append(lines, readLine{Path: "/state"})
	}
	return lines
}

// idleLine asks for an endpoint when nobody else asks.
func idleLine(endpoint string) readLine {
	if endpoint == "/state" {
		return readLine{Path: endpoint, Times: idleStates}
	}
	return readLine{Path: endpoint, Times: loadProbes, Pause: probePause}
}

// Phases is how many phases Run goes through in all.
func (b Load) Phases() int { return b.Rounds * (len(loadCases) + 1) } // and principals

// Validate says what is wrong with the parameters, or nothing.
func (b Load) Validate() error {
	if _, ok := loadSetups[b.Setup]; !ok {
		return fmt.Errorf("setup %d: there are 1 and 2", b.Setup)
	}
	if b.Pairs < 0 || b.Pairs > 10_000 {
		return fmt.Errorf("%d pairs: from 0, which is as the setup has it, to 10,000 can be sent", b.Pairs)
	}
	if b.ChangesPerSecond < 0 || b.ChangesPerSecond > 1_000_000 {
		return fmt.Errorf("%d changes a second: from 0 to 1,000,000 can be made", b.ChangesPerSecond)
	}
	if b.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", b.Rounds)
	}
	return nil
}

// Run measures all cases in each round. Ending ctx ends it with an error.
func (b Load) Run(ctx context.Context) (report LoadReport, err error) {
	setup := loadSetups[b.Setup]
	if b.Pairs > 0 {
		setup.pairs = b.Pairs
	}
	report, err = b.run(ctx, setup)
	if ctx.Err() != nil {
		return report, context.Cause(ctx) // the client has gone for that
	}
	if err != nil {
		err = fmt.Errorf("measure a master under load: %w", err)
	}
	return report, err
}

func (b Load) run(ctx context.Context, setup loadSetup) (report LoadReport, err error) {
	client, err := startStateClient(b.Client(ctx))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, client.kill()) }()
	cluster, err := startStateCluster(ctx, b.Dir, setup.fleet, nil)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, cluster.close()) }()
	first, err := client.readOne(cluster.address, "/state")
	if err != nil {
		return report, err
	}
	report = LoadReport{Benchmark: "load", Host: thisHost(), Params: LoadParams{
		Setup: b.Setup, Agents: setup.fleet.agents, Frameworks: setup.fleet.frameworks, Tasks: setup.fleet.running(),
		CompletedTasks: cluster.kept(), Pairs: setup.pairs, ChangesPerSecond: b.ChangesPerSecond, Rounds: b.Rounds, StateBytes: first.Bytes,
	}}
	asking, err := admitPrincipals(ctx, client, cluster, setup.fleet.frameworks)
	if err != nil {
		return report, fmt.Errorf("principals: %w", err)
	}
	samples, crowded := make([]loadSample, len(loadCases)), principalsSample{}
	for range b.Rounds {
		for i, c := range loadCases {
			if err := b.measure(ctx, client, cluster, c.lines(setup.pairs), c.endpoints, &samples[i]); err != nil {
				return report, fmt.Errorf("%s: %w", c.name, err)
			}
			b.progress()
		}
		if err := asking.measure(ctx, &crowded); err != nil {
			return report, fmt.Errorf("principals: %w", err)
		}
		b.progress()
	}
	for i, c := range loadCases {
		for _, endpoint := range c.endpoints {
			report.Results = append(report.Results, loadRow(c.name, endpoint, b.Setup, samples[i]))
		}
	}
	report.Results = append(report.Results, principalsRow(len(asking.own), crowded))
	return report, nil
}

func (b Load) progress() {
	if b.Progress != nil {
		b.Progress()
	}
}

// loadSample is how long each endpoint took, under load and when nobody else
// asked, and how many tasks changed meanwhile.
type loadSample struct {
	loaded, idle map[string][]time.Duration
	changes      int
}

// measure asks when nobody else does, and then under load. Tasks change all the
// while.
func (b Load) measure(ctx context.Context, client stateClient, cluster *stateCluster, lines []readLine, endpoints []string, s *loadSample) error {
	if s.loaded == nil {
		s.loaded, s.idle = map[string][]time.Duration{}, map[string][]time.Duration{}
	}
	ctx, cancel := context.WithCancel(ctx)
	changing, changes := new(errgroup.Group), 0
	if b.ChangesPerSecond > 0 {
		changing.Go(func() (err error) {
			changes, err = cluster.keepChanging(ctx, b.ChangesPerSecond)
			return err
		})
	}
	err := readInto(client, cluster.address, lines, endpoints, s)
	cancel()
	err = errors.Join(err, changing.Wait())
	s.changes += changes
	return err
}

func readInto(client stateClient, address string, lines []readLine, endpoints []string, s *loadSample) error {
	for _, endpoint := range endpoints {
		if err := readAll(client, address, []readLine{idleLine(endpoint)}, s.idle); err != nil {
			return err
		}
	}
	return readAll(client, address, lines, s.loaded)
}

// readAll adds what every line took to what its path has taken.
func readAll(client stateClient, address string, lines []readLine, took map[string][]time.Duration) error {
	all, err := client.read(readJob{address, lines})
	if err != nil {
		return err
	}
	for i, line := range lines {
		for _, r := range all[i] {
			took[line.Path] = append(took[line.Path], r.Took)
		}
	}
	return nil
}

func loadRow(name, endpoint string, setup int, s loadSample) LoadRow {
	loaded, idle := s.loaded[endpoint], s.idle[endpoint]
	row := LoadRow{
		Case: name, Endpoint: endpoint, Answers: len(loaded), Changes: s.changes,
		Min: quantile(loaded, 0), P25: quantile(loaded, 0.25), P50: quantile(loaded, 0.5),
		P75: quantile(loaded, 0.75), P90: quantile(loaded, 0.9), Max: quantile(loaded, 1),
		IdleMin: quantile(idle, 0), IdleP50: quantile(idle, 0.5), IdleP90: quantile(idle, 0.9), IdleMax: quantile(idle, 1),
	}
	if setup == 2 && name == "pairs" {
		row.PublishedP50, row.PublishedMax = loadPublished[endpoint].p50, loadPublished[endpoint].max
	}
	return row
}

// Table is the report for people.
func (r LoadReport) Table() Table {
	t := Table{Header: []string{"case", "endpoint", "answers", "min ms", "p25 ms", "p50 ms", "p75 ms", "p90 ms", "max ms",
		"idle p50 ms", "idle max ms", "one view p50 ms", "one view max ms", "x one view", "2018 p50 ms", "2018 max ms"}}
	for _, row := range r.Results {
		cells := []string{row.Case, row.Endpoint, strconv.Itoa(row.Answers)}
		for _, seconds := range []float64{row.Min, row.P25, row.P50, row.P75, row.P90, row.Max, row.IdleP50, row.IdleMax,
			row.OneViewP50, row.OneViewMax} {
			cells = append(cells, milli(seconds))
		}
		t.Rows = append(t.Rows, append(cells, times(row.RatioToOneView), milli(row.PublishedP50), milli(row.PublishedMax)))
	}
	return t
}
