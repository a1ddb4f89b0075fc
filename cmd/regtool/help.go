package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// newHelpCommand takes the place of cobra's, which finds no fault with a
// command that does not exist.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		Long:  "Help explains a command, as its flag --help does.",
		Example: `  regtool help apply drain
  regtool help import`,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				if err := subcommandOnly(about, rest); err != nil {
					return &usageError{err}
				}
				return usagef("unknown command %q", rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// watchHelp returns what kept a help text from being written: cobra drops that.
func watchHelp(root *cobra.Command) (failure func() error) {
	var failed error
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := &firstError{Writer: cmd.OutOrStdout()}
		cmd.SetOut(out)
		show(cmd, args)
		failed = out.err
	})
	return func() error {
		if failed == nil {
			return nil
		}
		return fmt.Errorf("write the help: %w", failed)
	}
}

// firstError keeps the first error of a writer, and passes on none.
type firstError struct {
	io.Writer
	err error
}

func (w *firstError) Write(b []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.Writer.Write(b)
	}
	return len(b), nil
}
