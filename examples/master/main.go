// Master is a cluster master without HTTP: an agent joins, runs a task, goes,
// and the master knows. A program that has its own way to talk to agents does this.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

func main() {
	ctx := context.Background()
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{}) // wal.Open for one that outlives the process
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	m, err := master.Start(ctx, r, master.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	told := make(chan struct{}, 1)
	wake := func() {
		select {
		case told <- struct{}{}:
		default: // it is told already
		}
	}
	call := &wire.Subscribe{Sequence: 1, Agent: registry.Agent{ID: "a1", Hostname: "host-1"}}
	s, err := m.Subscribe(ctx, call, "10.0.0.7:5051", wake)
	if err != nil {
		log.Fatal(err)
	}
	task := wire.Task{FrameworkID: "f1", ID: "t1", Name: "web", State: wire.TaskRunning}
	if err := s.Receive(&wire.Update{Sequence: 2, Tasks: []wire.Task{task}}); err != nil {
		log.Fatal(err)
	}
	for ack := (&wire.Ack{}); ack.Sequence < 2; { // until everybody can see the task
		if e, ok := s.Next(); !ok {
			<-told
		} else if a, is := e.(*wire.Ack); is {
			ack = a
		}
	}
	for a := range m.State().Agents() {
		fmt.Println(a.Info.ID, "on", a.Info.Hostname, "runs", a.Tasks[0].Name)
	}
}
