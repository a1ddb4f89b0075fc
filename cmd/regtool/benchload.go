package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchLoadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure how long small questions wait while a master is asked for its state",
		Long: `Load sends pairs of /state and /flags to a master, 200 ms apart, whether or not
the last ones are answered (pairs). Then five clients ask for /state without
rest, while another asks for /health (responsiveness). Then ten principals, each
of whom sees one role, ask for /state at once, and, in turns with them, ten
clients of one who sees everything (principals). Before each, every endpoint is
asked for when nobody else asks (idle). Who asks is a process of its own, and
reads every byte.

Setup 1 is 100 agents with 10,000 tasks that run and 10,000 that have ended,
and 50 pairs; setup 2 is 1,000 agents, 100,000 and 100,000, and 10 pairs. A
master keeps no more than 1,000 ended tasks of each of the ten frameworks.

Quantiles are over the answers of all rounds. The last columns are what was
published of Mesos for setup 2.`,
		Example: `  regtool bench load
  regtool bench load --setup 2 --changes-per-second 1000 --json`,
		Args: noArguments,
	}
	var b bench.Load
	f := cmd.Flags()
	f.IntVar(&b.Setup, "setup", 1, "1 or 2: how large the cluster is, and how many pairs are sent")
	f.IntVar(&b.Pairs, "pairs", 0, "send so many pairs in a round (default: as the setup has it)")
	f.IntVar(&b.ChangesPerSecond, "changes-per-second", 0, "how many tasks change meanwhile, in groups of 10; where principals ask, one group does before each time instead")
	f.IntVar(&b.Rounds, "rounds", 5, "how often it is measured, on the same master")
	f.StringVar(&b.Dir, "dir", "", "make the registry in this directory (default: for temporary files)")
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
