package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/bench"
)

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the engine on this machine",
		Long: `Bench measures the engine on this machine: real files, real syncs. Beside each
figure stands its floor, what the same bytes cost with nothing around them,
measured in the same run. The benchmarks and how to read them are in
docs/benchmarks.md.`,
		Example: `  regtool bench registrar
  regtool bench registrar --agents 1000 --rounds 1
  regtool bench links
  regtool bench failover
  regtool bench takeover
  regtool bench state
  regtool bench load
  regtool bench metrics
  regtool bench pods`,
		Args: subcommandOnly,
		RunE: func(cmd *cobra.Command, args []string) error {
			return usagef("which benchmark? for example: regtool bench registrar")
		},
	}
	cmd.AddCommand(newBenchRegistrarCommand(), newBenchInterferenceCommand(), newBenchLinksCommand(), newBenchFailoverCommand(), newBenchTakeoverCommand(), newBenchIdleCommand(), newBenchStateCommand(), newBenchLoadCommand(), newBenchMetricsCommand(), newBenchPodsCommand(),
		newBenchVictimCommand(), newBenchFailoverFloorCommand(), newBenchIdleMasterCommand(), newBenchStateClientCommand())
	return cmd
}

func newBenchRegistrarCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registrar",
		Short: "Measure how fast agents are admitted, lost, taken back, recovered, removed",
		Long: `Registrar puts a cluster's agents through the engine, all operations of a phase
submitted at once and every one awaited: admit, readmit unchanged, readmit
changed, unreachable, reachable; then a process is killed and its store opened
(recover), opened after a clean close (recover_clean); remove; and clients that
each wait for their Admit before the next (closed_loop).

Times are medians of the rounds. "x floor" is how many times as long as writing
or reading the same bytes raw; "x pebble" as writing them to a plain Pebble.
The last columns are what Mesos took, in 2014 and in version 1.12, on machines
of their own.

The files are made in a new directory in --dir, which decides which disk is
measured; a --dir that is not there is made. All of it is removed in the end.

With --etcd the storms go to an etcd. Beside them stands what it takes for the
same bytes in puts of 1 MiB one after another, and for one put for each agent,
by 64 clients. A new prefix is used, and removed.`,
		Example: `  regtool bench registrar
  regtool bench registrar --agents 10000,100000 --rounds 7
  regtool bench registrar --agents 1000 --agent-bytes 600 --dir /var/lib --json
  regtool bench registrar --agents 10000,100000 --etcd http://127.0.0.1:2379`,
		Args: noArguments,
	}
	var b bench.Registrar
	var etcd etcdFlags
	cmd.Flags().IntSliceVar(&b.Agents, "agents", []int{10_000}, "how many agents; a list measures one size after another")
	cmd.Flags().IntVar(&b.Rounds, "rounds", 5, "how often each size is measured; one more repetition does not count")
	cmd.Flags().IntVar(&b.AgentBytes, "agent-bytes", 0, "pad each agent to this many bytes in the log")
	cmd.Flags().StringVar(&b.Dir, "dir", "", "measure the disk of this directory (default: the working directory)")
	cmd.MarkFlagDirname("dir")
	cmd.Flags().StringSliceVar(&etcd.endpoints, "etcd", nil, "measure the engine on this etcd, in place of a disk")
	etcd.addAccess(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("dir", "etcd")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := b.Validate(); err != nil {
			return usagef("%w", err)
		}
		if etcd.given() {
			return benchOnEtcd(cmd, &etcd, b, *asJSON)
		}
		b.Victim = benchVictim
		report, err := runBench(cmd, b)
		if err != nil {
			return err
		}
		storms, loops := report.Tables()
		return writeReport(cmd, report, *asJSON, storms, loops)
	}
	return cmd
}

// benchOnEtcd measures the engine on etcd.
func benchOnEtcd(cmd *cobra.Command, e *etcdFlags, like bench.Registrar, asJSON bool) error {
	e.prefix = etcdstore.DefaultPrefix
	if err := e.validate(); err != nil {
		return err
	}
	client, err := e.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	b := bench.OnEtcd{Agents: like.Agents, Rounds: like.Rounds, AgentBytes: like.AgentBytes, Client: client}
	bar := phases(cmd, b.Phases(), &b.Progress)
	defer bar.Done()
	report, err := b.Run(cmd.Context())
	if err != nil {
		return err
	}
	return writeReport(cmd, report, asJSON, report.EtcdTable())
}

// runBench shows on a terminal how far it has come. The bar is only drawn
// between phases, where it disturbs none.
func runBench(cmd *cobra.Command, b bench.Registrar) (bench.Report, error) {
	complain(cmd.ErrOrStderr(), cmd, fmt.Sprintf("measuring; on a quiet machine this takes about %v", benchTime(b)))
	bar := phases(cmd, b.Phases(), &b.Progress)
	defer bar.Done()
	return b.Run(cmd.Context())
}

// benchTime guesses how long b takes, from what it took on a laptop's disk: the
// storms go by the agent, and one client of the closed loops by its syncs.
func benchTime(b bench.Registrar) time.Duration {
	const perAgent, perSync = 100 * time.Microsecond, 500 * time.Microsecond
	var d time.Duration
	for _, agents := range b.Agents {
		d += time.Duration(b.Rounds+1) * (time.Duration(agents)*perAgent + time.Duration(min(agents, 10_000))*perSync)
	}
	return max(d.Round(time.Second), time.Second)
}

// benchVictim is the process that is killed.
func benchVictim(ctx context.Context) *exec.Cmd { return self(ctx, "bench", "victim") }

func newBenchVictimCommand() *cobra.Command {
	return &cobra.Command{
		Use: "victim", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunVictim(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// phases is the bar of a benchmark, which *moves moves.
func phases(cmd *cobra.Command, n int, moves *func()) *progress {
	bar := newProgress(cmd.ErrOrStderr(), "measuring, phase", int64(n))
	*moves = func() { bar.Add(1) }
	return bar
}

// writeReport writes what a benchmark found: tables for people, with a line
// between them, or the report as JSON.
func writeReport(cmd *cobra.Command, report any, asJSON bool, tables ...bench.Table) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return writeJSON(out, report)
	}
	for i, t := range tables {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := writeRows(out, t.Header, t.Rows); err != nil {
			return err
		}
	}
	return nil
}
