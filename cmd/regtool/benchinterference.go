package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchInterferenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "interference",
		Short: "Measure what a storm costs more beside checkpoints, backups or a reader",
		Long: `Interference gives every agent of a registry new attributes, all operations
submitted at once and every one awaited: alone, while one checkpoint after
another is written, while one backup after another is written, and while
a reader looks up agents in a tight loop. It does so for small and for large
agents.

Times are medians of the rounds; "x alone" is how many times as long as the
storm alone in the same round. "Units" is what went on beside it: checkpoints
or backups written, or agents read.`,
		Example: `  regtool bench interference
  regtool bench interference --agents 100000 --agent-bytes 144 --json`,
		Args: noArguments,
	}
	var b bench.Interference
	cmd.Flags().IntVar(&b.Agents, "agents", 10_000, "how many agents")
	cmd.Flags().IntSliceVar(&b.AgentBytes, "agent-bytes", []int{144, 600, 2000}, "how many bytes each agent takes in the log; a list measures one size after another")
	cmd.Flags().IntVar(&b.Rounds, "rounds", 5, "how often each size is measured; one more repetition does not count")
	cmd.Flags().StringVar(&b.Dir, "dir", "", "measure the disk of this directory (default: the working directory)")
	cmd.MarkFlagDirname("dir")
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
