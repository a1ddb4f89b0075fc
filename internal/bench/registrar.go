package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Registrar is the benchmark of the engine, after MESOS-764's
// Registrar_BENCHMARK_Test: see the package's documentation.
type Registrar struct {
	// Agents are the sizes of cluster to measure, each at least 1.
	Agents []int
	// Rounds is how often each is measured, at least 1; medians are reported.
	// One more repetition runs before them and does not count.
	Rounds int
	// AgentBytes pads each agent to this many bytes in the log, up to
	// [MaxAgentBytes]; 0, or less than an agent takes anyway, is no padding.
	AgentBytes int
	// Dir is where a directory for the files is made, which is removed in the
	// end. It decides which disk is measured. Empty means the working directory.
	Dir string
	// Victim makes a process, not yet started, that calls [RunVictim] with its
	// standard streams.
	Victim func(ctx context.Context) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// MaxAgentBytes is the most that an agent can be padded to.
const MaxAgentBytes = 900_000

// phasesPerRound counts recover and recover_clean, remove, and the loops.
var phasesPerRound = len(stormsBefore) + 3 + len(loops)

// Phases is how many phases Run goes through in all.
func (b Registrar) Phases() int { return len(b.Agents) * (b.Rounds + 1) * phasesPerRound }

// Validate says what is wrong with the parameters, or nothing.
func (b Registrar) Validate() error {
	if len(b.Agents) == 0 {
		return errors.New("no number of agents is given")
	}
	for _, n := range b.Agents {
		if n < 1 || n > maxAgents {
			return fmt.Errorf("%d agents: from 1 to %d can be measured", n, maxAgents)
		}
	}
	if b.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", b.Rounds)
	}
	if b.AgentBytes < 0 || b.AgentBytes > MaxAgentBytes {
		return fmt.Errorf("agents of %d bytes: from 0 to %d can be measured", b.AgentBytes, MaxAgentBytes)
	}
	return nil
}

// maxAgents keeps an agent's number within 32 bits, for every loop too.
const maxAgents = 100_000_000

// Run measures every number of agents in turn. Ending ctx ends it with an
// error; its files are removed all the same.
func (b Registrar) Run(ctx context.Context) (_ Report, err error) {
	if err := b.Validate(); err != nil {
		return Report{}, err
	}
	dir, remove, err := makeDir(b.Dir)
	defer func() { err = errors.Join(err, remove()) }()
	if err != nil {
		return Report{}, err
	}
	report := Report{
		Benchmark: "registrar", Host: thisHost(),
		Params: Params{Agents: b.Agents, Rounds: b.Rounds, AgentBytes: b.AgentBytes, LoopAdmits: loopAdmits},
	}
	for i, agents := range b.Agents {
		rows, err := b.size(ctx, filepath.Join(dir, strconv.Itoa(i)), agents)
		if err != nil {
			return Report{}, fmt.Errorf("measure %d agents: %w", agents, err)
		}
		report.Results = append(report.Results, rows...)
	}
	return report, nil
}

// makeDir makes a directory for the files in in, which is made too if it is not
// there. remove takes all of it away again, also after an error.
func makeDir(in string) (dir string, remove func() error, err error) {
	in = cmp.Or(in, ".")
	made := missing(in)
	remove = func() error {
		err := os.RemoveAll(dir)
		for _, path := range made { // unless somebody has put something there
			os.Remove(path)
		}
		return err
	}
	if err := os.MkdirAll(in, 0o777); err != nil {
		return "", remove, fmt.Errorf("make room for the benchmark: %w", err)
	}
	dir, err = os.MkdirTemp(in, "regtool-bench-")
	if err != nil {
		return "", remove, fmt.Errorf("make room for the benchmark: %w; name a directory on the disk to measure", err)
	}
	dir, err = filepath.Abs(dir) // the process that is killed may stand elsewhere
	return dir, remove, err
}

// missing lists path and the directories above it that are not there, the
// deepest first.
func missing(path string) (all []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, path)
		path = filepath.Dir(path)
	}
}

// size measures one number of agents.
func (b Registrar) size(ctx context.Context, dir string, agents int) ([]Row, error) {
	known := &learned{tapes: map[string]*tape{}}
	var counted [][]sample
	for repetition := range b.Rounds + 1 {
		r, err := b.newRound(dir, agents, repetition, known)
		if err != nil {
			return nil, err
		}
		samples, err := r.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("repetition %d: %w", repetition, err)
		}
		if repetition > 0 {
			counted = append(counted, samples)
		}
	}
	return rows(agents, counted), nil
}

func (b Registrar) newRound(dir string, agents, repetition int, known *learned) (*round, error) {
	load, err := newWorkload(agents, b.AgentBytes, uint64(repetition))
	if err != nil {
		return nil, err
	}
	r := &round{
		dir: filepath.Join(dir, "round-"+strconv.Itoa(repetition)), kept: dir,
		load: load, victim: b.Victim, done: b.Progress, learned: known, agentBytes: b.AgentBytes,
	}
	if r.done == nil {
		r.done = func() {}
	}
	if repetition == 0 {
		r.record = &recorder{dir: dir}
	}
	return r, nil
}
