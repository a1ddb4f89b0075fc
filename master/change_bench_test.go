package master

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// BenchmarkTaskChange is what a change of a task costs the loop, by which it is
// bounded how much a master can take in: in groups of 4,000, which are published
// together, and alone. 10,000 agents have ten tasks each.
func BenchmarkTaskChange(b *testing.B) {
	const agents, tasks = 10_000, 10
	r, err := registrar.Open(b.Context(), store.NewMemory(), registrar.Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	m, err := Start(b.Context(), r, Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	id := func(agent int) registry.AgentID { return registry.AgentID(fmt.Sprint("agent", agent)) }
	of := func(agent, n int) wire.Task {
		return wire.Task{FrameworkID: fmt.Sprint("framework", n%5), ID: fmt.Sprintf("%08x-%d", agent*7919, n), Name: "t", State: wire.TaskRunning}
	}
	var g errgroup.Group
	g.SetLimit(1000)
	for i := range agents {
		g.Go(func() error {
			call := &wire.Subscribe{Sequence: 1, AgentID: id(i), Agent: info(string(id(i)))}
			for n := range tasks {
				call.Tasks = append(call.Tasks, of(i, n))
			}
			_, err := m.Subscribe(context.Background(), call, "127.0.0.1:1", func() {})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	type change struct {
		id registry.AgentID
		u  *wire.Update
	}
	var changes [2][20_000]change // the same tasks, of which each has changed again
	for i := range changes[0] {
		agent, n := rand.IntN(agents), rand.IntN(tasks)
		for turn := range changes {
			t := of(agent, n)
			t.Statuses = []wire.TaskStatus{{State: wire.TaskRunning, Timestamp: float64(turn*len(changes[0]) + i)}}
			changes[turn][i] = change{id(agent), &wire.Update{Tasks: []wire.Task{t}}}
		}
	}
	for _, group := range []int{4000, 1} {
		b.Run(fmt.Sprint(group), func(b *testing.B) {
			b.ReportAllocs()
			done := make(chan struct{})
			m.calls <- func(l *loop) {
				defer close(done)
				for i := 0; b.Loop(); i++ {
					c := changes[i/len(changes[0])%2][i%len(changes[0])]
					l.update(l.members[c.id], c.u)
					if i%group == group-1 {
						l.publish()
					}
				}
			}
			<-done
		})
	}
}
