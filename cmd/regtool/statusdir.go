package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// reasonCheckpointDamaged is why a registry in a directory is not healthy, beside
// the reasons of a registrar.
const reasonCheckpointDamaged = "checkpoint_damaged"

// dirStatus is how a registry is in its directory. Of one that a process has open,
// that process says it.
type dirStatus struct {
	Dir     string                `json:"dir"`
	State   registrar.State       `json:"state"`
	Reasons []httpapi.ReadyReason `json:"reasons"`
	// Revision is that of the last record.
	Revision uint64 `json:"revision"`
	Record   uint64 `json:"record"`
	// CheckpointBehindRecords come after the last checkpoint.
	CheckpointBehindRecords uint64 `json:"checkpoint_behind_records"`
	WitnessBehindRecords    uint64 `json:"witness_behind_records"`
	Bytes                   int64  `json:"bytes"`
	DiskFreeBytes           uint64 `json:"disk_free_bytes"`
	DiskSizeBytes           uint64 `json:"disk_size_bytes"`
	// Losses of records were accepted, oldest first. They stay in its history, and
	// are no reason to do anything.
	Losses []string `json:"losses_accepted,omitempty"`
	// Live says which process was asked, if one has it open.
	Live *seenLive `json:"live,omitempty"`
}

func (s *statusCommand) ofDir(cmd *cobra.Command) error {
	d, err := statusOf(cmd, s.dir)
	if err != nil {
		return err
	}
	if s.json {
		err = writeJSON(cmd.OutOrStdout(), d)
	} else {
		err = writeFacts(cmd.OutOrStdout(), d.facts())
	}
	if err != nil {
		return err
	}
	return unwell(s.dir, d.State, d.Reasons)
}

func statusOf(cmd *cobra.Command, dir string) (d *dirStatus, err error) {
	err = reading{dir: dir}.readWith(cmd, func(from readable) error {
		i, err := from.Info()
		if err != nil {
			return err
		}
		d = newDirStatus(i, from.Condition(), seenBy(from))
		return nil
	})
	return d, err
}

func newDirStatus(i wal.Info, c store.Condition, live *seenLive) *dirStatus {
	d := &dirStatus{
		Live: live, Dir: i.Dir, State: registrar.Healthy, Reasons: []httpapi.ReadyReason{}, Revision: i.Last.Revision, Record: i.Last.Seq,
		CheckpointBehindRecords: i.Last.Seq, WitnessBehindRecords: i.Last.Seq - min(i.Witness.Seq, i.Last.Seq),
		Bytes: i.Bytes, DiskFreeBytes: c.Free, DiskSizeBytes: c.Total,
	}
	if live != nil && live.Failed != "" { // the worst first, as Health has it
		d.add(registrar.ReasonLatched, live.Failed)
		d.State = registrar.Latched
	}
	if c.Full != nil {
		d.add(registrar.ReasonDiskFull, c.Full.Error())
	}
	for _, p := range i.Checkpoints {
		if p.Damage != "" {
			d.add(reasonCheckpointDamaged, fmt.Sprintf("checkpoint %d: %s", p.Mark.Seq, p.Damage))
			continue
		}
		d.CheckpointBehindRecords = i.Last.Seq - p.Mark.Seq
	}
	if c.Low != nil {
		d.add(registrar.ReasonDiskLow, c.Low.Error())
	}
	for _, loss := range i.Losses {
		d.Losses = append(d.Losses, loss.String())
	}
	return d
}

func (d *dirStatus) add(name, text string) {
	if d.State == registrar.Healthy {
		d.State = registrar.Degraded
	}
	d.Reasons = append(d.Reasons, httpapi.ReadyReason{Name: name, Text: text})
}

func (d *dirStatus) facts() []fact {
	facts := append([]fact{{"state", d.State}}, reasonFacts(d.Reasons)...)
	facts = append(facts, []fact{
		{"disk", diskText(d.DiskFreeBytes, d.DiskSizeBytes)},
		{"last", fmt.Sprintf("record %d, revision %d", d.Record, d.Revision)},
		{"checkpoint", fmt.Sprintf("%s behind", counted(d.CheckpointBehindRecords, "record"))},
		{"witness", fmt.Sprintf("%s behind", counted(d.WitnessBehindRecords, "record"))},
		{"bytes", d.Bytes},
	}...)
	for _, loss := range d.Losses {
		facts = append(facts, fact{"accepted", loss})
	}
	return facts
}
