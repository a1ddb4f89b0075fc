package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// What a process tells its caller on the way out.
const (
	exitFine   = 0
	exitFailed = 1
	exitUsage  = 2
)

// commands lists every command of the tool; each is made in a file of its own.
func commands() []*cobra.Command {
	return []*cobra.Command{
		newImportCommand(),
		newInspectCommand(),
		newExportCommand(),
		newApplyCommand(),
		newLogCommand(),
		newDiffCommand(),
		newGetCommand(),
		newPutCommand(),
		newDeleteCommand(),
		newScanCommand(),
		newCheckCommand(),
		newBackupCommand(),
		newVerifyCommand(),
		newRestoreCommand(),
		newMigrateCommand(),
		newUpgradeCommand(),
		newStatusCommand(),
		newServeCommand(),
		newSimulateCommand(),
		newPodsCommand(),
		newBenchCommand(),
		newDemoCommand(),
		newDemoWriterCommand(),
		newVersionCommand(),
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "regtool",
		Short: "Look after the durable registry of a cluster",
		Long: `Regtool looks after the durable registry of a cluster: which agents belong to
it, and in which state each of them is. A program that embeds the registry can
keep keys of its own in it, which get, put, delete and scan are for.

A registry lives in a directory (--dir). Reading commands never write to it.
One process at a time can write to it; others read through that one.

It exits with 0 when all is well, 1 when the work failed or found something
wrong, and 2 when it was called wrongly.`,
		Example: `  regtool demo
  regtool import --dir /var/lib/registry state.json
  regtool inspect --dir /var/lib/registry
  regtool serve --dir ./data
  regtool simulate --agents 1000 --tasks 20`,
		SilenceErrors: true, // run prints them, in one form
		SilenceUsage:  true,
		Args:          subcommandOnly,
		RunE:          func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.AddCommand(commands()...)
	root.SetHelpCommand(newHelpCommand())
	info, _ := debug.ReadBuildInfo()
	root.Version = versionOf(info).Version
	watchCalls(root)
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("takes flags only, but was given %q", args[0])
	}
	return nil
}

// subcommandOnly refuses the arguments of a command that only holds others,
// and guesses which of those was meant.
func subcommandOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // cobra's default when it suggests by itself
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// run is the whole program: it runs the command that args name and returns the
// exit code. Cancelling ctx stops the command at the next safe place.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	markFailures(root)
	helpFailure := watchHelp(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		if err = helpFailure(); err == nil {
			return exitFine
		}
		err = &failure{err}
	}
	var failed *failure
	if errors.As(err, &failed) {
		complain(stderr, cmd, failed.Error())
		return exitFailed
	}
	complain(stderr, cmd, fmt.Sprintf("%v; see %s --help", err, cmd.CommandPath()))
	return exitUsage
}

// complain prints one line, "regtool COMMAND: text". Text may quote what a
// stranger put into the store, so a terminal gets only what it can show.
func complain(stderr io.Writer, cmd *cobra.Command, text string) {
	fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), harmlessLines(strings.TrimSpace(text)))
}

// failure is an error of a command's own work. Every other error that cobra
// returns is about how the command was called.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usageError is for what only the command itself can see is called wrongly:
// flags that do not go together, a value that does not parse.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// usagef makes an error that ends the process with exit code 2.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// markFailures wraps RunE of every command, so that run can tell what went
// wrong in the work from what cobra found wrong with the call before it.
func markFailures(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		markFailures(sub)
	}
	work := cmd.RunE
	if work == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		var usage *usageError
		if err == nil || errors.As(err, &usage) {
			return err
		}
		return &failure{err}
	}
}

// dirFlag gives cmd the flag that names the registry's directory.
func dirFlag(cmd *cobra.Command) *string {
	dir := new(string)
	dirFlagTo(cmd, dir)
	return dir
}

func dirFlagTo(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "directory of the registry (required)")
	cmd.MarkFlagRequired("dir")
	cmd.MarkFlagDirname("dir")
}

// acceptLossFlagTo gives cmd the flag that goes on with what is left of a
// registry.
func acceptLossFlagTo(cmd *cobra.Command, accept *bool) {
	cmd.Flags().BoolVar(accept, "accept-loss", false, "go on with what is left if acknowledged records are missing")
}

// jsonFlag gives cmd the flag that asks for JSON instead of a table.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON for programs instead of a table for people")
}
