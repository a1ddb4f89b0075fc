package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// podFleet is agents that run one instance of each pod, a container each: such as
// Marathon's benchmark had them, about 1.6 kB a pod.
type podFleet struct {
	pods     int
	starting []bool // by pod: its container starts anew
}

func newPodFleet(pods int) *podFleet { return &podFleet{pods, make([]bool, pods)} }

// podAgents is how many agents share the pods, if there are as many pods.
const podAgents = 100

func (f *podFleet) size() int { return min(podAgents, f.pods) }

func (f *podFleet) running() int { return f.pods }

const podFramework = "marathon"

func (f *podFleet) subscribe(i int) *wire.Subscribe {
	call := &wire.Subscribe{
		Sequence: 1, Version: "1.12.0",
		Agent: registry.Agent{
			ID: registry.AgentID(fmt.Sprintf("agent%d", i)), Hostname: fmt.Sprintf("agent%d", i), Port: 5051,
			Resources: []registry.Resource{scalarResource("cpus", 20), scalarResource("mem", 10240)},
		},
		Frameworks: []wire.FrameworkInfo{{
			ID: podFramework, Name: podFramework, User: "root", Roles: []string{"*"},
			Capabilities: []string{"PARTITION_AWARE", "MULTI_ROLE"},
		}},
	}
	for pod := i; pod < f.pods; pod += f.size() {
		executor := podExecutor(pod)
		call.Executors = append(call.Executors, wire.ExecutorInfo{ID: executor, FrameworkID: podFramework, Type: "DEFAULT"})
		call.Tasks = append(call.Tasks, podTask(pod, 0, wire.TaskRunning))
	}
	return call
}

// update starts the container of a pod, or says that it runs: its instance is
// STAGING and STABLE in turns.
func (f *podFleet) update(pod, moment int) (agent int, _ *wire.Update) {
	f.starting[pod] = !f.starting[pod]
	state := wire.TaskRunning
	if f.starting[pod] {
		state = wire.TaskStarting
	}
	return pod % f.size(), &wire.Update{Sequence: 1, Tasks: []wire.Task{podTask(pod, moment, state)}}
}

// podID is the ID of a pod of this number.
func podID(n int) string { return fmt.Sprintf("/bench/pod-%05d", n) }

// The names of an instance are as Marathon makes them of the pod's.
func podInstance(n int, of string) string {
	return fmt.Sprintf("%s%08x-5c1f-11ea-8b44-70b3d5800001", of, n)
}

func podExecutor(n int) string { return podInstance(n, fmt.Sprintf("instance-bench_pod-%05d.", n)) }

func podTask(n, moment int, state wire.TaskState) wire.Task {
	instance := podInstance(n, fmt.Sprintf("bench_pod-%05d.instance-", n))
	t := wire.Task{
		ID: instance + ".main.1", FrameworkID: podFramework, ExecutorID: podExecutor(n), Name: "main", State: state,
		Statuses: []wire.TaskStatus{{State: state, Timestamp: float64(1_500_000_000 + moment)}},
	}
	for _, r := range []registry.Resource{scalarResource("cpus", 0.1), scalarResource("mem", 32)} {
		t.Resources = append(t.Resources, wire.Resource{Resource: r, AllocationRole: "*"})
	}
	return t
}

// podDefinition is what a user sends to define a pod.
func podDefinition(n int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"labels":{"team":"bench","tier":"backend"},"networks":[{"mode":"host"}],"scaling":{"kind":"fixed","instances":1},`+
		`"containers":[{"name":"main","exec":{"command":{"shell":"sleep 86400"}},"resources":{"cpus":0.1,"mem":32}}]}`, podID(n))
}

// define defines all pods on a master, as a user does.
func (f *podFleet) define(ctx context.Context, address string) error {
	const atOnce = 64 // share syncs of the registry
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for pod := range f.pods {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil // another one says why
			}
			return put(ctx, client, "http://"+address+"/v2/pods"+podID(pod), podDefinition(pod))
		})
	}
	return g.Wait()
}

func put(ctx context.Context, client *http.Client, url string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("PUT %s answered %s: %s", url, answer.Status, text)
	}
	return err
}
