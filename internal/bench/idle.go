package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/agent/wire"
)

// Idle measures what agents cost a master that have nothing to say but that they
// are there: memory beyond a bare handler that holds as many streams open, and
// processor time.
type Idle struct {
	// Agents are how many agents, each size in turn.
	Agents []int
	// Window is how long the processor time is watched.
	Window time.Duration
	// Dir is where the registries are made; "" is the working directory.
	Dir string
	// Master is the command of a master on the registry in dir, which prints a
	// line once it serves at the port, and then runs [ServeMeter]. Bare is that of
	// [RunFailoverFloor].
	Master func(ctx context.Context, dir string, port int) *exec.Cmd
	Bare   func(ctx context.Context) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// IdleReport is what was found, in the form of its JSON.
type IdleReport struct {
	Benchmark string     `json:"benchmark"`
	Host      Host       `json:"host"`
	Params    IdleParams `json:"params"`
	Results   []IdleRow  `json:"results"`
}

// IdleParams is how it was called.
type IdleParams struct {
	Agents        []int   `json:"agents"`
	WindowSeconds float64 `json:"window_seconds"`
}

// IdleRow is one size. Bytes are heap and stacks in use after a collection.
type IdleRow struct {
	Agents             int     `json:"agents"`
	BytesPerAgent      float64 `json:"bytes_per_agent"`
	BareBytesPerStream float64 `json:"bare_bytes_per_stream"`
	BeyondBare         float64 `json:"beyond_bare_bytes"`
	// CPUShare is of one processor, over the window.
	CPUShare float64 `json:"cpu_share"`
}

// Phases is how many phases Run goes through in all.
func (b Idle) Phases() int { return 2 * len(b.Agents) }

// Validate says what is wrong with the parameters, or nothing.
func (b Idle) Validate() error {
	if len(b.Agents) == 0 {
		return errors.New("no number of agents is given")
	}
	for _, n := range b.Agents {
		if n < 1 || n > 1_000_000 {
			return fmt.Errorf("%d agents: from 1 to 1,000,000 can be measured", n)
		}
	}
	if b.Window <= 0 {
		return errors.New("the window must be longer than nothing")
	}
	return nil
}

// Run measures every size in turn. Ending ctx ends it with an error.
func (b Idle) Run(ctx context.Context) (IdleReport, error) {
	report := IdleReport{
		Benchmark: "idle", Host: thisHost(),
		Params: IdleParams{b.Agents, b.Window.Seconds()},
	}
	for _, n := range b.Agents {
		row, err := b.row(ctx, n)
		if err != nil {
			return report, fmt.Errorf("measure %d idle agents: %w", n, err)
		}
		report.Results = append(report.Results, row)
	}
	return report, nil
}

func (b Idle) row(ctx context.Context, n int) (row IdleRow, err error) {
	row.Agents = n
	if row.BareBytesPerStream, err = b.bare(ctx, n); err != nil {
		return row, err
	}
	b.progress()
	row.BytesPerAgent, row.CPUShare, err = b.master(ctx, n)
	row.BeyondBare = row.BytesPerAgent - row.BareBytesPerStream
	b.progress()
	return row, err
}

func (b Idle) progress() {
	if b.Progress != nil {
		b.Progress()
	}
}

// bare is what a stream costs that a bare handler holds open.
func (b Idle) bare(ctx context.Context, n int) (bytes float64, err error) {
	f := fleet{Agents: n}
	server, address, err := startChild(b.Bare(ctx))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.kill()) }()
	before, err := server.usage()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	g, gctx := errgroup.WithContext(ctx)
	defer func() { cancel(); g.Wait() }()
	answered := make(chan struct{}, n)
	for i := range n {
		g.Go(func() error {
			body, err := f.body(i, "id", wire.JSON)
			if err != nil {
				return err
			}
			return holdFloor(gctx, address, body, answered)
		})
	}
	for range n {
		select {
		case <-answered:
		case <-gctx.Done():
			return 0, g.Wait()
		}
	}
	after, err := server.usage()
	return after.perAgent(before, n), err
}

// master is what an agent costs a master, and what all cost in time.
func (b Idle) master(ctx context.Context, n int) (bytes, share float64, err error) {
	dir, err := os.MkdirTemp(b.Dir, "regtool-bench-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	master, address, err := startMaster(ctx, b.Master, dir)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, master.kill()) }()
	before, err := master.usage()
	if err != nil {
		return 0, 0, err
	}
	agents := newCrowd(fleet{Agents: n}, false)
	defer func() { err = errors.Join(err, agents.stop()) }()
	if err := agents.start(ctx); err != nil {
		return 0, 0, err
	}
	if err := agents.comeIn(ctx, address); err != nil {
		return 0, 0, err
	}
	first, err := master.usage()
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-time.After(b.Window):
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	last, err := master.usage()
	// Taking the first figures is in the time, but not in that of the agents.
	return last.perAgent(before, n), (last.CPU - first.CPUAfter).Seconds() / b.Window.Seconds(), err
}

// usage is what a process has in use: bytes of heap and stacks after a
// collection, and the processor time until that collection and after it.
type usage struct {
	Bytes    uint64        `json:"bytes"`
	CPU      time.Duration `json:"cpu"`
	CPUAfter time.Duration `json:"cpu_after"`
}

func (u usage) perAgent(before usage, n int) float64 {
	return (float64(u.Bytes) - float64(before.Bytes)) / float64(n)
}

// ServeMeter answers each line on stdin with what this process has in use.
func ServeMeter(stdin io.Reader, stdout io.Writer) error {
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		u := usage{CPU: processTime()}
		for range 4 { // stacks shrink by half each time
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		u.Bytes, u.CPUAfter = m.HeapInuse+m.StackInuse, processTime()
		if err := json.NewEncoder(stdout).Encode(u); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Table is the report for people.
func (r IdleReport) Table() Table {
	t := Table{Header: []string{"AGENTS", "BYTES AN AGENT", "BARE HANDLER", "BEYOND IT", "% OF A CPU"}}
	for _, row := range r.Results {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(row.Agents), fmt.Sprintf("%.0f", row.BytesPerAgent), fmt.Sprintf("%.0f", row.BareBytesPerStream),
			fmt.Sprintf("%.0f", row.BeyondBare), fmt.Sprintf("%.2f", 100*row.CPUShare),
		})
	}
	return t
}
