package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registrar/store"
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
which. It takes its time then: one core, and a quarter of that.

The file is read back and restored in memory before backup says that it is
good, and it gets its name only then: killed, interrupted or out of space,
backup leaves no file OUT. Its SHA-256 is what sha256sum prints. What the memory
of this machine holds of the file is not read from the disk again: to prove the
disk, verify it later, or elsewhere.

With - the backup goes to standard output and the report to standard error.
What was sent is read back too, but not what arrived: verify it where it does.`,
		Example: `  regtool backup --dir /var/lib/registry registry-monday.backup
  regtool backup --dir /var/lib/registry - | ssh vault 'cat > registry.backup'
  regtool backup --etcd http://10.0.0.1:2379 registry-monday.backup`,
		Args: takes(1, 1, "the file to write, or -"),
	}
	from := reading{}
	from.placeFlags(cmd)
	acceptLossFlagTo(cmd, &from.acceptLoss)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := from.backingUp(cmd)
		if err != nil {
			return err
		}
		report := cmd.OutOrStdout()
		var summary backup.Summary
		if args[0] == "-" {
			report = cmd.ErrOrStderr()
			summary, err = w.toStream(cmd.OutOrStdout())
		} else {
			summary, err = w.toFile(args[0])
		}
		if err != nil {
			return fmt.Errorf("back up %s: %w", from.place(), err)
		}
		return writeBackupReport(report, args[0], summary, *asJSON)
	}
	return cmd
}

// backingUp is a backup that is being made.
type backingUp struct {
	cmd   *cobra.Command
	image *registrar.Image
	rest  io.Writer // is written all that comes and goes
}

// backingUp reads all that a backup keeps.
func (s reading) backingUp(cmd *cobra.Command) (*backingUp, error) {
	defer busy(cmd.ErrOrStderr(), "read "+s.place())()
	w := &backingUp{cmd: cmd, rest: io.Discard}
	err := s.readWith(cmd, func(from readable) (err error) {
		if seenBy(from) != nil { // a backup takes all that it gets, and a master may need it more
			useOneCore(cmd.Context())
			w.rest = &resting{cmd.Context(), time.Now()}
			from = restful{from, w.rest}
		}
		if w.image, err = registrar.LoadImage(cmd.Context(), from); err != nil {
			return fmt.Errorf("read the registry in %s: %w", s.place(), err)
		}
		return nil
	})
	return w, err
}

type oneCore struct{} // the key of a func()

// mayUseOneCore says how a command makes this process get along with one core,
// which is for a process of its own: not for tests, which run many.
func mayUseOneCore(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, oneCore{}, f)
}

// useOneCore does so, if the process lets the command.
func useOneCore(ctx context.Context) {
	if f, ok := ctx.Value(oneCore{}).(func()); ok {
		f()
	}
}

// resting leaves the core to others, for three times as long as it took to come
// by what is written to it.
type resting struct {
	ctx   context.Context
	since time.Time
}

// restful is read at that pace.
type restful struct {
	readable
	rest io.Writer
}

// restAfter is how many bytes are read before a rest.
const restAfter = 256 << 10

func (r restful) Checkpoint(ctx context.Context, atMost uint64) (store.Mark, iter.Seq2[[]byte, error], error) {
	mark, chunks, err := r.readable.Checkpoint(ctx, atMost)
	return mark, func(yield func([]byte, error) bool) {
		for chunk, err := range chunks {
			if !yield(chunk, err) {
				return
			}
			r.rest.Write(nil)
		}
	}, err
}

func (r restful) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		read := 0
		for record, err := range r.readable.Records(ctx, after) {
			if !yield(record, err) {
				return
			}
			if read += len(record.Data); read >= restAfter {
				read = 0
				r.rest.Write(nil)
			}
		}
	}
}

// longestRest bounds it where the time went into waiting, as for a network.
const longestRest = 20 * time.Millisecond

func (r *resting) Write(b []byte) (int, error) {
	select {
	case <-time.After(min(3*time.Since(r.since), longestRest)):
	case <-r.ctx.Done():
	}
	r.since = time.Now()
	return len(b), nil
}

// toFile writes and proves a file, or leaves none.
func (w *backingUp) toFile(path string) (_ backup.Summary, err error) {
	f, err := createNew(path)
	if err != nil {
		return backup.Summary{}, fmt.Errorf("%w; no backup was made", err)
	}
	wrote, err := w.write(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = w.readBack(f, wrote)
	}
	if err != nil {
		err = errors.Join(interrupted(w.cmd.Context(), err), f.discard())
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

// toStream writes to a stream, and reads back what it sends.
func (w *backingUp) toStream(to io.Writer) (backup.Summary, error) {
	sent, copied := io.Pipe()
	proved := make(chan error, 1)
	var b *backup.Backup
	go func() {
		var err error
		b, err = backup.Read(w.cmd.Context(), sent)
		sent.CloseWithError(err)
		proved <- err
	}()
	wrote, err := w.write(io.MultiWriter(to, copied))
	copied.CloseWithError(err)
	if again := <-proved; err == nil {
		err = again
	}
	if err == nil {
		err = same(wrote, b.Summary)
	}
	if err != nil {
		return wrote, fmt.Errorf("%w; what was sent is no backup", interrupted(w.cmd.Context(), err))
	}
	return wrote, nil
}

// write shows how far it has come.
func (w *backingUp) write(to io.Writer) (backup.Summary, error) {
	bar := newProgress(w.cmd.ErrOrStderr(), "write", -1)
	defer bar.Done()
	out := bufio.NewWriterSize(interruptible{w.cmd.Context(), io.MultiWriter(to, counter{bar}, w.rest)}, 64<<10)
	wrote, err := backup.Write(out, w.image, time.Now())
	return wrote, errors.Join(err, out.Flush())
}

// readBack proves that f holds what was written.
func (w *backingUp) readBack(f io.Reader, wrote backup.Summary) error {
	bar := newProgress(w.cmd.ErrOrStderr(), "read back", wrote.Bytes)
	defer bar.Done()
	b, err := backup.Read(w.cmd.Context(), io.TeeReader(f, io.MultiWriter(counter{bar}, w.rest)))
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
