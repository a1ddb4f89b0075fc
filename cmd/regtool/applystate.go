package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// stateOperations are those that need no more than an agent's ID, and perhaps
// a time.
func stateOperations() []*cobra.Command {
	return []*cobra.Command{
		newByID("remove", "Remove an admitted agent",
			`Remove forgets an admitted agent, as when it said goodbye. It is refused if the
agent is not admitted.`, `--id a1 --reason "sold"`,
			func(id registry.AgentID) ops.Operation { return ops.Remove{ID: id} }),
		newByIDAndTime("unreachable", "Mark an admitted agent unreachable",
			`Unreachable says that an admitted agent cannot be reached. What a readmission
must restore is kept. It is refused if the agent is not admitted.`, `--id a1 --at 2026-01-02T15:04:05Z --reason "no answer"`,
			func(id registry.AgentID, at time.Time) ops.Operation { return ops.MarkUnreachable{ID: id, At: at} }),
		newByIDAndTime("gone", "Mark an agent gone for good",
			`Gone says that an agent, admitted or unreachable, will never come back. There is
no way back: it is not readmitted. Only when "prune" has forgotten it, its ID is
one like any other and can be admitted again. It is refused if the agent is not
known.`, `--id a1 --reason "burnt down"`,
			func(id registry.AgentID, at time.Time) ops.Operation { return ops.MarkGone{ID: id, At: at} }),
		newDrainCommand(),
		newByID("drained", "Say that a draining agent is empty",
			`Drained says that a draining agent runs no more tasks. It is refused if the
agent is not draining.`, `--id a1 --reason "last task ended"`,
			func(id registry.AgentID) ops.Operation { return ops.MarkDrained{ID: id} }),
		newByID("deactivate", "Keep new tasks off an agent",
			`Deactivate keeps new tasks off an agent, admitted or unreachable. It is refused
if the agent is gone or not known.`, `--id a1 --reason "looks slow"`,
			func(id registry.AgentID) ops.Operation { return ops.Deactivate{ID: id} }),
		newByID("reactivate", "End a deactivation, or a drain that is done",
			`Reactivate ends a deactivation, or a drain that is done. It is refused while the
agent is still draining, and if it is gone or not known.`, `--id a1 --reason "disk swapped"`,
			func(id registry.AgentID) ops.Operation { return ops.Reactivate{ID: id} }),
		newPruneCommand(),
	}
}

func newByID(name, short, long, example string, op func(registry.AgentID) ops.Operation) *cobra.Command {
	var id *string
	cmd := newOperation(name, short, long, example, func(*cobra.Command) (registry.AgentID, decide, error) {
		return settled(registry.AgentID(*id), op(registry.AgentID(*id)))
	})
	id = idFlag(cmd)
	return cmd
}

func newByIDAndTime(name, short, long, example string, op func(registry.AgentID, time.Time) ops.Operation) *cobra.Command {
	var id *string
	var at *time.Time
	cmd := newOperation(name, short, long, example, func(cmd *cobra.Command) (registry.AgentID, decide, error) {
		if !cmd.Flags().Changed("at") {
			*at = time.Now()
		}
		marked := registry.Status{State: registry.Gone, At: *at}
		if err := marked.Validate(); err != nil {
			return "", nil, err
		}
		return settled(registry.AgentID(*id), op(registry.AgentID(*id), *at))
	})
	id = idFlag(cmd)
	at = cmd.Flags().Time("at", time.Time{}, []string{time.RFC3339Nano}, "when, as 2026-01-02T15:04:05Z; now if not given")
	return cmd
}

func newDrainCommand() *cobra.Command {
	var id *string
	var grace *time.Duration
	var markGone *bool
	cmd := newOperation("drain", "Order an agent to be emptied of tasks",
		`Drain orders an agent, admitted or unreachable, to be emptied of tasks, and
keeps new ones off it. It is refused if the agent is gone or not known.`, `--id a1 --grace 1h --reason "disk swap"`,
		func(cmd *cobra.Command) (registry.AgentID, decide, error) {
			op := ops.Drain{ID: registry.AgentID(*id), MarkGone: *markGone}
			if cmd.Flags().Changed("grace") {
				op.MaxGrace = grace
			}
			if *grace < 0 {
				return "", nil, usagef("--grace %v: use a duration of zero or more", *grace)
			}
			return settled(op.ID, op)
		})
	id = idFlag(cmd)
	grace = cmd.Flags().Duration("grace", 0, "how long a task may take to end, as 90s or 1h; kept or unbounded if not given")
	markGone = cmd.Flags().Bool("mark-gone", false, "mark the agent gone once it is drained")
	return cmd
}

func newPruneCommand() *cobra.Command {
	var unreachable, gone *[]string
	cmd := newOperation("prune", "Forget agents that are unreachable or gone",
		`Prune forgets exactly the agents named that are still in the state under which
they are named. It is never refused; naming others changes nothing. A gone agent
that was forgotten can be admitted again, as nothing is known of it any more.`, `--gone a1 --gone a2 --reason "gone for a year"`,
		func(*cobra.Command) (registry.AgentID, decide, error) {
			return "", always(ops.Prune{Unreachable: agentIDs(*unreachable), Gone: agentIDs(*gone)}), nil
		})
	unreachable = cmd.Flags().StringArray("unreachable", nil, "ID of an unreachable agent; may be repeated")
	gone = cmd.Flags().StringArray("gone", nil, "ID of a gone agent; may be repeated")
	cmd.MarkFlagsOneRequired("unreachable", "gone")
	return cmd
}

func agentIDs(texts []string) []registry.AgentID {
	ids := make([]registry.AgentID, len(texts))
	for i, text := range texts {
		ids[i] = registry.AgentID(text)
	}
	return ids
}

func idFlag(cmd *cobra.Command) *string {
	id := cmd.Flags().String("id", "", "ID of the agent (required)")
	cmd.MarkFlagRequired("id")
	return id
}
