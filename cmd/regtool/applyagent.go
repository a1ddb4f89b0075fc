package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// agentOperations are those that describe an agent.
func agentOperations() []*cobra.Command {
	return []*cobra.Command{
		newAdmitCommand(), newUpdateCommand(), newReadmitCommand(), newReplaceCommand(),
	}
}

const describing = `

The agent is described field by field with flags, or in full with --file: JSON
in the form in which "inspect agents --json" shows an agent, - for stdin. An
array of one agent, as "inspect agents --id ID --json" prints it, will do.`

const changing = describing + `
With flags, what is not named stays as it is known; an attribute, resource or
label takes the place of those of its name. To remove one, take it out of the
JSON and use --file.`

const superseding = `

Where another incarnation of the agent is admitted, it is refused, unless
--supersedes names that incarnation.`

func newAdmitCommand() *cobra.Command {
	var agent *agentFlags
	var supersedes *string
	cmd := newOperation("admit", "Admit a new agent",
		`Admit makes a new agent part of the cluster. It is refused if the ID is known,
in whatever state: an agent that comes back is readmitted.`+describing+superseding,
		`--id a1 --hostname host-1 --port 5051 --resource cpus=4 --attribute rack=r12 --reason "new rack"`,
		func(cmd *cobra.Command) (registry.AgentID, decide, error) {
			a, _, err := agent.agent(cmd)
			if err != nil {
				return "", nil, err
			}
			return settled(a.ID, ops.Admit{Agent: a, Supersedes: *supersedes})
		})
	agent, supersedes = newAgentFlags(cmd), supersedesFlag(cmd)
	return cmd
}

func newUpdateCommand() *cobra.Command {
	var agent *agentFlags
	var supersedes *string
	cmd := newOperation("update", "Change what is known of an admitted agent",
		`Update changes what is known of an admitted agent. Whether it is drained or
deactivated stays. It is refused if the agent is not admitted.`+changing+superseding,
		`--id a1 --attribute rack=r13 --reason "moved"`,
		func(cmd *cobra.Command) (registry.AgentID, decide, error) {
			return agent.onTopOfKnown(cmd, func(a registry.Agent) ops.Operation {
				return ops.Update{Agent: a, Supersedes: *supersedes}
			})
		})
	agent, supersedes = newAgentFlags(cmd), supersedesFlag(cmd)
	return cmd
}

func newReadmitCommand() *cobra.Command {
	var agent *agentFlags
	var supersedes *string
	cmd := newOperation("readmit", "Take back an agent that was unreachable or forgotten",
		`Readmit takes back an agent that was unreachable or forgotten; a drain is
carried over. For an admitted agent it does what update does. It is refused if
the agent is gone, until "prune" has forgotten that.`+changing+superseding,
		`--id a1 --reason "cable was loose"`,
		func(cmd *cobra.Command) (registry.AgentID, decide, error) {
			return agent.onTopOfKnown(cmd, func(a registry.Agent) ops.Operation {
				return ops.Readmit{Agent: a, Supersedes: *supersedes}
			})
		})
	agent, supersedes = newAgentFlags(cmd), supersedesFlag(cmd)
	return cmd
}

func newReplaceCommand() *cobra.Command {
	var agent *agentFlags
	var old *string
	cmd := newOperation("replace", "Replace an agent by a new one",
		`Replace removes an agent (--old), in whatever state it is, and admits a new one
(--id or --file), both or neither: a machine that was installed anew. It is
refused if the new ID is known or the old one is not.`+describing,
		`--old a1 --id a2 --hostname host-1 --reason "reinstalled"`,
		func(cmd *cobra.Command) (registry.AgentID, decide, error) {
			a, _, err := agent.agent(cmd)
			if err != nil {
				return "", nil, err
			}
			return settled(a.ID, ops.Replace{Old: registry.AgentID(*old), Agent: a})
		})
	agent = newAgentFlags(cmd)
	old = cmd.Flags().String("old", "", "ID of the agent to remove (required)")
	cmd.MarkFlagRequired("old")
	return cmd
}

func supersedesFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("supersedes", "", "the admitted incarnation that is known to be down")
}

// always is the operation, whatever the registry holds.
func always(op ops.Operation) decide {
	return func(*registry.Registry) (ops.Operation, error) { return op, nil }
}

// settled is always, and an error if a field is not acceptable in any registry:
// none needs to be opened to refuse that.
func settled(id registry.AgentID, op ops.Operation) (registry.AgentID, decide, error) {
	err := id.Validate()
	if p, ok := op.(ops.Preparer); ok {
		_, err = p.Prepare() // looks at the ID too, and names the operation
	}
	return id, always(op), err
}

// onTopOfKnown makes the operation with what the registry knows of the agent,
// changed by the flags; a file stands for itself.
func (f *agentFlags) onTopOfKnown(cmd *cobra.Command, op func(registry.Agent) ops.Operation) (registry.AgentID, decide, error) {
	described, fromFile, err := f.agent(cmd)
	if err != nil {
		return "", nil, err
	}
	if fromFile {
		return settled(described.ID, op(described))
	}
	return described.ID, func(r *registry.Registry) (ops.Operation, error) {
		e, known := r.Entry(described.ID)
		if !known {
			return op(described), nil
		}
		a, err := e.Agent()
		if err == nil {
			err = f.change(&a)
		}
		return op(a), err
	}, described.ID.Validate()
}
