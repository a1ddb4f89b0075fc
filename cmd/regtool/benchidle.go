package main

import (
	"context"
	"log/slog"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
	"github.com/eaba02dc/registrar/internal/duration"
)

func newBenchIdleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "Measure what agents cost a master that have nothing to say",
		Long: `Idle connects agents to a master, each over a connection of its own, and leaves
them alone but for the heartbeats of both sides. It measures the memory of the
master, heap and stacks after a collection, and its processor time.

"Bare handler" is what as many streams take that a bare handler holds open, in a
process of its own.`,
		Example: `  regtool bench idle
  regtool bench idle --agents 1000,15000 --window 1mins --json`,
		Args: noArguments,
	}
	b := bench.Idle{Window: 30 * time.Second}
	f := cmd.Flags()
	f.IntSliceVar(&b.Agents, "agents", []int{10_000}, "how many agents; a list measures one size after another")
	f.Var((*duration.Value)(&b.Window), "window", "how long the processor time is watched")
	f.StringVar(&b.Dir, "dir", "", "make the registries in this directory (default: the working directory)")
	cmd.MarkFlagDirname("dir")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := b.Validate(); err != nil {
			return usagef("%w", err)
		}
		for _, n := range b.Agents {
			if err := allowFiles(n); err != nil {
				return err
			}
		}
		b.Master, b.Bare = benchIdleMaster(slices.Max(b.Agents)), benchFloor
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

// benchIdleMaster is a master to which so many agents can connect, with a meter.
func benchIdleMaster(agents int) func(ctx context.Context, dir string, port int) *exec.Cmd {
	return func(ctx context.Context, dir string, port int) *exec.Cmd {
		return self(ctx, "bench", "idle-master", "--dir", dir, "--port", strconv.Itoa(port), "--max-agents", strconv.Itoa(agents))
	}
}

// newBenchIdleMasterCommand is serve, which says what it has in use when asked.
func newBenchIdleMasterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "idle-master", Hidden: true, Args: noArguments}
	f := newServeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := context.WithCancel(cmd.Context())
		defer stop()
		cmd.SetContext(ctx)
		go func() {
			defer stop()
			_ = bench.ServeMeter(cmd.InOrStdin(), cmd.OutOrStdout()) // who asked is gone, then
		}()
		d := &daemon{flags: f, log: slog.New(slog.DiscardHandler)}
		return d.run(cmd)
	}
	return cmd
}
