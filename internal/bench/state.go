package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// State measures how fast a master answers what its whole state is: the first
// time, again, and after some tasks have changed. Beside each stands the same
// bytes, written by net/http from memory to the same client. It is modelled on
// Mesos's MasterStateQuery_BENCHMARK_Test.GetState.
type State struct {
	// Agents are how many agents, each size in turn. Frameworks have tasks on each
	// agent, Tasks that run and Completed that have ended.
	Agents                       []int
	Frameworks, Tasks, Completed int
	// Rounds is how often each is measured, at least 1, each time on a new master;
	// medians are reported. One more repetition runs before them: it finds out
	// what the bytes are, and its times do not count.
	Rounds int
	// Dir is where the registries are made; "" is for temporary files.
	Dir string
	// Client is the command of [RunStateClient].
	Client func(ctx context.Context) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// StateReport is what was found, in the form of its JSON.
type StateReport struct {
	Benchmark string      `json:"benchmark"`
	Host      Host        `json:"host"`
	Params    StateParams `json:"params"`
	Results   []StateRow  `json:"results"`
}

// StateParams is how it was called.
type StateParams struct {
	Agents     []int `json:"agents"`
	Frameworks int   `json:"frameworks"`
	Tasks      int   `json:"tasks"`
	Completed  int   `json:"completed"`
	Rounds     int   `json:"rounds"`
}

// StateRow is one kind of request at one size: medians over the rounds, ratios
// paired with the static answers right before and after.
type StateRow struct {
	Kind   string `json:"kind"`
	Agents int    `json:"agents"`
	Tasks  int    `json:"tasks"` // that run
	// CompletedTasks are those that the master has kept.
	CompletedTasks int   `json:"completed_tasks"`
	Bytes          int64 `json:"bytes"` // of the first answer

	FirstSeconds   float64 `json:"first_seconds"`
	RepeatSeconds  float64 `json:"repeat_seconds"`
	ChangedSeconds float64 `json:"changed_seconds"`
	StaticSeconds  float64 `json:"static_seconds"`
	RatioFirst     float64 `json:"ratio_first"`
	RatioRepeat    float64 `json:"ratio_repeat"`
	RatioChanged   float64 `json:"ratio_changed"`
	// RatioToWhole is what one framework costs beside all of them, both asked for
	// again; of v0_filtered.
	RatioToWhole float64 `json:"ratio_to_whole,omitzero"`

	// WriterNsPerChange is from when 1 % of the tasks are told to have changed, all
	// at once, until all can be seen, for each of them; WriterAloneUs the same of
	// one alone.
	WriterNsPerChange float64 `json:"writer_ns_per_change"`
	WriterAloneUs     float64 `json:"writer_alone_us"`

	// HeapBytes is what lives after all answers beyond what did before the first
	// one; DataBytes what lived then of the master.
	HeapBytes int64 `json:"heap_bytes"`
	DataBytes int64 `json:"data_bytes"`

	Published float64 `json:"published_seconds,omitzero"`
	Mesos112  float64 `json:"mesos112_seconds,omitzero"`
}

// stateKind is something that can be asked.
type stateKind struct {
	name, path string
	whole      string // of which the answer is a part, or ""
}

var stateKinds = []stateKind{
	{name: "v0", path: "/state"},
	{name: "v0_filtered", path: "/frameworks?framework_id=" + frameworkID(0), whole: "/frameworks"},
}

const (
	stateRepeats = 3  // how often a master is asked again in a round
	stateAlone   = 50 // how many changes are published one by one
)

// stateSample is one round of one kind.
type stateSample struct {
	completed              int
	bytes                  int64
	first, repeat, changed besideStatic
	toWhole                float64
	writer, alone          float64
	heap, data             int64
}

// besideStatic is what an answer took, and the mean of the two static ones
// around it.
type besideStatic struct{ seconds, static float64 }

// Phases is how many phases Run goes through in all.
func (b State) Phases() int { return len(b.Agents) * (b.Rounds + 1) * len(stateKinds) }

// Validate says what is wrong with the parameters, or nothing.
func (b State) Validate() error {
	if len(b.Agents) == 0 {
		return errors.New("no number of agents is given")
	}
	for _, n := range b.Agents {
		if n < 1 || n > 1_000_000 {
			return fmt.Errorf("%d agents: from 1 to 1,000,000 can be measured", n)
		}
	}
	if b.Frameworks < 1 || b.Tasks < 1 || b.Completed < 0 {
		return errors.New("at least one framework and one task are needed, and no less than no completed ones")
	}
	if b.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", b.Rounds)
	}
	return nil
}

// Run measures every size in turn. Ending ctx ends it with an error.
func (b State) Run(ctx context.Context) (report StateReport, err error) {
	report = StateReport{
		Benchmark: "state", Host: thisHost(),
		Params: StateParams{b.Agents, b.Frameworks, b.Tasks, b.Completed, b.Rounds},
	}
	client, err := startStateClient(b.Client(ctx))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, client.kill()) }()
	for _, agents := range b.Agents {
		f := stateFleet{agents: agents, frameworks: b.Frameworks, tasks: b.Tasks, completed: b.Completed}
		rows, err := b.size(ctx, client, f)
		if ctx.Err() != nil {
			return report, context.Cause(ctx) // the client has gone for that
		}
		if err != nil {
			return report, fmt.Errorf("measure the state of %d agents: %w", agents, err)
		}
		report.Results = append(report.Results, rows...)
	}
	return report, nil
}

// size measures all kinds in each round, so that what is said of one beside the
// other does not depend on when they were measured.
func (b State) size(ctx context.Context, client stateClient, f stateFleet) (rows []StateRow, err error) {
	static := map[string][]byte{}
	samples := make([][]stateSample, len(stateKinds))
	for round := range b.Rounds + 1 {
		for i, kind := range stateKinds {
			r := stateRound{client: client, kind: kind, fleet: f}
			s, err := r.run(ctx, b.Dir, static)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind.name, err)
			}
			if round > 0 {
				samples[i] = append(samples[i], s)
			}
			if b.Progress != nil {
				b.Progress()
			}
		}
	}
	for i, kind := range stateKinds {
		rows = append(rows, stateRow(kind, f, samples[i]))
	}
	return rows, nil
}

// stateRound measures one kind on a master of its own.
type stateRound struct {
	client  stateClient
	kind    stateKind
	fleet   stateFleet
	cluster *stateCluster
}

func (r *stateRound) run(ctx context.Context, dir string, static map[string][]byte) (s stateSample, err error) {
	before := liveHeap()
	if r.cluster, err = startStateCluster(ctx, dir, r.fleet, static); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.cluster.close()) }()
	if _, known := static[r.staticKey()]; !known {
		// Nobody but us asks this master, and none of its times count.
		if static[r.staticKey()], err = r.learn(ctx); err != nil {
			return s, err
		}
	}
	s.completed = r.cluster.kept()
	data := liveHeap()
	s.data = int64(data) - int64(before)
	if err := r.ask(ctx, &s); err != nil {
		return s, err
	}
	s.heap = int64(liveHeap()) - int64(data)
	s.alone, err = r.alone(ctx)
	return s, err
}

// ask asks for the first time, again, and after changes.
func (r *stateRound) ask(ctx context.Context, s *stateSample) (err error) {
	if s.first, s.bytes, err = r.beside(); err != nil {
		return err
	}
	if s.repeat, err = r.repeat(); err != nil {
		return err
	}
	if r.kind.whole != "" {
		if s.toWhole, err = r.toWhole(); err != nil {
			return err
		}
	}
	n := max(1, r.fleet.running()/100)
	changes, err := r.cluster.changes(n)
	if err != nil {
		return err
	}
	took, err := publish(ctx, changes)
	if err != nil {
		return err
	}
	s.writer = float64(took.Nanoseconds()) / float64(n)
	s.changed, _, err = r.beside()
	return err
}

// beside asks once, between two static answers.
func (r *stateRound) beside() (b besideStatic, bytes int64, err error) {
	before, err := r.client.readOne(r.cluster.address, staticPath+r.staticKey())
	if err != nil {
		return b, 0, err
	}
	answer, err := r.client.readOne(r.cluster.address, r.kind.path)
	if err != nil {
		return b, 0, err
	}
	after, err := r.client.readOne(r.cluster.address, staticPath+r.staticKey())
	b = besideStatic{answer.Took.Seconds(), (before.Took + after.Took).Seconds() / 2}
	return b, answer.Bytes, err
}

// repeat asks again a few times, and returns the median by its ratio.
func (r *stateRound) repeat() (besideStatic, error) {
	var seconds, statics, ratios []float64
	for range stateRepeats {
		b, _, err := r.beside()
		if err != nil {
			return b, err
		}
		seconds, statics, ratios = append(seconds, b.seconds), append(statics, b.static), append(ratios, b.ratio())
	}
	at := medianIndex(ratios)
	return besideStatic{seconds[at], statics[at]}, nil
}

func (b besideStatic) ratio() float64 { return ratio(b.seconds, b.static) }

// medianIndex is where the median stands of an odd number of values.
func medianIndex(values []float64) int {
	m := median(values)
	for i, v := range values {
		if v == m {
			return i
		}
	}
	return 0
}

// toWhole asks for the part and for the whole, in turns, when both were asked for
// before.
func (r *stateRound) toWhole() (float64, error) {
	if _, err := r.client.readOne(r.cluster.address, r.kind.whole); err != nil {
		return 0, err
	}
	var ratios []float64
	for range stateRepeats {
		part, err := r.client.readOne(r.cluster.address, r.kind.path)
		if err != nil {
			return 0, err
		}
		whole, err := r.client.readOne(r.cluster.address, r.kind.whole)
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, ratio(part.Took.Seconds(), whole.Took.Seconds()))
	}
	return median(ratios), nil
}

// alone is how many microseconds one change takes until it can be seen.
func (r *stateRound) alone(ctx context.Context) (float64, error) {
	var took []float64
	for range stateAlone {
		change, err := r.cluster.changes(1)
		if err != nil {
			return 0, err
		}
		d, err := publish(ctx, change)
		if err != nil {
			return 0, err
		}
		took = append(took, float64(d)/float64(time.Microsecond))
	}
	return median(took), nil
}

func (r *stateRound) staticKey() string { return "/" + r.kind.name }

// learn reads the bytes of an answer, and counts the tasks in them.
func (r *stateRound) learn(ctx context.Context) ([]byte, error) {
	b, err := readBody(ctx, "http://"+r.cluster.address+r.kind.path)
	if err != nil {
		return nil, err
	}
	got, err := tasksIn(b)
	if err != nil {
		return nil, err
	}
	due := r.fleet.running()
	if r.kind.whole != "" {
		due /= r.fleet.frameworks
	}
	if got != due {
		return nil, fmt.Errorf("%s has %d tasks, %d are due", r.kind.path, got, due)
	}
	return b, nil
}

func stateRow(kind stateKind, f stateFleet, rounds []stateSample) StateRow {
	of := func(value func(s stateSample) float64) float64 {
		var all []float64
		for _, s := range rounds {
			all = append(all, value(s))
		}
		return median(all)
	}
	row := StateRow{
		Kind: kind.name, Agents: f.agents, Tasks: f.running(), CompletedTasks: rounds[0].completed,
		Bytes:          int64(of(func(s stateSample) float64 { return float64(s.bytes) })),
		FirstSeconds:   of(func(s stateSample) float64 { return s.first.seconds }),
		RepeatSeconds:  of(func(s stateSample) float64 { return s.repeat.seconds }),
		ChangedSeconds: of(func(s stateSample) float64 { return s.changed.seconds }),
		StaticSeconds: of(func(s stateSample) float64 {
			return median([]float64{s.first.static, s.repeat.static, s.changed.static})
		}),
		RatioFirst:        of(func(s stateSample) float64 { return s.first.ratio() }),
		RatioRepeat:       of(func(s stateSample) float64 { return s.repeat.ratio() }),
		RatioChanged:      of(func(s stateSample) float64 { return s.changed.ratio() }),
		RatioToWhole:      of(func(s stateSample) float64 { return s.toWhole }),
		WriterNsPerChange: of(func(s stateSample) float64 { return s.writer }),
		WriterAloneUs:     of(func(s stateSample) float64 { return s.alone }),
		HeapBytes:         int64(of(func(s stateSample) float64 { return float64(s.heap) })),
		DataBytes:         int64(of(func(s stateSample) float64 { return float64(s.data) })),
	}
	if f.frameworks == 5 && f.tasks == 2 && f.completed == 2 {
		row.Published = statePublished.seconds(f.agents, kind.name)
		row.Mesos112 = stateMesos112.seconds(f.agents, kind.name)
	}
	return row
}

// Table is the report for people.
func (r StateReport) Table() Table {
	t := Table{Header: []string{"kind", "agents", "tasks", "MB", "first ms", "repeat ms", "changed ms", "static ms",
		"x first", "x repeat", "x changed", "x whole", "ns/change", "us alone", "heap MB", "data MB", "2018 ms", "mesos 1.12 ms"}}
	for _, row := range r.Results {
		t.Rows = append(t.Rows, []string{
			row.Kind, strconv.Itoa(row.Agents), strconv.Itoa(row.Tasks), signedMega(row.Bytes),
			milli(row.FirstSeconds), milli(row.RepeatSeconds), milli(row.ChangedSeconds), milli(row.StaticSeconds),
			times(row.RatioFirst), times(row.RatioRepeat), times(row.RatioChanged), times(row.RatioToWhole),
			fmt.Sprintf("%.0f", row.WriterNsPerChange), fmt.Sprintf("%.1f", row.WriterAloneUs),
			signedMega(row.HeapBytes), signedMega(row.DataBytes), milli(row.Published), milli(row.Mesos112),
		})
	}
	return t
}

// signedMega is for differences of memory, which noise can make less than
// nothing.
func signedMega(bytes int64) string { return fmt.Sprintf("%.2f", float64(bytes)/1e6) }
