package main

import (
	"encoding/hex"
	"io"
	"time"

	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registrar/store"
)

// backupReport is what backup and verify say of a backup that is whole.
type backupReport struct {
	File     string          `json:"file"`
	Made     time.Time       `json:"made"`
	History  store.HistoryID `json:"history"`
	Record   uint64          `json:"record"`
	Revision uint64          `json:"revision"`
	Entries  uint64          `json:"entries"`
	Digest   string          `json:"digest"`
	Requests int             `json:"requests"`
	Bytes    int64           `json:"bytes"`
	SHA256   string          `json:"sha256"`
}

func writeBackupReport(w io.Writer, file string, s backup.Summary, asJSON bool) error {
	r := backupReport{
		File: file, Made: s.Made.UTC(), History: s.History,
		Record: s.Mark.Seq, Revision: s.Mark.Revision, Entries: s.Mark.Count, Digest: hex.EncodeToString(s.Mark.Digest[:]),
		Requests: s.Requests, Bytes: s.Bytes, SHA256: hex.EncodeToString(s.SHA256[:]),
	}
	if asJSON {
		return writeJSON(w, r)
	}
	return writeFacts(w, []fact{
		{"file", r.File},
		{"made", r.Made.Format(time.RFC3339)},
		{"history", r.History},
		{"revision", r.Revision},
		{"entries", r.Entries},
		{"digest", r.Digest},
		{"requests", r.Requests},
		{"bytes", r.Bytes},
		{"sha256", r.SHA256},
		{"verified", "restored in memory: every byte is as it was written"},
	})
}
