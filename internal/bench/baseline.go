package bench

import (
	"errors"
	"fmt"
	"path/filepath"
)

// learned is what repetition 0 tells the others: the records of each writing
// phase, and the live bytes of the registry that is recovered.
type learned struct {
	tapes map[string]*tape // by name of the phase
	live  *liveFile
}

// writing names the phases that write, in order, with the most operations that
// can be waiting to be written at once: in a closed loop, one for each client.
func writing(agents int) (phases []writingPhase) {
	for _, s := range stormsBefore {
		if s.changes {
			phases = append(phases, writingPhase{name: s.phase, waiting: agents})
		}
	}
	phases = append(phases, writingPhase{name: removal.phase, waiting: agents, reopened: true})
	for _, l := range loops {
		phases = append(phases, writingPhase{name: l.name(), waiting: l.clients})
	}
	return phases
}

type writingPhase struct {
	name     string
	waiting  int
	reopened bool // the engine was closed and opened before it
}

// baseline is what a phase is held against, in seconds; 0 is not measured.
type baseline struct {
	floor, pebble float64
	fsync50       float64 // of the floor's writes
}

// baselines measures what the phases of the repetition that follows are held
// against. The engine is not open. Dir is empty and stays so.
func (l *learned) baselines(dir string, agents int) (map[string]baseline, error) {
	found := map[string]baseline{}
	for _, p := range writing(agents) {
		b, err := l.tapes[p.name].baseline(filepath.Join(dir, "floor"), p.waiting)
		if err != nil {
			return nil, err
		}
		found[p.name] = b
	}
	recovery, err := l.recovery()
	if err != nil {
		return nil, err
	}
	found["recover"], found["recover_clean"] = recovery, recovery
	return found, l.plain(filepath.Join(dir, "pebble"), agents, found)
}

// floorRuns is how often the floor of a storm or of recovery is measured; its
// median counts. A floor of 10,000 agents is ten writes: one slow sync would
// make a bad floor, and a good ratio.
const floorRuns = 3

// baseline measures the floor of the recorded phase, of which at most waiting
// operations could be waiting to be written at once.
func (t *tape) baseline(path string, waiting int) (baseline, error) {
	data, err := t.load()
	if err != nil {
		return baseline{}, err
	}
	group := min(waiting, maxFloorGroup)
	runs := floorRuns
	if group < maxFloorGroup && group < t.ops {
		runs = 1 // a closed loop: thousands of writes, which even out by themselves
	}
	var floors []float64
	var b baseline
	for range runs {
		took, err := writeFloor(path, data, (t.ops+group-1)/group)
		if err != nil {
			return b, err
		}
		floors = append(floors, total(took).Seconds())
		b.fsync50 = quantile(took, 0.50)
	}
	b.floor = median(floors)
	return b, nil
}

func (l *learned) recovery() (baseline, error) {
	var floors []float64
	for range floorRuns {
		took, err := l.live.recoverFloor()
		if err != nil {
			return baseline{}, err
		}
		floors = append(floors, took.Seconds())
	}
	return baseline{floor: median(floors)}, nil
}

// plain writes all phases into one plain Pebble, as the engine writes them
// into one store, and adds what each took to found.
func (l *learned) plain(dir string, agents int, found map[string]baseline) (err error) {
	p, err := newPlainPebble(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for _, phase := range writing(agents) {
		if phase.reopened {
			if err := p.reopen(); err != nil {
				return err
			}
		}
		b := found[phase.name]
		if b.pebble, err = p.replay(l.tapes[phase.name], phase.waiting); err != nil {
			return fmt.Errorf("phase %s: %w", phase.name, err)
		}
		found[phase.name] = b
	}
	return nil
}

// replay writes the recorded phase and returns the seconds it took.
func (p *plainPebble) replay(t *tape, waiting int) (float64, error) {
	data, err := t.load()
	if err != nil {
		return 0, err
	}
	startMeter() // collects garbage, as before a phase of the engine
	took, err := p.write(data, t.groups, min(waiting, inFlight))
	return took.Seconds(), err
}
