package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchLinksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "links",
		Short: "Measure how fast all are told who linked to a peer that goes",
		Long: `Links lets peers go while many links stand: processes that have no link at all
(exits), an address with all its peers (node_loss), one process that everybody
linked to (fan_in). It makes and undoes links (churn). It seeks the longest time
that another process waited to link or unlink meanwhile (stall_exits,
stall_node_loss). Where notices are due, they are all delivered.

Times are medians of the rounds. "Naive" is one map that is scanned at each
exit, as Mesos had it until MESOS-2182; "x faster" is how many times as long it
takes. The last columns are what Mesos took for exits, after that change and
before it in 2014, and in version 1.12, on machines of their own.`,
		Example: `  regtool bench links
  regtool bench links --links 0,20000 --rounds 7 --json`,
		Args: noArguments,
	}
	var b bench.Links
	cmd.Flags().IntSliceVar(&b.Links, "links", []int{5000, 20_000}, "how many links stand; a list measures one number after another")
	cmd.Flags().IntVar(&b.Exits, "exits", 10_000, "how many processes without links exit; churn makes and undoes as many links")
	cmd.Flags().IntVar(&b.Rounds, "rounds", 5, "how often each is measured; one more repetition does not count")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := b.Validate(); err != nil {
			return usagef("%w", err)
		}
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
