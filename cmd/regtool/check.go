package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check a registry for damage",
		Long: `Check reads everything a registry's directory holds and lists what is wrong
with it, each finding with its place: checksums, gaps between records, damaged
checkpoints, a witness that knows of records which are not there, a content that
does not amount to its digest and count, broken rules between entries, agents
that do not decode.

It never writes. It exits with 1 if it finds anything but notes. Where a process
has the registry open, that process looks at what it has, and this one at what
that amounts to; a note says what only an opening of the files would show. What
a place means, and how to go on:

  witness       acknowledged records are missing, or no witness can be read:
                look for lost files or a backup first; --accept-loss of the
                other commands goes on with what is left. A warning: one of
                its two slots is damaged, the other vouches; nothing is to be
                done
  checkpoint N  if it is the newest, the one before is used, and reading takes
                longer; the next checkpoint replaces it
  record N      it is damaged, missing, or does not follow the one before it:
                restore a backup. A warning: records are missing, but a
                checkpoint has what was in the registry behind them; the log
                can be read from there on
  store         files are damaged or missing: restore a backup. Where no
                record is affected, the registry can be read meanwhile. A note:
                the loss of records was accepted once; see quarantine/ in DIR
  live          a note: a process has the registry open, and what could not be
                checked for that reason
  registry      the bytes are whole, but what they amount to is not what was
                written: restore a backup, and report it
  history       (--deep) what the newest checkpoint holds is not what the
                records before it amount to: restore a backup, and report it`,
		Example: `  regtool check --dir /var/lib/registry
  regtool check --dir /var/lib/registry --deep --json
  regtool check --etcd http://10.0.0.1:2379`,
		Args: noArguments,
	}
	from, asJSON := reading{}, jsonFlag(cmd)
	from.placeFlags(cmd)
	deep := cmd.Flags().Bool("deep", false, "also rebuild the registry from the oldest checkpoint, through every record, and compare")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done := busy(cmd.ErrOrStderr(), "check "+from.place())
		d, err := from.check(cmd, *deep)
		done()
		if err != nil {
			return from.advise(err)
		}
		d.Live.tell(cmd)
		if *asJSON {
			err = writeJSON(cmd.OutOrStdout(), d)
		} else {
			err = d.print(cmd)
		}
		if n := d.wrong(); err == nil && n > 0 {
			return fmt.Errorf("%s: %s; regtool check --help says what each means and how to go on", from.place(), counted(n, "finding"))
		}
		return err
	}
	return cmd
}

// diagnosis is what check found.
type diagnosis struct {
	Sound    bool          `json:"sound"`
	Findings []wal.Finding `json:"findings"`
	// Live says which process was asked, if one has the registry open.
	Live *seenLive `json:"live,omitempty"`
	// Revision, Entries and Digest are of the registry, if it could be read.
	Revision uint64 `json:"revision,omitempty"`
	Entries  uint64 `json:"entries,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Replayed is how many records --deep went through.
	Replayed int `json:"replayed,omitempty"`
}

// check looks for damage from the bytes upwards, in a directory or in etcd.
func (s reading) check(cmd *cobra.Command, deep bool) (*diagnosis, error) {
	ctx := cmd.Context()
	if !s.etcd.given() {
		return checkDir(ctx, s.dir, deep)
	}
	from, err := s.open(cmd)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	d := &diagnosis{Findings: []wal.Finding{}}
	if err := from.Check(ctx, d.add); err != nil {
		return nil, err
	}
	if err := d.checkContent(ctx, from, deep); err != nil {
		return nil, err
	}
	d.Sound = d.wrong() == 0
	return d, nil
}

// checkDir looks for damage from the bytes upwards. The error is for what kept
// it from looking, not for what it found.
func checkDir(ctx context.Context, dir string, deep bool) (*diagnosis, error) {
	d := &diagnosis{Findings: []wal.Finding{}}
	options := wal.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)} // the findings say it
	err := wal.Check(ctx, dir, options, d.add, func(l *wal.Log) error { return d.checkContent(ctx, l, deep) })
	if errors.Is(err, wal.ErrLocked) {
		d, err = checkLive(ctx, dir, options, deep)
	}
	if err != nil {
		return nil, err
	}
	d.Sound = d.wrong() == 0
	return d, nil
}

// checkContent looks at what the bytes amount to.
func (d *diagnosis) checkContent(ctx context.Context, l readable, deep bool) error {
	r, _, err := registrar.Load(ctx, l)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case passing(err):
		return err
	}
	if err != nil {
		if !d.explains(err) {
			d.damage("registry", err)
		}
		return nil
	}
	d.checkRegistry(r)
	if deep {
		return d.checkDeep(ctx, l, r)
	}
	return nil
}

func (d *diagnosis) add(f wal.Finding) { d.Findings = append(d.Findings, f) }

// wrong counts the findings but for notes: what they tell of was accepted.
func (d *diagnosis) wrong() (n int) {
	for _, f := range d.Findings {
		if f.Severity != wal.SeverityNote {
			n++
		}
	}
	return n
}

func (d *diagnosis) damage(place string, err error) {
	d.add(wal.Finding{Severity: wal.SeverityError, Place: place, Problem: err.Error()})
}

// explains reports whether err is but a consequence of what was found already:
// damage to the bytes. A registry that does not amount to what was written,
// out of good bytes, is news.
func (d *diagnosis) explains(err error) bool {
	var corrupt *wal.CorruptError
	var inEtcd *etcdstore.CorruptError
	return (errors.As(err, &corrupt) || errors.As(err, &inEtcd)) && slices.ContainsFunc(d.Findings, func(f wal.Finding) bool {
		return f.Severity == wal.SeverityError
	})
}

func (d *diagnosis) checkRegistry(r *registry.Registry) {
	d.Revision, d.Entries, d.Digest = r.Revision(), r.Count(), r.Digest().String()
	for _, err := range r.Check() {
		d.damage("registry", err)
	}
}

func (d *diagnosis) print(cmd *cobra.Command) error {
	if d.Sound {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "sound: revision %d, %s, digest %s\n",
			d.Revision, countedAs(d.Entries, "entry", "entries"), d.Digest)
		if err != nil || len(d.Findings) == 0 {
			return err
		}
	}
	rows := make([][]string, len(d.Findings))
	for i, f := range d.Findings {
		rows[i] = []string{f.Severity, f.Place, f.Problem}
	}
	return writeRows(cmd.OutOrStdout(), []string{"SEVERITY", "PLACE", "PROBLEM"}, rows)
}
