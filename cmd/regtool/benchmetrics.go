package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchMetricsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Measure how fast a master tells a million metrics",
		Long: `Metrics asks a master for the metrics of many frameworks over loopback HTTP, in
four forms: again ("quiet"), after one metric of each framework has changed, and
after all have. One agent tells of the frameworks; who asks is a process of its
own, and reads every byte.

Times are medians of the rounds, each on a new master. "Static" is the same
bytes out of memory, written by net/http to the same client right before and
after; "x quiet", "x changed", "x all" are how many times as long ours take.
"x kept" is what is kept to answer again, beside the answer. Below it stands
what a table of metrics costs who counts. The last column is what Mesos took,
as published.`,
		Example: `  regtool bench metrics
  regtool bench metrics --frameworks 1005 --rounds 7 --json`,
		Args: noArguments,
	}
	var b bench.Metrics
	f := cmd.Flags()
	f.IntSliceVar(&b.Frameworks, "frameworks", []int{105, 1005, 10_005, 20_005}, "how many frameworks; a list measures one size after another")
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
		answers, costs := report.Tables()
		return writeReport(cmd, report, *asJSON, answers, costs)
	}
	return cmd
}
