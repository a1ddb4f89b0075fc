package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registry"
)

func newVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a backup is whole",
		Long: `Verify restores a backup in memory: it reads the file to its end, rebuilds the
registry, and holds it against the count, the digest and the SHA-256 that were
written with it. It finds any byte that was changed, is missing or was added.
A backup in a newer format than this regtool reads is not called damaged.

With - it reads from standard input. It writes nothing. What the memory of this
machine holds of the file is not read from the disk again.`,
		Example: `  regtool verify registry.backup
  ssh vault cat registry.backup | regtool verify -`,
		Args: takes(1, 1, "the file to read, or -"),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := readBackup(cmd, args[0])
		if err != nil {
			return err
		}
		return writeBackupReport(cmd.OutOrStdout(), args[0], b.Summary, *asJSON)
	}
	return cmd
}

// readBackup reads and proves a file, or standard input.
func readBackup(cmd *cobra.Command, name string) (*backup.Backup, error) {
	var in io.Reader
	size := int64(-1)
	if name == "-" {
		stdin := awaited(cmd.Context(), func() (io.ReadCloser, error) { return io.NopCloser(cmd.InOrStdin()), nil })
		defer stdin.Close()
		in = stdin
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() // it was only read
		if s, err := f.Stat(); err == nil && s.Mode().IsRegular() {
			size = s.Size()
		}
		in = f
	}
	bar := newProgress(cmd.ErrOrStderr(), "read "+name, size)
	defer bar.Done()
	b, err := backup.Read(cmd.Context(), io.TeeReader(in, counter{bar}))
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, backup.ErrVersion), errors.Is(err, registry.ErrVersion):
		err = fmt.Errorf("%w; use the regtool that wrote it, or a newer one", err)
	case errors.As(err, new(*backup.CorruptError)):
		err = fmt.Errorf("%w; use another copy or an older backup", err)
	}
	return nil, fmt.Errorf("%s: %w", name, interrupted(cmd.Context(), err))
}
