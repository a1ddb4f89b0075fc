package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
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
  ssh vault cat registry.backup | regtool restore - --dir /var/lib/registry`,
		Args: takes(1, 1, "the file to read, or -"),
	}
	dir, asJSON := dirFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := roomFor(*dir); err != nil {
			return err
		}
		b, err := readBackup(cmd, args[0])
		if err != nil {
			return fmt.Errorf("%w; nothing was restored", err)
		}
		done := busy(cmd.ErrOrStderr(), "restore "+*dir)
		made, err := restore(cmd.Context(), b, *dir, logger(cmd))
		done()
		if err != nil {
			return fmt.Errorf("restore %s to %s: %w", args[0], *dir, err)
		}
		return writeRestored(cmd.OutOrStdout(), args[0], *dir, b, made, *asJSON)
	}
	return cmd
}

// roomFor fails unless a registry can be made in dir.
func roomFor(dir string) error {
	names, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return parentThere(dir)
	case err != nil:
		return err
	case len(names) > 0:
		return fmt.Errorf("%s is not empty, it holds %q: name a directory that is empty or not there", dir, names[0].Name())
	}
	return nil
}

// restore makes the registry in dir, or leaves nothing there.
func restore(ctx context.Context, b *backup.Backup, dir string, log *slog.Logger) (made *registrar.Image, err error) {
	dir, err = realDir(dir)
	if err != nil {
		return nil, noneMade(err)
	}
	err = buildBeside(dir, restoreMark, log, func(beside string) error {
		made, err = restoreAt(ctx, b, beside, log)
		return interrupted(ctx, err)
	})
	if err != nil {
		return nil, noneMade(err)
	}
	if err := syncDir(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("%w; the whole registry is there, but it may not be any more after a power cut: then restore it again", err)
	}
	return made, nil
}

// restoreAt makes the registry, has the engine open it, and reads it back.
func restoreAt(ctx context.Context, b *backup.Backup, dir string, log *slog.Logger) (*registrar.Image, error) {
	l, err := wal.CreateAt(ctx, dir, wal.Options{Logger: log}, b.Begin(time.Now()), b.Image.Chunks())
	if err != nil {
		return nil, err
	}
	r, err := openStore(ctx, l, log)
	if err != nil {
		return nil, err
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	l, err = wal.Open(dir, wal.Options{ReadOnly: true, Logger: log})
	if err != nil {
		return nil, err
	}
	made, err := registrar.LoadImage(ctx, l)
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	if made.Registry.Digest() != b.Image.Registry.Digest() || made.Requests() != b.Requests {
		return nil, fmt.Errorf("what was read back is not what the backup holds: digest %v and %s in place of %v and %d",
			made.Registry.Digest(), counted(made.Requests(), "request"), b.Image.Registry.Digest(), b.Requests)
	}
	return made, nil
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
