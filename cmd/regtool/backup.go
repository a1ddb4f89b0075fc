package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
)

func newBackupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup OUT",
		Short: "Write a registry into one file, and prove that file",
		Long: `Backup writes the registry as it is now into the file OUT, which must not be
there yet: every agent and key, who leads, and the requests that are remembered
with their answers. The log of how it came about is not in it.

A registry that a process has open is backed up through that process, which
goes on writing meanwhile. The backup is of one revision; standard error says of
which.

The file is read back and restored in memory before backup says that it is
good, and it gets its name only then: killed, interrupted or out of space,
backup leaves no file OUT. Its SHA-256 is what sha256sum prints.

With - the backup goes to standard output and the report to standard error.
What was sent is read back too, but not what arrived: verify it where it does.`,
		Example: `  regtool backup --dir /var/lib/registry registry-monday.backup
  regtool backup --dir /var/lib/registry - | ssh vault 'cat > registry.backup'`,
		Args: takes(1, 1, "the file to write, or -"),
	}
	from := reading{}
	dirFlagTo(cmd, &from.dir)
	acceptLossFlagTo(cmd, &from.acceptLoss)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		image, err := from.image(cmd)
		if err != nil {
			return err
		}
		report := cmd.OutOrStdout()
		var summary backup.Summary
		if args[0] == "-" {
			report = cmd.ErrOrStderr()
			summary, err = backupTo(cmd, cmd.OutOrStdout(), image)
		} else {
			summary, err = backupFile(cmd, args[0], image)
		}
		if err != nil {
			return fmt.Errorf("back up %s: %w", from.dir, err)
		}
		return writeBackupReport(report, args[0], summary, *asJSON)
	}
	return cmd
}

// image reads all that a backup keeps.
func (s reading) image(cmd *cobra.Command) (image *registrar.Image, err error) {
	defer busy(cmd.ErrOrStderr(), "read "+s.dir)()
	err = s.readWith(cmd, func(from readable) (err error) {
		if image, err = registrar.LoadImage(cmd.Context(), from); err != nil {
			return fmt.Errorf("read the registry in %s: %w", s.dir, err)
		}
		return nil
	})
	return image, err
}

// backupFile writes and proves a file, or leaves none.
func backupFile(cmd *cobra.Command, path string, image *registrar.Image) (_ backup.Summary, err error) {
	f, err := createNew(path)
	if err != nil {
		return backup.Summary{}, fmt.Errorf("%w; no backup was made", err)
	}
	wrote, err := writeBackup(cmd, f, image)
	if err == nil {
		err = f.Sync() // what is read back is what the disk took
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = readBack(cmd, f, wrote)
	}
	if err != nil {
		err = errors.Join(interrupted(cmd.Context(), err), f.discard())
	} else {
		err = f.name()
	}
	if err != nil {
		return wrote, fmt.Errorf("%w; no backup was made", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return wrote, fmt.Errorf("%w; the whole backup is at %s, but it may not be there any more after a power cut", err, path)
	}
	return wrote, nil
}

// backupTo writes to a stream, and reads back what it sends.
func backupTo(cmd *cobra.Command, to io.Writer, image *registrar.Image) (backup.Summary, error) {
	sent, copied := io.Pipe()
	proved := make(chan error, 1)
	var b *backup.Backup
	go func() {
		var err error
		b, err = backup.Read(cmd.Context(), sent)
		sent.CloseWithError(err)
		proved <- err
	}()
	wrote, err := writeBackup(cmd, io.MultiWriter(to, copied), image)
	copied.CloseWithError(err)
	if again := <-proved; err == nil {
		err = again
	}
	if err == nil {
		err = same(wrote, b.Summary)
	}
	if err != nil {
		return wrote, fmt.Errorf("%w; what was sent is no backup", interrupted(cmd.Context(), err))
	}
	return wrote, nil
}

// writeBackup shows how far it has come.
func writeBackup(cmd *cobra.Command, to io.Writer, image *registrar.Image) (backup.Summary, error) {
	bar := newProgress(cmd.ErrOrStderr(), "write", -1)
	defer bar.Done()
	out := bufio.NewWriterSize(interruptible{cmd.Context(), io.MultiWriter(to, counter{bar})}, 64<<10)
	wrote, err := backup.Write(out, image, time.Now())
	return wrote, errors.Join(err, out.Flush())
}

// readBack proves that f holds what was written.
func readBack(cmd *cobra.Command, f io.Reader, wrote backup.Summary) error {
	bar := newProgress(cmd.ErrOrStderr(), "read back", wrote.Bytes)
	defer bar.Done()
	b, err := backup.Read(cmd.Context(), io.TeeReader(f, counter{bar}))
	if err != nil {
		return err
	}
	return same(wrote, b.Summary)
}

func same(wrote, read backup.Summary) error {
	if wrote.SHA256 != read.SHA256 || wrote.Mark != read.Mark || wrote.Requests != read.Requests {
		return fmt.Errorf("what was read back is not what was written: %+v, %+v", read, wrote)
	}
	return nil
}

// counter counts what is written to it on a progress bar.
type counter struct{ bar *progress }

func (c counter) Write(b []byte) (int, error) {
	c.bar.Add(int64(len(b)))
	return len(b), nil
}
