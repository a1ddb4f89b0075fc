package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
)

// Failover measures how long a cluster's agents take to come back to a master
// that was killed and started again, each over a connection of its own, with all
// their tasks. It is modelled on Mesos's
// MasterFailover_BENCHMARK_Test.AgentReregistrationDelay.
type Failover struct {
	// Agents are how many agents, each size in turn. Frameworks are of each agent,
	// Tasks those that run of each framework on an agent, Completed those that
	// have ended.
	Agents                       []int
	Frameworks, Tasks, Completed int
	// Rounds is how often each size is measured, at least 1; medians are reported.
	Rounds int
	// Msgpack has agents speak MessagePack instead of JSON.
	Msgpack bool
	// Dir is where the registries are made; "" is the working directory.
	Dir string
	// Master is the command of a master on the registry in dir, which prints a
	// line once it serves at the port. Floor is that of [RunFailoverFloor].
	Master func(ctx context.Context, dir string, port int) *exec.Cmd
	Floor  func(ctx context.Context) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// FailoverReport is what was found, in the form of its JSON.
type FailoverReport struct {
	Benchmark string         `json:"benchmark"`
	Host      Host           `json:"host"`
	Params    FailoverParams `json:"params"`
	Results   []FailoverRow  `json:"results"`
}

// FailoverParams is how it was called.
type FailoverParams struct {
	Agents     []int  `json:"agents"`
	Frameworks int    `json:"frameworks"`
	Tasks      int    `json:"tasks"`
	Completed  int    `json:"completed"`
	Rounds     int    `json:"rounds"`
	Encoding   string `json:"encoding"`
}

// FailoverRow is one size: medians over the rounds.
type FailoverRow struct {
	Agents int `json:"agents"`
	Tasks  int `json:"tasks"` // in all, running and ended
	// Seconds is from when the master is ready until the last agent has its
	// SUBSCRIBED: then it is a member, and everybody can see it and its tasks.
	Seconds         float64 `json:"seconds"`
	AgentsPerSecond float64 `json:"agents_per_second"`
	// RegistryWrites are the records that the new master wrote, with the one that
	// every recovery writes.
	RegistryWrites int `json:"registry_writes"`
	// RecoverSeconds is from the start of the new process until it is ready.
	RecoverSeconds float64 `json:"recover_seconds"`
	// FloorSeconds is the same first records, sent over fresh connections to a
	// bare handler in another process that decodes each and answers.
	FloorSeconds float64 `json:"floor_seconds"`
	RatioToFloor float64 `json:"ratio_to_floor"` // paired by round
	// Mesos112 is what Mesos 1.12 took on a machine of 2 CPUs, for its sizes.
	Mesos112 float64 `json:"mesos112_seconds,omitzero"`
}

// failoverSample is one round.
type failoverSample struct {
	seconds, recover, floor float64
	writes                  int
}

// Phases is how many phases Run goes through in all.
func (b Failover) Phases() int { return len(b.Agents) * b.Rounds * 2 }

// Validate says what is wrong with the parameters, or nothing.
func (b Failover) Validate() error {
	if len(b.Agents) == 0 {
		return errors.New("no number of agents is given")
	}
	for _, n := range b.Agents {
		if n < 1 || n > 1_000_000 {
			return fmt.Errorf("%d agents: from 1 to 1,000,000 can be measured", n)
		}
	}
	if b.Frameworks < 1 || b.Tasks < 0 || b.Completed < 0 {
		return errors.New("at least one framework is needed, and no less than no tasks")
	}
	if b.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", b.Rounds)
	}
	return nil
}

func (b Failover) encoding() wire.Encoding {
	if b.Msgpack {
		return wire.Msgpack
	}
	return wire.JSON
}

// Run measures every size in turn. Ending ctx ends it with an error.
func (b Failover) Run(ctx context.Context) (FailoverReport, error) {
	report := FailoverReport{
		Benchmark: "failover", Host: thisHost(),
		Params: FailoverParams{b.Agents, b.Frameworks, b.Tasks, b.Completed, b.Rounds, b.encoding().ContentType()},
	}
	for _, agents := range b.Agents {
		f := fleet{agents, b.Frameworks, b.Tasks, b.Completed}
		var samples []failoverSample
		for range b.Rounds {
			s, err := b.round(ctx, f)
			if err != nil {
				return report, fmt.Errorf("measure the failover of %d agents: %w", agents, err)
			}
			samples = append(samples, s)
		}
		report.Results = append(report.Results, failoverRow(f, samples))
	}
	return report, nil
}

func (b Failover) round(ctx context.Context, f fleet) (s failoverSample, err error) {
	floor, err := b.floor(ctx, f)
	if err != nil {
		return s, err
	}
	b.progress()
	dir, err := os.MkdirTemp(b.Dir, "regtool-bench-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err = b.failover(ctx, f, dir)
	s.floor = floor.Seconds()
	b.progress()
	return s, err
}

func (b Failover) progress() {
	if b.Progress != nil {
		b.Progress()
	}
}

// floor measures the bare handler.
func (b Failover) floor(ctx context.Context, f fleet) (took time.Duration, err error) {
	bodies := make([][]byte, f.Agents)
	for i := range bodies {
		id := fmt.Sprintf("00000000-0000-4000-8000-000000000000-S%d", i)
		if bodies[i], err = f.body(i, id, b.encoding()); err != nil {
			return 0, err
		}
	}
	server, address, err := startChild(b.Floor(ctx))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.kill()) }()
	return f.floor(ctx, address, b.encoding(), bodies)
}

func failoverRow(f fleet, samples []failoverSample) FailoverRow {
	of := func(value func(failoverSample) float64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = value(s)
		}
		return median(values)
	}
	row := FailoverRow{
		Agents: f.Agents, Tasks: f.Agents * f.Frameworks * (f.Tasks + f.Completed),
		Seconds:        of(func(s failoverSample) float64 { return s.seconds }),
		RegistryWrites: int(of(func(s failoverSample) float64 { return float64(s.writes) })),
		RecoverSeconds: of(func(s failoverSample) float64 { return s.recover }),
		FloorSeconds:   of(func(s failoverSample) float64 { return s.floor }),
		RatioToFloor:   of(func(s failoverSample) float64 { return ratio(s.seconds, s.floor) }),
		Mesos112:       mesosFailover[f],
	}
	row.AgentsPerSecond = ratio(float64(f.Agents), row.Seconds)
	return row
}

// mesosFailover is what Mesos 1.12 took, in seconds.
var mesosFailover = map[fleet]float64{
	{2000, 5, 10, 10}: 2.76,
	{2000, 5, 20, 0}:  2.78,
	{20000, 1, 5, 0}:  5.91,
}

// Table is the report for people.
func (r FailoverReport) Table() Table {
	t := Table{Header: []string{"AGENTS", "TASKS", "SECONDS", "AGENTS/S", "REGISTRY WRITES", "RECOVER", "FLOOR", "X FLOOR", "MESOS 1.12"}}
	for _, row := range r.Results {
		mesos := ""
		if row.Mesos112 > 0 {
			mesos = fmt.Sprintf("%.2f s", row.Mesos112)
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(row.Agents), fmt.Sprint(row.Tasks), fmt.Sprintf("%.3f", row.Seconds), fmt.Sprintf("%.0f", row.AgentsPerSecond),
			fmt.Sprint(row.RegistryWrites), fmt.Sprintf("%.3f s", row.RecoverSeconds), fmt.Sprintf("%.3f s", row.FloorSeconds),
			fmt.Sprintf("%.2f", row.RatioToFloor), mesos,
		})
	}
	return t
}
