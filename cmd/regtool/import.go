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
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/testdata/cluster"
	"github.com/eaba02dc/registrar/wal"
)

func newImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import {FILE|-|URL}",
		Short: "Take over the agents of a Mesos cluster",
		Long: `Import reads what a Mesos master answers about its agents and writes it down.
What it is given shows in the content:

  /registrar(1)/registry        everything, unreachable and gone agents too
  /state, /state-summary        admitted agents; so does a state of any master
  /slaves                       since 0.19
  GET_AGENTS, GET_STATE,        answers of the operator API; of a stream of
  SUBSCRIBED                    events, only the state that opens it

Of regtool's own exports it reads --format mesos.

The input, packed with gzip or not, is copied to a temporary file (in $TMPDIR)
of up to 4 GiB and checked whole before anything is written. Where DIR holds no
registry, a new one is made beside it and given its name at the end; after a
crash there is nothing at DIR, or all of it. The directory above DIR must be
there: a typing error is not to make a registry. In a registry that is there,
every operation is tried out first: a single refusal, and nothing is written. A
crash in the middle of writing is mended by importing the same input again.

Agents that recovered_slaves lists count as admitted. An agent known here is
brought to what the input says, and an import repeated changes nothing:

  input        here           what happens
  any          unknown        added as the input has it
  admitted     admitted       what the agent says of itself is updated
  admitted     unreachable    readmitted
  unreachable  admitted       marked unreachable, at the time in the input
  gone         not gone       marked gone, at the time in the input
  any          gone           stays gone; reported

A drain or deactivation is taken over, never taken back: where this registry is
further, it stays, and that is reported. What the input has no way to say
(incarnation, labels, payload; for some forms resources and the checkpoint
flag) stays as it is. The master is written down where none is known.

Fields that a registry has no place for are listed. With --strict they are an
error and nothing is written. An error that begins with "imported:" is of what
came after: the input is written.`,
		Example: `  regtool import --dir /var/lib/registry http://master.example:5050/registrar(1)/registry
  regtool import --dir /var/lib/registry --strict registry.json.gz
  curl -s http://master.example:5050/state | regtool import --dir /var/lib/registry -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("needs one FILE, - or URL, but was given %d", len(args))
			}
			return nil
		},
	}
	dir, asJSON := dirFlag(cmd), jsonFlag(cmd)
	strict := cmd.Flags().Bool("strict", false, "write nothing if a field cannot be kept")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := sourceOf(args[0], cmd.InOrStdin())
		if err != nil {
			return err
		}
		out, err := runImport(cmd, *dir, src, *strict, progressOn(cmd))
		if err != nil {
			return err
		}
		if *asJSON {
			err = writeJSON(cmd.OutOrStdout(), out)
		} else {
			err = out.print(cmd.OutOrStdout())
		}
		return unsettled(fmt.Sprintf("imported: %s is", *dir), out.Revision, out.CloseError, err)
	}
	return cmd
}

// shipped is the cluster that comes with the tool.
var shipped = source{"the shipped cluster", func(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(cluster.Registry()), nil
}}

func importShippedCluster(cmd *cobra.Command, dir string) error {
	_, err := runImport(cmd, dir, shipped, false, progressOn(cmd))
	return err
}

// showProgress makes a progress bar for a part of the work.
type showProgress func(what string, total int64) *progress

func progressOn(cmd *cobra.Command) showProgress {
	return func(what string, total int64) *progress { return newProgress(cmd.ErrOrStderr(), what, total) }
}

// importer is one import.
type importer struct {
	dir     string
	strict  bool
	in      *spool
	log     *slog.Logger
	request registrar.Request
	report  mesosjson.Report
	count   map[effect]int
	changes uint64
	// sync makes the names in a directory durable.
	sync func(dir string) error
	// closing is what closing a registry met that has the whole input.
	closing error
}

func runImport(cmd *cobra.Command, dir string, src source, strict bool, show showProgress) (*importOutcome, error) {
	ctx := cmd.Context()
	in, err := newSpool(ctx, src, show)
	if err != nil {
		return nil, err
	}
	defer in.Close() // a nameless copy: nothing hangs on how it goes
	im := &importer{
		dir: dir, strict: strict, in: in, log: logger(cmd), sync: syncDir,
		request: registrar.Request{Principal: principal(), Reason: importReason(src.name)},
	}
	here, err := loadDir(cmd, dir)
	created := errors.Is(err, wal.ErrNotExist)
	switch {
	case created:
		if err := parentThere(dir); err != nil {
			return nil, err
		}
		here = &stored{Registry: registry.New()}
	case err != nil:
		return nil, err
	}
	if err := im.rehearse(ctx, here.Registry); err != nil {
		if in.isOwn() {
			err = errOwnExport
		}
		return nil, fmt.Errorf("%s: nothing was written: %w", src.name, interrupted(ctx, err))
	}
	end := here.Registry
	switch {
	case created:
		end, err = im.build(ctx)
	case im.changes > 0:
		end, err = im.extend(ctx, here.Registry)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.name, err)
	}
	return im.outcome(src.name, dir, created, end), nil
}

// parentThere fails if the directory above dir is missing. It is not made: more
// often than not it is misspelt.
func parentThere(dir string) error {
	dir, err := realDir(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s to make a registry in; make it first, or correct --dir", parent)
	}
	return nil
}

// interrupted says so instead of err if that is why the work ended: err then
// tells where it was, and may look like a fault of the input or of the store.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted (%w)", context.Cause(ctx))
}

// errOwnExport is what import says to json and ndjson: they have no reader.
var errOwnExport = errors.New("this is what regtool itself prints, and import reads what a Mesos master answers: " +
	"use export --format mesos; to keep a registry as it is, regtool backup")

// ownOutput is how export's json and ndjson and inspect's JSON begin.
var ownOutput = regexp.MustCompile(`^\s*(` +
	`\{"master":(null|\{[^{}]*\}),"revision":\d+,"digest":"[0-9a-f]{32}","agents":|` +
	`(\[\s*)?\{\s*"(table|pod)":\s*"([^"\\]|\\.)*",\s*"(key|version|revision)":|` +
	`(\[\s*)?\{\s*"id":\s*"([^"\\]|\\.)*",\s*"state":\s*"(admitted|unreachable|gone)",\s*"since":)`)

// importReason is what the log says of why; names of files are bytes without a
// bound.
func importReason(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) > 1000 {
		name = strings.ToValidUTF8(name[:1000], "") + "…"
	}
	return "import " + name
}

// rehearse looks at the whole input and tries every operation out on a draft.
// An error means that something would be refused, or lost against --strict.
func (im *importer) rehearse(ctx context.Context, reg *registry.Registry) error {
	dry := rehearse(reg)
	report, err := walk(ctx, im.in, reg, dry.try)
	if err != nil {
		return err
	}
	if im.strict && len(report.NotKept) > 0 {
		return notKeptError(report.NotKept)
	}
	im.report, im.count, im.changes = report, dry.count, dry.changes(reg)
	return nil
}

func notKeptError(lost []mesosjson.Lost) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cannot be kept:", countedAs(len(lost), "kind of field", "kinds of fields"))
	for _, l := range lost {
		fmt.Fprintf(&b, "\n\t%s", describeLost(l))
	}
	return errors.New(b.String())
}

func describeLost(l mesosjson.Lost) string {
	text := fmt.Sprintf("%s (%s)", l.Path, counted(l.Count, "time"))
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	return text
}
