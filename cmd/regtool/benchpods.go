package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchPodsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pods",
		Short: "Measure how fast a master says what became of its pods",
		Long: `Pods asks a master for the status of all its pods, in the form of Marathon
(status), and of one among so many (status_one), over connections that ask in a
closed loop. Each pod has one instance and takes about 1.6 kB. Who asks is a
process of its own, and reads every byte.

"Static" is the same bytes out of memory, written by net/http over as many
connections, half of the time right before and half right after; "x static" is
how many times as many requests a second ours are, and "x static p99" how many
times as long 99 of 100 answers take at most. Both are medians of the rounds,
latencies are over the answers of all rounds. With --changes instances change
meanwhile, while the bytes out of memory are asked for too. The last column is
what was published of Marathon, on a machine of its own.`,
		Example: `  regtool bench pods
  regtool bench pods --changes 100
  regtool bench pods --pods 100,10000 --seconds 20 --json`,
		Args: noArguments,
	}
	var b bench.Pods
	f := cmd.Flags()
	f.IntSliceVar(&b.Pods, "pods", []int{100}, "how many pods; a list measures one size after another")
	f.IntVar(&b.Connections, "connections", 10, "how many ask at once")
	f.Float64Var(&b.Seconds, "seconds", 10, "for how long each is asked, over all rounds; one more repetition does not count")
	f.IntVar(&b.Changes, "changes", 0, "how many instances a second change their status meanwhile, in groups of 10")
	f.IntVar(&b.Rounds, "rounds", 5, "how often each is measured, on the same master")
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
