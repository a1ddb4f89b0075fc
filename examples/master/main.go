// Master is a cluster master without HTTP: an agent joins and runs a task, and the
// master knows. A program that has its own way to talk to agents does this.
package main

import (
	"context"
	"fmt"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

func main() {
	ctx, agent := context.Background(), registry.Agent{ID: "a1", Hostname: "host-1"}
	told := make(chan bool, 9)
	r := must(registrar.Open(ctx, store.NewMemory(), registrar.Options{})) // wal.Open for one that outlives the process
	defer r.Close()
	m := must(master.Start(ctx, r, master.Options{}))
	defer m.Close()
	// Telling must not wait: here there is room for more than it is told.
	s := must(m.Subscribe(ctx, &wire.Subscribe{Sequence: 1, Agent: agent}, "10.0.0.7:5051", func() { told <- true }))
	task := wire.Task{FrameworkID: "f1", ID: "t1", Name: "web", State: wire.TaskRunning}
	must(0, s.Receive(&wire.Update{Sequence: 2, Tasks: []wire.Task{task}}))
	for e, ok := s.Next(); ; e, ok = s.Next() { // what the agent is to be told
		if ack, is := e.(*wire.Ack); is && ack.Sequence == 2 {
			break // everybody can see the task
		} else if !ok {
			<-told
		}
	}
	for a := range m.State().Agents() {
		for t := range a.Tasks() {
			fmt.Println(a.Info.ID, "on", a.Info.Hostname, "runs", t.Name)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
