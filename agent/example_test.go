package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// An agent registers, says that a task runs, and hears that it is to end it.
func Example() {
	master := httptest.NewServer(http.HandlerFunc(toyMaster))
	defer master.Close()

	kills := make(chan *wire.Kill, 1)
	a, err := agent.New(agent.Options{
		Masters: []string{master.URL},
		Info:    registry.Agent{Hostname: "host-1"},
		Version: "1.0.0",
		Kill:    func(k *wire.Kill) { kills <- k },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()

	a.SetFramework(wire.FrameworkInfo{ID: "f1", Name: "batch", User: "root"})
	a.SetTask(wire.Task{ID: "t1", FrameworkID: "f1", Name: "job", State: wire.TaskRunning})
	if err := a.Synced(ctx); err != nil { // everybody can see the task now
		fmt.Println(err)
		return
	}
	fmt.Println("member as", a.ID())

	kill := <-kills
	fmt.Println("kill", kill.Task.ID)
	a.SetTask(wire.Task{ID: "t1", FrameworkID: "f1", Name: "job", State: wire.TaskKilled})

	cancel()
	fmt.Println(<-done)
	// Output:
	// member as a1
	// kill t1
	// context canceled
}

// toyMaster takes everybody for a1, and has every task killed.
func toyMaster(w http.ResponseWriter, r *http.Request) {
	s := accept(w, r)
	subscribe, ok := s.call().(*wire.Subscribe)
	if !ok {
		return
	}
	s.say(
		&wire.Subscribed{AgentID: "a1", MasterID: "m1", Heartbeat: 15 * time.Second, MissesAllowed: 5},
		&wire.Ack{Sequence: subscribe.Sequence},
	)
	for _, task := range subscribe.Tasks {
		s.say(&wire.Kill{Task: wire.TaskRef{FrameworkID: task.FrameworkID, ID: task.ID}})
	}
	for call := s.call(); call != nil; call = s.call() {
		update, ok := call.(*wire.Update)
		if !ok {
			continue
		}
		s.say(&wire.Ack{Sequence: update.Sequence})
		for _, task := range update.Tasks {
			if task.State == wire.TaskRunning {
				s.say(&wire.Kill{Task: wire.TaskRef{FrameworkID: task.FrameworkID, ID: task.ID}})
			}
		}
	}
}
