package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registry"
)

// Interference measures what a storm of changed readmissions costs more while
// something else goes on: checkpoints, backups, or a reader in a tight loop.
type Interference struct {
	// Agents is the size of the cluster, at least 1.
	Agents int
	// AgentBytes are the sizes of agents in the log to measure, up to
	// [MaxAgentBytes]; less than an agent takes anyway is no padding.
	AgentBytes []int
	// Rounds is how often each is measured, at least 1; medians are reported.
	// One more repetition runs before them and does not count.
	Rounds int
	// Dir is as in [Registrar].
	Dir string
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// InterferenceReport is what was found, in the form of its JSON.
type InterferenceReport struct {
	Benchmark string             `json:"benchmark"`
	Host      Host               `json:"host"`
	Params    InterferenceParams `json:"params"`
	Results   []InterferenceRow  `json:"results"`
}

// InterferenceParams is how it was called.
type InterferenceParams struct {
	Agents     int   `json:"agents"`
	AgentBytes []int `json:"agent_bytes"`
	Rounds     int   `json:"rounds"`
}

// InterferenceRow is a storm beside one load: medians over the rounds.
type InterferenceRow struct {
	Load         string  `json:"load"` // "alone", "checkpoint", "backup" or "reader"
	Agents       int     `json:"agents"`
	AgentBytes   int     `json:"agent_bytes"`
	Seconds      float64 `json:"seconds"`
	RatioToAlone float64 `json:"ratio_to_alone,omitzero"` // paired by round
	// Units is how often the load did its work meanwhile: checkpoints or backups
	// written, or agents read.
	Units uint64 `json:"units,omitzero"`
}

// load is what goes on beside a storm. It works until stop is closed, and
// returns how much it did. It may make files in dir, which it removes.
type load struct {
	name string
	work func(r *registrar.Registrar, dir string, stop <-chan struct{}) (uint64, error)
}

// loads begins with nothing, which the others are held against.
var loads = []load{
	{"alone", func(*registrar.Registrar, string, <-chan struct{}) (uint64, error) { return 0, nil }},
	{"checkpoint", checkpointing},
	{"backup", backingUp},
	{"reader", reading},
}

// checkpointing writes one checkpoint after another. The first finds something
// to do, see settle.
func checkpointing(r *registrar.Registrar, _ string, stop <-chan struct{}) (n uint64, err error) {
	before := r.Stats().Checkpoints
	for err == nil && !closed(stop) {
		err = r.Checkpoint(context.Background())
		time.Sleep(time.Millisecond) // else it spins where nothing was due
	}
	return r.Stats().Checkpoints - before, err
}

// backingUp writes one backup after another into a file and makes it durable. It
// leaves out the proof, which is for another process, or another machine.
func backingUp(r *registrar.Registrar, dir string, stop <-chan struct{}) (n uint64, err error) {
	f, err := os.Create(filepath.Join(dir, "backup"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	for ; err == nil && !closed(stop); n++ {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			_, err = backup.Write(f, r.Image(), time.Now())
		}
		if err == nil {
			err = f.Sync()
		}
	}
	return n, err
}

// reading looks up a hundred agents of a snapshot, then goes through all.
func reading(r *registrar.Registrar, _ string, stop <-chan struct{}) (n uint64, err error) {
	for !closed(stop) {
		s := r.Snapshot()
		for e := range s.Entries() {
			if n++; n%100 == 0 && closed(stop) {
				return n, nil
			}
			if _, known := s.Entry(e.ID()); !known {
				return n, fmt.Errorf("agent %q is not where it was", e.ID())
			}
		}
	}
	return n, nil
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// Phases is how many phases Run goes through in all.
func (b Interference) Phases() int { return len(b.AgentBytes) * (b.Rounds + 1) * len(loads) }

// Validate says what is wrong with the parameters, or nothing.
func (b Interference) Validate() error {
	if len(b.AgentBytes) == 0 {
		return errors.New("no size of agents is given")
	}
	for _, size := range b.AgentBytes {
		if err := (Registrar{Agents: []int{b.Agents}, Rounds: b.Rounds, AgentBytes: size}).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Run measures every size of agents in turn. Ending ctx ends it with an error;
// its files are removed all the same.
func (b Interference) Run(ctx context.Context) (_ InterferenceReport, err error) {
	if err := b.Validate(); err != nil {
		return InterferenceReport{}, err
	}
	dir, remove, err := makeDir(b.Dir)
	defer func() { err = errors.Join(err, remove()) }()
	if err != nil {
		return InterferenceReport{}, err
	}
	report := InterferenceReport{
		Benchmark: "interference", Host: thisHost(),
		Params: InterferenceParams{Agents: b.Agents, AgentBytes: b.AgentBytes, Rounds: b.Rounds},
	}
	for _, size := range b.AgentBytes {
		rows, err := b.size(ctx, filepath.Join(dir, strconv.Itoa(size)), size)
		if err != nil {
			return InterferenceReport{}, fmt.Errorf("measure agents of %d bytes: %w", size, err)
		}
		report.Results = append(report.Results, rows...)
	}
	return report, nil
}

// size measures one size of agents: on one store, storm after storm.
func (b Interference) size(ctx context.Context, dir string, bytes int) (_ []InterferenceRow, err error) {
	w, err := newWorkload(b.Agents, bytes, 0)
	if err != nil {
		return nil, err
	}
	e, err := createEngine(ctx, dir, b.Agents, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close(), os.RemoveAll(dir)) }()
	if _, err := submitAll(ctx, e.Registrar, w.operations(stormsBefore[0].operation)); err != nil {
		return nil, err
	}
	rounds := make([][]float64, len(loads))
	units := make([]uint64, len(loads))
	for round := range b.Rounds + 1 {
		for at := range loads {
			i := (at + round) % len(loads) // no load always comes first
			seconds, n, err := b.storm(ctx, e, w, round*len(loads)+i+1, loads[i], filepath.Dir(dir))
			if err != nil {
				return nil, fmt.Errorf("storm beside %s: %w", loads[i].name, err)
			}
			if round > 0 {
				rounds[i] = append(rounds[i], seconds)
				units[i] += n
			}
		}
	}
	return b.rows(bytes, rounds, units), nil
}

func (b Interference) rows(bytes int, rounds [][]float64, units []uint64) []InterferenceRow {
	var rows []InterferenceRow
	for i, l := range loads {
		row := InterferenceRow{
			Load: l.name, Agents: b.Agents, AgentBytes: bytes, Seconds: median(rounds[i]), Units: units[i] / uint64(b.Rounds),
		}
		if i > 0 {
			var ratios []float64
			for round, seconds := range rounds[i] {
				ratios = append(ratios, ratio(seconds, rounds[0][round]))
			}
			row.RatioToAlone = median(ratios)
		}
		rows = append(rows, row)
	}
	return rows
}

// storm gives every agent new attributes while the load works.
func (b Interference) storm(ctx context.Context, e *engine, w *workload, generation int, l load, dir string) (seconds float64, units uint64, err error) {
	w.shuffle()
	all := w.operations(func(w *workload, i int) ops.Operation { return ops.Readmit{Agent: w.agent(i, generation)} })
	if err := settle(ctx, e, generation); err != nil {
		return 0, 0, err
	}
	stop := make(chan struct{})
	var working sync.WaitGroup
	var failed error
	working.Go(func() {
		units, failed = l.work(e.Registrar, dir, stop)
	})
	meter := startMeter()
	changed, err := submitAll(ctx, e.Registrar, all)
	took, _ := meter.stop()
	close(stop)
	working.Wait()
	if b.Progress != nil {
		b.Progress()
	}
	if err = errors.Join(err, failed); err == nil && changed != len(all) {
		err = fmt.Errorf("%d of %d operations changed the registry", changed, len(all))
	}
	if err == nil {
		err = checkStates(e.Snapshot(), registry.Admitted, len(all))
	}
	return took.Seconds(), units, err
}

// settle writes what the last storm left behind, so that it is not written
// beside the next, and then makes one small change, so that there is something
// for a checkpoint.
func settle(ctx context.Context, e *engine, generation int) error {
	if err := e.Checkpoint(ctx); err != nil {
		return err
	}
	_, err := e.Apply(ctx, ops.SetMaster{Master: registry.Master{ID: strconv.Itoa(generation)}})
	return err
}

// Table is the report for people.
func (r InterferenceReport) Table() Table {
	t := Table{Header: []string{"agents", "agent bytes", "beside", "ms", "x alone", "units"}}
	for _, row := range r.Results {
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(row.Agents), strconv.Itoa(row.AgentBytes), row.Load, milli(row.Seconds),
			times(row.RatioToAlone), strconv.FormatUint(row.Units, 10),
		})
	}
	return t
}
