package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registrar/store"
)

func newRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a registry of a backup",
		Long: `Restore makes a new registry in DIR, which must be absent or empty, of a backup
that it proves first as verify does. It holds what the original held when the
backup was made: the same digest, the same answers to requests that are sent
again. Its log begins here.

What the original did since then is not in it, though somebody may have been
told. So the restored registry is not taken for the original:

  - it has a history of its own, and whoever follows the old one (watch, log
    --follow) is handed the whole registry anew, or told that it was replaced;
  - its revision goes on a billion further, and one for each microsecond since
    the backup was made: more than the original, or an earlier restoration of
    the same backup, can have given out. So no condition on a revision holds by
    accident, unless the clocks of the machines are far apart.

The registry is built beside DIR, opened, read back, and gets its name last:
killed, interrupted or out of space, restore leaves nothing at DIR. With - it
reads from standard input.`,
		Example: `  regtool restore registry.backup --dir /var/lib/registry
  ssh vault cat registry.backup | regtool restore - --dir /var/lib/registry
  regtool restore registry.backup --etcd http://10.0.0.1:2379`,
		Args: takes(1, 1, "the file to read, or -"),
	}
	to, asJSON := reading{}, jsonFlag(cmd)
	to.placeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := to.roomFor(); err != nil {
			return err
		}
		b, err := readBackup(cmd, args[0])
		if err != nil {
			return fmt.Errorf("%w; nothing was restored", err)
		}
		done := busy(cmd.ErrOrStderr(), "restore "+to.place())
		made, err := to.makeOf(cmd, restoreMark, b.Begin(time.Now()), b.Image)
		done()
		if err != nil {
			return fmt.Errorf("restore %s to %s: %w", args[0], to.place(), err)
		}
		return writeRestored(cmd.OutOrStdout(), args[0], to.place(), b, made, *asJSON)
	}
	return cmd
}

// restored is what restore prints.
type restored struct {
	File       string          `json:"file"`
	Dir        string          `json:"dir"`
	Made       time.Time       `json:"made"` // the backup
	Entries    uint64          `json:"entries"`
	Digest     string          `json:"digest"`
	Requests   int             `json:"requests"`
	OldHistory store.HistoryID `json:"old_history"`
	History    store.HistoryID `json:"history"`
	OldRev     uint64          `json:"old_revision"`
	Revision   uint64          `json:"revision"`
}

func writeRestored(w io.Writer, file, dir string, b *backup.Backup, made *registrar.Image, asJSON bool) error {
	r := restored{
		File: file, Dir: dir, Made: b.Made.UTC(),
		Entries: made.Mark.Count, Digest: made.Registry.Digest().String(), Requests: made.Requests(),
		OldHistory: b.History, History: made.Identity.History, OldRev: b.Mark.Revision, Revision: made.Mark.Revision,
	}
	if asJSON {
		return writeJSON(w, r)
	}
	return writeFacts(w, []fact{
		{"registry", "made new in " + r.Dir},
		{"backup", fmt.Sprintf("%s, made %s", r.File, r.Made.Format(time.RFC3339))},
		{"entries", r.Entries},
		{"digest", r.Digest},
		{"requests", r.Requests},
		{"history", fmt.Sprintf("%s, was %s", r.History, r.OldHistory)},
		{"revision", fmt.Sprintf("%d, was %d", r.Revision, r.OldRev)},
	})
}
