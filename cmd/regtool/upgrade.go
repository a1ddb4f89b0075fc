package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/wal"
)

func newUpgradeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Raise the formats of a registry to those of this regtool",
		Long: `Upgrade raises the formats on disk of the registry in DIR, its own and Pebble's,
to those that this regtool gives to new ones (regtool version). Nothing else
does: a registry that a newer program opens stays readable for the program that
made it, until you decide that there is no way back. Afterwards older programs
refuse the registry and name the format; take a backup first.

Stop the program that has the registry open. The whole registry is read and
proved before and after, and must be the same. Killed or interrupted it leaves a
registry that this regtool reads; run upgrade again, and it goes on. Where there
is nothing to raise, nothing is written.`,
		Example: `  regtool backup --dir /var/lib/registry before.backup
  regtool upgrade --dir /var/lib/registry`,
		Args: noArguments,
	}
	dir, asJSON := dirFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done := busy(cmd.ErrOrStderr(), "upgrade "+*dir)
		u, err := upgradeDir(cmd, *dir)
		done()
		if err != nil {
			return advise(*dir, err)
		}
		return u.write(cmd.OutOrStdout(), *asJSON)
	}
	return cmd
}

// upgraded is what upgrade prints.
type upgraded struct {
	Dir             string `json:"dir"`
	Raised          bool   `json:"raised"`
	OldFormat       int    `json:"old_format"`
	OldPebbleFormat int    `json:"old_pebble_format"`
	Format          int    `json:"format"`
	PebbleFormat    int    `json:"pebble_format"`
	Revision        uint64 `json:"revision"`
	Entries         uint64 `json:"entries"`
	Digest          string `json:"digest"`
}

func upgradeDir(cmd *cobra.Command, dir string) (u upgraded, err error) {
	l, err := wal.Open(dir, wal.Options{NoSocket: true, Logger: logger(cmd)})
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return upgradeLog(cmd.Context(), dir, l)
}

// upgradeLog proves the registry, upgrades, and proves that it is the same.
func upgradeLog(ctx context.Context, dir string, l *wal.Log) (u upgraded, err error) {
	before, old, err := provedWith(ctx, l)
	if err != nil {
		return u, fmt.Errorf("%w; nothing was upgraded", err)
	}
	raised, err := l.Upgrade()
	if err != nil {
		return u, fmt.Errorf("%w; upgrade it again, which goes on from here", err)
	}
	after, now, err := provedWith(ctx, l)
	if err != nil {
		return u, fmt.Errorf("read %s after its formats were raised: %w", dir, err)
	}
	if after.Mark != before.Mark || after.Registry.Digest() != before.Registry.Digest() || after.Requests() != before.Requests() {
		return u, fmt.Errorf("upgrade %s: it held %+v with digest %v and %s, and holds %+v, %v and %s now: restore the backup, and report it: this is a fault of the program",
			dir, before.Mark, before.Registry.Digest(), counted(before.Requests(), "request"), after.Mark, after.Registry.Digest(), counted(after.Requests(), "request"))
	}
	return upgraded{
		Dir: dir, Raised: raised, OldFormat: old.Format, OldPebbleFormat: old.PebbleFormat, Format: now.Format, PebbleFormat: now.PebbleFormat,
		Revision: after.Mark.Revision, Entries: after.Mark.Count, Digest: after.Registry.Digest().String(),
	}, nil
}

func provedWith(ctx context.Context, l *wal.Log) (*registrar.Image, wal.Info, error) {
	info, err := l.Info()
	if err != nil {
		return nil, info, err
	}
	image, err := registrar.LoadImage(ctx, l)
	return image, info, err
}

func (u upgraded) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, u)
	}
	format := fmt.Sprintf("%d on Pebble format %d", u.Format, u.PebbleFormat)
	if u.Raised {
		format += fmt.Sprintf(", was %d on %d", u.OldFormat, u.OldPebbleFormat)
	} else {
		format += ", nothing to raise"
	}
	return writeFacts(w, []fact{
		{"registry", u.Dir},
		{"format", format},
		{"revision", u.Revision},
		{"entries", u.Entries},
		{"digest", u.Digest},
	})
}
