package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/registrar"
)

// Readiness is what /ready says to who accepts application/json.
type Readiness struct {
	// Ready says whether requests should be sent here; if not, Why says why.
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitzero"`
	// State and Reasons are those of [registrar.Health].
	State   registrar.State `json:"state"`
	Reasons []ReadyReason   `json:"reasons"`
	// FrozenSince is set while no agents are marked unreachable, because too many
	// are away.
	FrozenSince *time.Time `json:"frozen_since,omitzero"`

	OldestUnsyncedSeconds float64 `json:"oldest_unsynced_seconds"`
	CheckpointAgeSeconds  float64 `json:"checkpoint_age_seconds"`
	CheckpointBehindBytes int64   `json:"checkpoint_behind_bytes"`
	WitnessBehindSeconds  float64 `json:"witness_behind_seconds"`
	WitnessBehindRecords  uint64  `json:"witness_behind_records"`
	BackgroundErrors      uint64  `json:"background_errors"`
	// The disk's are 0 if it is not known.
	DiskFreeBytes uint64 `json:"disk_free_bytes"`
	DiskSizeBytes uint64 `json:"disk_size_bytes"`
}

// ReadyReason is a [registrar.Reason].
type ReadyReason struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// readiness says whether requests should be sent here. A master that is frozen
// or degraded serves as well as it can, and only says so: one that clients are
// sent away from could not be asked what is wrong. Everybody may ask, so it does
// not say where.
func (a *api) readiness(w http.ResponseWriter, r *http.Request) {
	said := a.readinessNow()
	w.Header().Set("Vary", "Accept")
	status := http.StatusOK
	if !said.Ready {
		status = http.StatusServiceUnavailable
	}
	if accepted(r, "text/plain", asJSON) == asJSON {
		w.Header().Set("Content-Type", asJSON)
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(said)
		return
	}
	if !said.Ready {
		fail(w, status, said.Why)
		return
	}
	if text := said.text(); text != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, text)
		return
	}
	w.WriteHeader(status)
}

func (a *api) readinessNow() Readiness {
	h := a.health()
	said := Readiness{
		Ready: true, State: h.State, Reasons: []ReadyReason{},
		OldestUnsyncedSeconds: h.OldestUnsynced.Seconds(),
		CheckpointAgeSeconds:  h.CheckpointAge.Seconds(), CheckpointBehindBytes: h.CheckpointBehind,
		WitnessBehindSeconds: h.Storage.WitnessBehind.Seconds(), WitnessBehindRecords: h.Storage.UnwitnessedRecords,
		BackgroundErrors: h.Storage.Failures, DiskFreeBytes: h.Storage.Free, DiskSizeBytes: h.Storage.Total,
	}
	for _, r := range h.Reasons {
		said.Reasons = append(said.Reasons, ReadyReason{r.Name, r.Text})
	}
	if frozen := a.source.State().Frozen; len(frozen) > 0 {
		since := frozen[0].Since.UTC()
		said.FrozenSince = &since
	}
	if err := a.ready(); err != nil {
		said.Ready, said.Why = false, err.Error()
	}
	return said
}

// text is a line for each thing that is not as it should be.
func (r *Readiness) text() string {
	var lines []string
	if r.FrozenSince != nil {
		lines = append(lines, fmt.Sprintf("frozen since %s: too many agents are away, no more are marked unreachable", r.FrozenSince.Format(time.RFC3339)))
	}
	for _, reason := range r.Reasons {
		lines = append(lines, fmt.Sprintf("%s %s: %s", r.State, reason.Name, reason.Text))
	}
	return strings.Join(lines, "\n")
}
