package main

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// summary is what "inspect registry" shows: the content in short, and what the
// store says of itself.
type summary struct {
	Master              *masterJSON `json:"master"` // null if nobody ever led
	Admitted            int         `json:"admitted"`
	Unreachable         int         `json:"unreachable"`
	Gone                int         `json:"gone"`
	MinimumCapabilities []string    `json:"minimum_capabilities,omitempty"`
	Keys                int         `json:"keys,omitempty"` // of user tables
	Pods                int         `json:"pods,omitempty"` // that are defined
	Entries             uint64      `json:"entries"`        // over all tables
	Revision            uint64      `json:"revision"`
	Digest              string      `json:"digest"`
	History             string      `json:"history"`
	Epoch               uint64      `json:"epoch"`
	Store               storeJSON   `json:"store"`
	Live                *seenLive   `json:"live,omitempty"`
}

type masterJSON struct {
	ID           string      `json:"id,omitzero"`
	Hostname     string      `json:"hostname,omitzero"`
	IP           string      `json:"ip,omitzero"`
	Port         uint16      `json:"port,omitzero"`
	PID          string      `json:"pid,omitzero"`
	Version      string      `json:"version,omitzero"`
	Domain       *domainJSON `json:"domain,omitempty"`
	Capabilities []string    `json:"capabilities,omitempty"`
}

type storeJSON struct {
	Dir          string           `json:"dir"`
	Format       int              `json:"format"`
	PebbleFormat int              `json:"pebble_format"`
	Bytes        int64            `json:"bytes"`
	Records      recordsJSON      `json:"records"`
	Checkpoints  []checkpointJSON `json:"checkpoints"` // oldest first
	Witness      markJSON         `json:"witness"`
	Losses       []lossJSON       `json:"losses,omitempty"` // that were accepted, oldest first
}

// lossJSON is a loss of records that was accepted.
type lossJSON struct {
	History    string   `json:"history"` // that ended with it
	From       uint64   `json:"from"`    // the first revision lost
	Left       markJSON `json:"left"`
	Witnessed  markJSON `json:"witnessed"`
	Quarantine uint64   `json:"quarantine"`
	Reason     string   `json:"reason"`

	text string
}

// recordsJSON counts the records that are kept; First is one more than Last if
// there are none.
type recordsJSON struct {
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Replayed int    `json:"replayed"` // since the checkpoint, to read the registry
}

type checkpointJSON struct {
	markJSON
	Bytes  uint64 `json:"bytes"`
	Damage string `json:"damage,omitzero"`
}

// markJSON is a place in the history of a store.
type markJSON struct {
	Record   uint64 `json:"record"`
	Epoch    uint64 `json:"epoch"`
	Revision uint64 `json:"revision"`
	Entries  uint64 `json:"entries"`
	Digest   string `json:"digest"`
}

func toMarkJSON(m store.Mark) markJSON {
	return markJSON{m.Seq, m.Epoch, m.Revision, m.Count, hex.EncodeToString(m.Digest[:])}
}

func summarize(s *stored) summary {
	out := summary{
		Admitted: s.Len(registry.Admitted), Unreachable: s.Len(registry.Unreachable), Gone: s.Len(registry.Gone),
		MinimumCapabilities: s.MinimumCapabilities(), Pods: s.PodsLen(), Entries: s.Count(), Revision: s.Revision(),
		Digest: s.Digest().String(), History: s.Recovery.Identity.History.String(), Epoch: s.Recovery.Identity.Epoch,
		Store: toStoreJSON(s), Live: s.Live,
	}
	for _, keys := range s.Tables() {
		out.Keys += keys
	}
	if m, ok := s.Master(); ok {
		out.Master = toMasterJSON(m)
	}
	return out
}

func toStoreJSON(s *stored) storeJSON {
	out := storeJSON{
		Dir: s.Info.Dir, Format: s.Info.Format, PebbleFormat: s.Info.PebbleFormat, Bytes: s.Info.Bytes,
		Records:     recordsJSON{s.Info.First, s.Info.Last.Seq, s.Recovery.Records},
		Checkpoints: []checkpointJSON{}, Witness: toMarkJSON(s.Info.Witness),
	}
	for _, c := range s.Info.Checkpoints {
		out.Checkpoints = append(out.Checkpoints, checkpointJSON{toMarkJSON(c.Mark), c.Bytes, c.Damage})
	}
	for _, l := range s.Info.Losses {
		out.Losses = append(out.Losses, lossJSON{
			l.History.String(), l.From, toMarkJSON(l.Left), toMarkJSON(l.Witnessed), l.Quarantine, l.Reason, l.String(),
		})
	}
	return out
}

func toMasterJSON(m registry.Master) *masterJSON {
	out := &masterJSON{
		ID: m.ID, Hostname: m.Hostname, IP: m.IP, Port: m.Port, PID: m.PID, Version: m.Version,
		Capabilities: m.Capabilities,
	}
	if m.Domain != (registry.Domain{}) {
		out.Domain = &domainJSON{m.Domain.Region, m.Domain.Zone}
	}
	return out
}

// facts is the summary for people.
func (s summary) facts() []fact {
	facts := []fact{
		{"master", s.Master.text()},
		{"admitted", s.Admitted},
		{"unreachable", s.Unreachable},
		{"gone", s.Gone},
		{"capabilities", orNone(strings.Join(s.MinimumCapabilities, " "))},
	}
	if s.Keys > 0 { // most registries have agents only
		facts = append(facts, fact{"keys", s.Keys})
	}
	if s.Pods > 0 {
		facts = append(facts, fact{"pods", s.Pods})
	}
	facts = append(facts, []fact{
		{"entries", s.Entries},
		{"revision", s.Revision},
		{"digest", s.Digest},
		{"history", s.History},
		{"epoch", s.Epoch},
		{"format", s.Store.format()},
		{"records", s.Store.Records.text()},
		{"checkpoints", s.Store.checkpoints()},
	}...)
	if s.Store.PebbleFormat != 0 { // in etcd there is none
		facts = append(facts, fact{"witness", s.Store.Witness.text()})
	}
	facts = append(facts, fact{"bytes", s.Store.Bytes})
	for _, l := range s.Store.Losses {
		facts = append(facts, fact{"loss", l.text})
	}
	return facts
}

func (m *masterJSON) text() string {
	if m == nil {
		return "none"
	}
	var parts []string
	for _, part := range []string{m.PID, m.Hostname, m.ID, m.Version} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return orNone(strings.Join(parts, " "))
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func (r recordsJSON) text() string {
	if r.First > r.Last {
		return "none"
	}
	return fmt.Sprintf("%d to %d, of which %d are replayed", r.First, r.Last, r.Replayed)
}

func (s storeJSON) format() string {
	if s.PebbleFormat == 0 {
		return fmt.Sprintf("%d on etcd", s.Format)
	}
	return fmt.Sprintf("%d on Pebble format %d", s.Format, s.PebbleFormat)
}

func (s storeJSON) checkpoints() string {
	var texts []string
	for _, c := range s.Checkpoints {
		text := c.text()
		if c.Damage != "" {
			text += " (damaged: " + c.Damage + ")"
		}
		texts = append(texts, text)
	}
	return orNone(strings.Join(texts, "; "))
}

func (m markJSON) text() string {
	return fmt.Sprintf("record %d, revision %d", m.Record, m.Revision)
}
