package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// Why a registry in a directory is not healthy, beside the reasons of a registrar.
const (
	reasonCheckpointDamaged = "checkpoint_damaged"
	reasonLossAccepted      = "loss_accepted"
)

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
		d = newDirStatus(i, from.Condition())
		if d.Live = seenBy(from); d.Live != nil && d.Live.Failed != "" {
			d.add(registrar.ReasonLatched, d.Live.Failed)
			d.State = registrar.Latched
		}
		return nil
	})
	return d, err
}

func newDirStatus(i wal.Info, c store.Condition) *dirStatus {
	d := &dirStatus{
		Dir: i.Dir, State: registrar.Healthy, Reasons: []httpapi.ReadyReason{}, Revision: i.Last.Revision, Record: i.Last.Seq,
		CheckpointBehindRecords: i.Last.Seq, WitnessBehindRecords: i.Last.Seq - min(i.Witness.Seq, i.Last.Seq),
		Bytes: i.Bytes, DiskFreeBytes: c.Free, DiskSizeBytes: c.Total,
	}
	if c.Full != nil {
		d.add(registrar.ReasonDiskFull, c.Full.Error())
	}
	if c.Low != nil {
		d.add(registrar.ReasonDiskLow, c.Low.Error())
	}
	for _, p := range i.Checkpoints {
		if p.Damage != "" {
			d.add(reasonCheckpointDamaged, fmt.Sprintf("checkpoint %d: %s", p.Mark.Seq, p.Damage))
			continue
		}
		d.CheckpointBehindRecords = i.Last.Seq - p.Mark.Seq
	}
	for _, loss := range i.Losses {
		d.add(reasonLossAccepted, loss.String())
	}
	return d
}

func (d *dirStatus) add(name, text string) {
	d.State = registrar.Degraded
	d.Reasons = append(d.Reasons, httpapi.ReadyReason{Name: name, Text: text})
}

func (d *dirStatus) facts() []fact {
	facts := append([]fact{{"state", d.State}}, reasonFacts(d.Reasons)...)
	return append(facts, []fact{
		{"disk", diskText(d.DiskFreeBytes, d.DiskSizeBytes)},
		{"last", fmt.Sprintf("record %d, revision %d", d.Record, d.Revision)},
		{"checkpoint", fmt.Sprintf("%s behind", counted(d.CheckpointBehindRecords, "record"))},
		{"witness", fmt.Sprintf("%s behind", counted(d.WitnessBehindRecords, "record"))},
		{"bytes", d.Bytes},
	}...)
}
