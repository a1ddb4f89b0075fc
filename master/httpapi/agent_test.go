package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// The agent that this project offers and its master understand each other.
func TestAgentAndMasterSpeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := newFake(), newPipes()
		server := &http.Server{Handler: httpapi.AgentStream(f, httpapi.AgentStreamOptions{})}
		go server.Serve(l)
		defer server.Close()
		kills := make(chan *wire.Kill, 1)
		a, err := agent.New(agent.Options{
			Masters: []string{"http://m"},
			Info:    registry.Agent{Hostname: "h"},
			Dial:    func(context.Context, string, string) (net.Conn, error) { return l.dial(t), nil },
			Kill:    func(k *wire.Kill) { kills <- k },
			Backoff: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- a.Run(t.Context()) }()
		synctest.Wait()
		want(t, "ID", a.ID(), "a1")
		f.say(&wire.Ack{Sequence: 1})
		if err := a.SetTask(wire.Task{ID: "t", FrameworkID: "f", Name: "n", State: wire.TaskRunning}); err != nil {
			t.Fatal(err)
		}
		f.say(&wire.Kill{Task: wire.TaskRef{FrameworkID: "f", ID: "t"}})
		want(t, "kill", (<-kills).Task.ID, "t")
		time.Sleep(1500 * time.Millisecond) // a heartbeat is due each second
		f.say(&wire.Ack{Sequence: 2})
		if err := a.Synced(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, call := range f.received {
			if u, ok := call.(*wire.Update); ok {
				u.Tasks[0].Packed, u.Tasks[0].Uses = nil, wire.Uses{} // what it looks like is told elsewhere
			}
		}
		want(t, "calls", f.received, []wire.Call{
			&wire.Update{Sequence: 2, Tasks: []wire.Task{{ID: "t", FrameworkID: "f", Name: "n", State: wire.TaskRunning}}},
			&wire.Heartbeat{},
		})

		f.refuse = &ops.Error{Op: "readmit", Agent: "a1", Err: ops.ErrGone} // for when it comes back
		f.end()
		want(t, "Run", (<-done).Error(), `the master shut down agent "a1": readmit agent "a1": agent is gone for good: end its tasks`)
		synctest.Wait()
		want(t, "closed", f.closed, 1)
	})
}
