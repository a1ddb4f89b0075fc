package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
)

func newInspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show what a registry holds",
		Long: `Inspect shows what a registry holds. Without more words it shows the whole in
short: who leads, how many agents are in each state, and what the store says
of itself. "inspect agents", "inspect unreachable" and "inspect gone" list
agents, "inspect pods" the pods that are defined.

With --at it shows the registry as it was at a revision, as far back as the log
is kept.

It reads only, and proves what it reads by digest and count. A registry that a
process has open, as a master does, is read through that process: standard error
then says which it is, and at which revision (in JSON "live" does).`,
		Example: `  regtool inspect --dir /var/lib/registry
  regtool inspect agents --dir /var/lib/registry --filter attr=rack:r12
  regtool inspect gone --dir /var/lib/registry --json
  regtool inspect --dir /var/lib/registry --at 4711`,
		Args: subcommandOnly,
	}
	inspectRegistry(cmd)
	summary := &cobra.Command{
		Use:   "registry",
		Short: "Show the registry as a whole",
		Long: `Inspect registry shows the registry as a whole: who leads, how many agents are
in each state, revision and digest of the content, and the history, epoch,
format and size of the store. It is what "inspect" alone does.`,
		Example: `  regtool inspect registry --dir /var/lib/registry
  regtool inspect registry --dir /var/lib/registry --json`,
		Args: noArguments,
	}
	inspectRegistry(summary)
	cmd.AddCommand(summary,
		newInspectAgentsCommand("agents", registry.Admitted),
		newInspectAgentsCommand("unreachable", registry.Unreachable),
		newInspectAgentsCommand("gone", registry.Gone),
		newInspectPodsCommand())
	return cmd
}

func inspectRegistry(cmd *cobra.Command) {
	from, asJSON := readingFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := from.load(cmd)
		if err != nil {
			return err
		}
		sum := summarize(s)
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), sum)
		}
		return writeFacts(cmd.OutOrStdout(), sum.facts())
	}
}
