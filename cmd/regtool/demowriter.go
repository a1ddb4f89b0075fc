package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// demoInFlight bounds how many admissions the writer has under way. With the
// bytes that fit into a pipe it also bounds how far it gets ahead of a reader
// that is about to kill it.
const demoInFlight = 1000

// newDemoWriterCommand is the process that demo kills. It admits agents and
// prints the ID of each once the engine has answered for it, never before.
func newDemoWriterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "demo-writer", Hidden: true, Args: noArguments}
	dir := dirFlag(cmd)
	count := cmd.Flags().Int("count", 0, "how many agents to admit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := openDir(cmd.Context(), *dir, wal.Options{Logger: logger(cmd)})
		if err != nil {
			return err
		}
		defer r.Close()
		return admitDemoAgents(cmd.Context(), r, 0, *count, cmd.OutOrStdout())
	}
	return cmd
}

// admitDemoAgents admits the agents from one number up to another and writes
// down each ID when its admission is durable.
func admitDemoAgents(ctx context.Context, r *registrar.Registrar, from, to int, answered io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type admission struct {
		id      registry.AgentID
		pending *registrar.Pending
	}
	underWay := make(chan admission, demoInFlight)
	submitted := make(chan error, 1)
	go func() {
		defer close(underWay)
		for i := from; i < to; i++ {
			a := demoAgent(i)
			p, err := r.Submit(registrar.Request{Operation: ops.Admit{Agent: a}, Principal: "demo", Reason: "regtool demo"})
			if err != nil {
				submitted <- err
				return
			}
			select {
			case underWay <- admission{a.ID, p}:
			case <-ctx.Done():
				submitted <- context.Cause(ctx)
				return
			}
		}
		submitted <- nil
	}()
	for a := range underWay {
		_, err := a.pending.Wait(ctx)
		if err == nil {
			_, err = fmt.Fprintln(answered, string(a.id))
		}
		if err != nil {
			stop(err)
			<-submitted
			return err
		}
	}
	return <-submitted
}

// demoAgent is the agent of a number: always the same, so that what is found
// after the crash can be held against what was sent.
func demoAgent(i int) registry.Agent {
	return registry.Agent{
		ID:       registry.AgentID(fmt.Sprintf("demo-agent-%06d", i)),
		Hostname: fmt.Sprintf("demo-%06d.example.net", i),
		Port:     5051,
		Resources: []registry.Resource{
			{Name: "cpus", Value: registry.Scalar(float64(4 + i%29))},
			{Name: "mem", Value: registry.Scalar(float64(4096 * (1 + i%13)))},
			{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 31000, End: 32000})},
		},
		Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text(fmt.Sprintf("r%03d", i/40))}},
		Checkpoint: true,
	}
}
