package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
)

// addPods gives an agent, of this number, its share of the instances: each pod
// has one.
func (s *simulation) addPods(a *agent.Agent, number int, framework string, now float64) (err error) {
	for pod := number; pod < s.pods; pod += s.agents {
		// As Marathon names them: master/pod knows the instance by that.
		safe, id := fmt.Sprintf("simulated_pod-%d", pod), uuid.NewString()
		executor := "instance-" + safe + "." + id
		err = errors.Join(err,
			a.SetExecutor(wire.ExecutorInfo{ID: executor, FrameworkID: framework, Type: "DEFAULT"}),
			a.SetTask(wire.Task{
				ID: safe + ".instance-" + id + ".main.1", FrameworkID: framework, ExecutorID: executor,
				Name: "main", State: wire.TaskRunning,
				Resources: []wire.Resource{{Resource: simulatedAmount("cpus", 0.1)}, {Resource: simulatedAmount("mem", 32)}},
				Statuses:  []wire.TaskStatus{{State: wire.TaskRunning, Timestamp: now}},
			}))
	}
	return err
}

// definers is how many pods are defined at once.
const definers = 16

// definePods defines the pods on the master, and returns how many it took.
func (s *simulation) definePods(ctx context.Context) (int, error) {
	client, err := newMasterClient(s.master, &s.entrance, definers)
	if err != nil {
		return 0, err
	}
	defer client.http.CloseIdleConnections()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(definers)
	var defined atomic.Int64
	for pod := range s.pods {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil // another one says why
			}
			id := fmt.Sprintf("/simulated/pod-%d", pod)
			if _, err := client.ask(ctx, http.MethodPut, "/v2/pods"+id, nil, simulatedPod(id)); err != nil {
				return err
			}
			defined.Add(1)
			return nil
		})
	}
	err = g.Wait()
	return int(defined.Load()), err
}

func simulatedPod(id string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"networks":[{"mode":"host"}],"scaling":{"kind":"fixed","instances":1},`+
		`"containers":[{"name":"main","exec":{"command":{"shell":"sleep 1d"}},"resources":{"cpus":0.1,"mem":32}}]}`, id)
}
