package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

func newApplyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Apply one operation to a registry",
		Long: `Apply makes one operation on a registry and prints what came of it: the
revision, and whether anything changed. Who did it (the user of the operating
system) and why (--reason) is logged with it.

An operation that does not fit the state of the agent is refused: the reason is
printed, nothing of the registry is changed, and regtool exits with 1. That DIR
was opened for writing is noted in it all the same. A registry that another
process has open is not opened: stop that first, or use what it offers.

When the operation is durable and closing DIR fails after that, the outcome is
printed, the error begins with "applied at revision N, but", and the exit code
is 1; with --json, close_error says why.`,
		Example: `  regtool apply admit --dir /var/lib/registry --id a1 --hostname host-1 --resource cpus=4 --reason "new rack"
  regtool apply drain --dir /var/lib/registry --id a1 --grace 1h --reason "disk swap"
  regtool apply gone --dir /var/lib/registry --id a1 --reason "burnt down"`,
		Args: subcommandOnly,
		RunE: func(cmd *cobra.Command, args []string) error {
			return usagef("which operation? for example: regtool apply drain --dir DIR --id ID --reason TEXT")
		},
	}
	cmd.AddCommand(agentOperations()...)
	cmd.AddCommand(stateOperations()...)
	return cmd
}

// decide makes the operation, given what the registry holds now. This process
// is the only writer, so nothing comes between the look and the operation.
type decide func(r *registry.Registry) (ops.Operation, error)

// applyFlags are those of every operation, on an agent or a key.
type applyFlags struct {
	dir, reason *string
	json        *bool
	acceptLoss  bool
}

// newOperation makes the command of one operation. Its flags are set up
// afterwards; prepare reads them, before the registry is opened.
func newOperation(use, short, long, example string, prepare func(cmd *cobra.Command) (registry.AgentID, decide, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: noArguments,
		Example: "  regtool apply " + use + " --dir /var/lib/registry " + example,
	}
	f := newApplyFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		id, decide, err := prepare(cmd)
		if err != nil {
			return err
		}
		return f.apply(cmd, outcome{Operation: cmd.Name(), ID: string(id)}, decide)
	}
	return cmd
}

func newApplyFlags(cmd *cobra.Command) *applyFlags {
	f := &applyFlags{dir: dirFlag(cmd), json: jsonFlag(cmd)}
	acceptLossFlagTo(cmd, &f.acceptLoss)
	f.reason = cmd.Flags().String("reason", "", "why, for the log (required)")
	cmd.MarkFlagRequired("reason")
	return f
}

// maxReason is what the engine takes ([registrar.Request]).
const maxReason = 4096

// check refuses what the engine would, before a registry is opened for it.
func (f *applyFlags) check() error {
	if n := len(*f.reason); n > maxReason {
		return usagef("--reason has %d bytes, at most %d are allowed", n, maxReason)
	}
	if !utf8.ValidString(*f.reason) {
		return usagef("--reason is not valid UTF-8")
	}
	return nil
}

// outcome is what apply prints.
type outcome struct {
	Operation string `json:"operation"`
	ID        string `json:"id,omitempty"`
	*keyName         // of operations on a key
	Changed   bool   `json:"changed"`
	Revision  uint64 `json:"revision"`
	closeError
}

// apply makes the operation and prints out, with what came of it.
func (f *applyFlags) apply(cmd *cobra.Command, out outcome, decide decide) error {
	done := busy(cmd.ErrOrStderr(), "recover "+*f.dir)
	r, err := openDir(cmd.Context(), *f.dir, wal.Options{AcceptLoss: f.acceptLoss, Logger: logger(cmd)})
	done()
	if err != nil {
		return err
	}
	return f.applyTo(cmd, r, out, decide)
}

// applyTo closes r too. An operation that was answered is durable whatever
// closing meets, so that is told apart from an operation that failed.
func (f *applyFlags) applyTo(cmd *cobra.Command, r *registrar.Registrar, out outcome, decide decide) error {
	result, err := applyOne(cmd, r, decide, *f.reason)
	closing := r.Close()
	if err != nil {
		return errors.Join(err, closing)
	}
	out.Changed, out.Revision = result.Changed, result.Revision
	out.closeError = toCloseError(closing)
	if *f.json {
		err = writeJSON(cmd.OutOrStdout(), out)
	} else {
		err = out.print(cmd)
	}
	return unsettled(out.done(), out.Revision, out.CloseError, err)
}

// done says what became of the operation.
func (o outcome) done() string {
	if o.Changed {
		return "applied"
	}
	return "nothing to change"
}

func applyOne(cmd *cobra.Command, r *registrar.Registrar, decide decide, reason string) (registrar.Result, error) {
	op, err := decide(r.Snapshot())
	if err != nil {
		return registrar.Result{}, err
	}
	result, err := r.Apply(cmd.Context(), registrar.Request{Operation: op, Principal: principal(), Reason: reason})
	if errors.Is(err, registrar.ErrUnknown) {
		return result, fmt.Errorf("%w; whether it was applied shows in: regtool inspect", err)
	}
	return result, err
}

func (o outcome) print(cmd *cobra.Command) error {
	verdict := "unchanged"
	if o.Changed {
		verdict = "changed"
	}
	what := o.Operation
	if o.ID != "" {
		what += " " + harmless(o.ID)
	}
	if o.keyName != nil {
		what += " " + harmless(o.table) + " " + harmless(o.key)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, revision %d\n", what, verdict, o.Revision)
	return err
}

// principal names the user of the operating system, by number if it has no
// name (as in a container).
func principal() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
