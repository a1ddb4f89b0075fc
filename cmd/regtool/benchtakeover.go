package main

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/bench"
	"github.com/eaba02dc/registrar/internal/duration"
)

func newBenchTakeoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "takeover",
		Short: "Measure how long a cluster on etcd is without a leader",
		Long: `Takeover starts masters on an etcd, connects agents to the one that leads, has
clients define pods as fast as they are answered, and kills the leader
(SIGKILL). "Takeover" is from the end of the dead leader's lease until the next
one has acknowledged a write, "without a leader" from its death until then, "all
back" from then until the last agent is a member again.

Every write that was acknowledged is looked for in the registry ("lost") and in
its log ("twice"): both must be 0.

A new prefix is used in etcd, and removed.`,
		Example: `  regtool bench takeover
  regtool bench takeover --agents 10000 --masters 3 --etcd http://10.0.0.1:2379 --json`,
		Args: noArguments,
	}
	var b bench.Takeover
	var etcd etcdFlags
	lease := duration.Value(3 * time.Second)
	f := cmd.Flags()
	f.IntSliceVar(&b.Agents, "agents", []int{10_000}, "how many agents; a list measures one size after another")
	f.IntVar(&b.Masters, "masters", 2, "how many masters")
	f.IntVar(&b.Rounds, "rounds", 5, "how often each size is measured")
	f.Var(&lease, "lease", "for how long a master leads that is not heard of")
	f.StringSliceVar(&etcd.endpoints, "etcd", []string{"http://127.0.0.1:2379"}, "members of the etcd to use")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		etcd.prefix = etcdstore.DefaultPrefix
		if err := etcd.validate(); err != nil {
			return err
		}
		if err := b.Validate(); err != nil {
			return usagef("%w", err)
		}
		for _, n := range b.Agents {
			if err := allowFiles(n); err != nil {
				return err
			}
		}
		client, err := etcd.dial()
		if err != nil {
			return err
		}
		defer client.Close()
		b.Client, b.Lease = client, time.Duration(lease)
		b.Master = func(ctx context.Context, prefix string, port int) *exec.Cmd {
			return self(ctx, "serve", "--etcd", strings.Join(etcd.endpoints, ","), "--etcd-prefix", prefix, "--etcd-lease", lease.String(),
				"--port", strconv.Itoa(port), "--max-agents", strconv.Itoa(slices.Max(b.Agents)), "--max-pods", "1000000", "--log-level", "error")
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
