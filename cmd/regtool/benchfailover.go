package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchFailoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "failover",
		Short: "Measure how fast all agents come back to a master that was killed",
		Long: `Failover registers agents with a master, each over a connection of its own,
kills the master (SIGKILL), starts another on the same registry, and measures
from when that is ready until the last agent has been told SUBSCRIBED: everybody
can see it and its tasks then.
Agents report all their tasks; those that have not changed cost no write to the
registry, but for the one that every recovery makes.

"Floor" is the same first records over fresh connections to a bare handler, in a
process of its own, that decodes each and answers. The last column is what Mesos
1.12 took for its sizes on a machine of 2 CPUs.

Every agent takes an open file here and one in the master.`,
		Example: `  regtool bench failover
  regtool bench failover --agents 2000 --frameworks 5 --tasks 20 --completed 0
  regtool bench failover --agents 20000 --frameworks 1 --tasks 5 --completed 0 --rounds 3 --json`,
		Args: noArguments,
	}
	var b bench.Failover
	f := cmd.Flags()
	f.IntSliceVar(&b.Agents, "agents", []int{2000}, "how many agents; a list measures one size after another")
	f.IntVar(&b.Frameworks, "frameworks", 5, "how many frameworks have tasks on each agent")
	f.IntVar(&b.Tasks, "tasks", 10, "how many tasks of each framework run on each agent")
	f.IntVar(&b.Completed, "completed", 10, "how many tasks of each framework have ended on each agent")
	f.IntVar(&b.Rounds, "rounds", 5, "how often each size is measured")
	f.BoolVar(&b.Msgpack, "msgpack", false, "let agents speak MessagePack instead of JSON")
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
		b.Master, b.Floor = benchMaster(slices.Max(b.Agents)), benchFloor
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

// benchMaster is a master to which so many agents can connect.
func benchMaster(agents int) func(ctx context.Context, dir string, port int) *exec.Cmd {
	return func(ctx context.Context, dir string, port int) *exec.Cmd {
		return self(ctx, "serve", "--dir", dir, "--port", strconv.Itoa(port), "--max-agents", strconv.Itoa(agents), "--log-level", "error")
	}
}

func benchFloor(ctx context.Context) *exec.Cmd { return self(ctx, "bench", "failover-floor") }

// self is this program again, called with args: no variable of the environment
// adds to these. The name in Args[0] stays what it was: tests know the tool by
// that.
func self(ctx context.Context, args ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		return &exec.Cmd{Err: err}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, envPrefix) })
	return cmd
}

func newBenchFailoverFloorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "failover-floor", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunFailoverFloor(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
