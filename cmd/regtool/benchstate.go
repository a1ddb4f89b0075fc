package main

import (
	"context"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchStateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Measure how fast a master says what its whole state is",
		Long: `State asks a master for /state over loopback HTTP: for the first time, again,
and after 1 % of the tasks have changed; and for one of the frameworks alone
(v0_filtered). The agents call the master directly; who asks is a process of
its own, and reads every byte.

Times are medians of the rounds, each on a new master. "Static" is the same
bytes out of memory, written by net/http to the same client right before and
after; "x first", "x repeat", "x changed" are how many times as long ours take.
"x whole" is what one framework costs beside all of them. "ns/change" is what a
change costs until it can be seen, of many at once. The last columns are what
Mesos took, as published and in version 1.12, on machines of their own.`,
		Example: `  regtool bench state
  regtool bench state --agents 1000,10000 --rounds 7 --json`,
		Args: noArguments,
	}
	var b bench.State
	f := cmd.Flags()
	f.IntSliceVar(&b.Agents, "agents", []int{1000}, "how many agents; a list measures one size after another")
	f.IntVar(&b.Frameworks, "frameworks", 5, "how many frameworks have tasks on each agent")
	f.IntVar(&b.Tasks, "tasks", 2, "how many tasks of each framework run on each agent")
	f.IntVar(&b.Completed, "completed", 2, "how many tasks of each framework have ended on each agent")
	f.IntVar(&b.Rounds, "rounds", 5, "how often each size is measured; one more repetition does not count")
	f.StringVar(&b.Dir, "dir", "", "make the registries in this directory (default: for temporary files)")
	cmd.MarkFlagDirname("dir")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := b.Validate(); err != nil {
			return usagef("%w", err)
		}
		b.Client = benchStateClient
		bar := phases(cmd, b.Phases(), &b.Progress)
		defer bar.Done()
		report, err := b.Run(cmd.Context())
		if err != nil {
			return err
		}
		return writeReport(cmd, report, *asJSON, report.Table())
	}
	return cmd
}

func benchStateClient(ctx context.Context) *exec.Cmd { return self(ctx, "bench", "state-client") }

func newBenchStateClientCommand() *cobra.Command {
	return &cobra.Command{
		Use: "state-client", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunStateClient(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
