package registrar

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
)

// State is how a registrar is, in a word.
type State string

// Degraded means that it serves, and that somebody should look after it. Latched
// means that it has stopped for good: open the store afresh.
const (
	Healthy  State = "healthy"
	Degraded State = "degraded"
	Latched  State = "latched"
)

// Why a registrar is not healthy: the names of reasons, for programs.
const (
	ReasonLatched        = "latched"           // it has failed, and takes nothing any more
	ReasonDiskFull       = "disk_full"         // nothing is added; what removes is done
	ReasonDiskLow        = "disk_low"          // it will soon be full
	ReasonSlow           = "slow"              // records take long to become durable
	ReasonStalled        = "stalled"           // records wait for room in the store's memory
	ReasonBackground     = "background_errors" // the store cannot write its tables
	ReasonCheckpointLate = "checkpoint_late"   // the log grows, and so does the next recovery
	ReasonWitnessBehind  = "witness_behind"    // a loss of records could go unnoticed
)

// Reasons are all of them, the worst first.
func Reasons() []string {
	return []string{ReasonLatched, ReasonDiskFull, ReasonStalled, ReasonBackground, ReasonSlow, ReasonCheckpointLate, ReasonWitnessBehind, ReasonDiskLow}
}

// Reason is one thing that is not as it should be.
type Reason struct {
	Name string // one of [Reasons]
	Text string // for people; it names no file
}

// Health is how a registrar and its store are.
type Health struct {
	State State
	// Reasons are why it is not healthy, the worst first.
	Reasons []Reason

	// CheckpointAge is how old the last checkpoint is, or, before the first one,
	// how long the registrar is open; CheckpointBehind is how many bytes of
	// records came after it.
	CheckpointAge    time.Duration
	CheckpointBehind int64
	// OldestUnsynced is for how long the store has had the oldest record that is
	// not durable; 0 when all are.
	OldestUnsynced time.Duration
	// Storage is what the store says of itself, if it is a [store.Watched].
	Storage store.Condition
}

// Health says how the registrar is. It costs no input or output, and waits for
// none: it answers also while the disk does not.
func (r *Registrar) Health() Health {
	logged, size := r.checkpoints.behind(r.current.Load().logged)
	h := Health{State: Healthy, CheckpointBehind: logged, OldestUnsynced: r.watchdog.oldest(),
		CheckpointAge: time.Since(r.opened) - time.Duration(r.checkpoints.at.Load())}
	if w, ok := r.store.(store.Watched); ok {
		h.Storage = w.Condition()
	}
	if err := r.failure(); err != nil {
		h.add(ReasonLatched, err.Error())
	}
	h.addStorage(r.options.SlowAfter)
	h.addSlow(r)
	const overdue = 4 // times what makes one due
	switch {
	case r.checkpoints.failed.Load():
		h.add(ReasonCheckpointLate, fmt.Sprintf("the last checkpoint could not be written; %d bytes of log have come since the one before", logged))
	case logged >= overdue*max(r.checkpoints.least, size):
		h.add(ReasonCheckpointLate, fmt.Sprintf("%d bytes of log have come since the last checkpoint", logged))
	}
	slices.SortFunc(h.Reasons, func(a, b Reason) int {
		return cmp.Compare(slices.Index(Reasons(), a.Name), slices.Index(Reasons(), b.Name))
	})
	return h
}

func (h *Health) addStorage(slow time.Duration) {
	s := &h.Storage
	if s.Full != nil {
		h.add(ReasonDiskFull, s.Full.Error())
	}
	if s.Low != nil {
		h.add(ReasonDiskLow, s.Low.Error())
	}
	if !s.Stalled.IsZero() {
		h.add(ReasonStalled, fmt.Sprintf("records wait for room in the memory of the store since %s", s.Stalled.UTC().Format(time.RFC3339)))
	}
	if s.Failing != nil {
		h.add(ReasonBackground, fmt.Sprintf("the store cannot write in the background, and tries again (%d times so far)", s.Failures))
	}
	if s.WitnessBehind >= slow {
		h.add(ReasonWitnessBehind, fmt.Sprintf("the witness is %v and %d records behind: were the disk to lose them, nobody would notice",
			s.WitnessBehind.Round(time.Millisecond), s.UnwitnessedRecords))
	}
}

func (h *Health) addSlow(r *Registrar) {
	if h.OldestUnsynced >= r.options.SlowAfter {
		h.add(ReasonSlow, fmt.Sprintf("the store has not made a record durable for %v", h.OldestUnsynced.Round(time.Millisecond)))
		return
	}
	if took, is := r.slow.recently(time.Since(r.opened)); is {
		h.add(ReasonSlow, fmt.Sprintf("within the last minute a record took %v to become durable", took.Round(time.Millisecond)))
	}
}

func (h *Health) add(name, text string) {
	h.Reasons = append(h.Reasons, Reason{name, text})
	switch {
	case name == ReasonLatched:
		h.State = Latched
	case h.State == Healthy:
		h.State = Degraded
	}
}
