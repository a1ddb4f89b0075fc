package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

const (
	readbackAgents  = 8
	readbackTasks   = 2   // of each agent
	readbackWrites  = 100 // of each agent
	readbackReaders = 4
)

// paths are where tasks can be seen.
var paths = []string{"/state", "/tasks?limit=-1"}

// touch is what was done to a task: a write until it is acknowledged, or a read.
type touch struct {
	task  string
	write bool
}

// sight is what a task was made or seen to be; "" is not there.
type sight string

// register says that a task is what it was made last, for everybody.
var register = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		of := map[string][]porcupine.Operation{}
		for _, o := range all {
			task := o.Input.(touch).task
			of[task] = append(of[task], o)
		}
		parts := make([][]porcupine.Operation, 0, len(of))
		for _, part := range of {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return sight("") },
	Step: func(is, input, output any) (bool, any) {
		if input.(touch).write {
			return true, output
		}
		return is == output, is
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v %q", input, output) },
}

// TestReadersSeeWhatWasAcknowledged has agents report over real connections
// while others read /state and /tasks, and looks for one order, task by task, of
// all that was acknowledged and seen: who reads after an acknowledgement sees
// what it was for, and nobody sees an older state after a newer one.
func TestReadersSeeWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	url := masterInMemory(t)
	b := &readback{t: t, url: url}
	var writers, readers sync.WaitGroup
	for i := range readbackAgents {
		writers.Go(func() { b.writeAll(ctx, i) })
	}
	reading, stop := context.WithCancel(ctx)
	for i := range readbackReaders {
		readers.Go(func() { b.readAll(reading, readbackAgents+i, paths[i%len(paths)]) })
	}
	writers.Wait()
	stop()
	readers.Wait()
	if t.Failed() {
		return
	}
	for client, path := range paths { // at the end, with nobody about
		if err := b.read(ctx, readbackAgents+readbackReaders+client, path); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d writes, %d answers read", b.writes.Load(), b.reads.Load())
	result, info := porcupine.CheckOperationsVerbose(register, b.all, time.Minute)
	if result != porcupine.Ok {
		t.Errorf("%s: no order explains what was seen of a task", result)
		if path := t.ArtifactDir() + "/history.html"; porcupine.VisualizePath(register, info, path) == nil {
			t.Log("see ", path)
		}
	}
}

// masterInMemory serves a master until the test ends.
func masterInMemory(t *testing.T) (url string) {
	t.Helper()
	r, err := registrar.Open(t.Context(), store.NewMemory(), registrar.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	m, err := master.Start(t.Context(), r, master.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(httpapi.New(m, httpapi.Options{
		Logger: quiet, Agents: httpapi.AgentStream(m, httpapi.AgentStreamOptions{Logger: quiet}),
	}))
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s.URL
}

// readback is a history of writes and reads, by a clock that only counts.
type readback struct {
	t             *testing.T
	url           string
	clock         atomic.Int64
	writes, reads atomic.Int64
	mu            sync.Mutex
	all           []porcupine.Operation
}

func (b *readback) add(client int, called int64, t touch, s sight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, porcupine.Operation{ClientId: client, Input: t, Call: called, Output: s, Return: b.clock.Add(1)})
}

func taskOf(agent, n int) string { return fmt.Sprintf("task-%d-%d", agent, n) }

// writeAll is one agent: it changes its tasks in turn, each change acknowledged
// before the next, and then reads.
func (b *readback) writeAll(ctx context.Context, i int) {
	a, err := agent.New(agent.Options{Masters: []string{b.url}, Version: "1.0.0", BootID: "boot-1", Backoff: -1, Logger: slog.New(slog.DiscardHandler),
		Info: registry.Agent{Hostname: fmt.Sprintf("host-%d", i), Port: 5051}})
	if err != nil {
		b.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	defer running.Wait()
	defer cancel()
	framework := fmt.Sprintf("framework-%d", i)
	err = a.SetFramework(wire.FrameworkInfo{ID: framework, Name: framework, User: "u"})
	rng := rand.New(rand.NewPCG(uint64(i), 5))
	for n := 0; n < readbackWrites && err == nil; n++ {
		task := wire.Task{ID: taskOf(i, n%readbackTasks), FrameworkID: framework, Name: "t", State: wire.TaskRunning,
			Labels: []registry.Label{{Key: "n", Value: fmt.Sprint(n)}}}
		if rng.IntN(4) == 0 {
			task.State = wire.TaskFinished
		}
		called := b.clock.Add(1)
		err = errors.Join(a.SetTask(task), a.Synced(ctx))
		b.add(i, called, touch{task.ID, true}, sightOf(string(task.State), task.Labels))
		b.writes.Add(1)
		if err == nil && n%8 == i {
			err = b.read(ctx, i, paths[n%len(paths)])
		}
	}
	if err != nil {
		b.t.Errorf("agent %d: %v", i, err)
	}
}

func sightOf(state string, labels []registry.Label) sight {
	return sight(fmt.Sprint(state, " ", labels))
}

// readAll reads until there is nothing more to see.
func (b *readback) readAll(ctx context.Context, client int, path string) {
	for ctx.Err() == nil {
		if err := b.read(ctx, client, path); err != nil && ctx.Err() == nil {
			b.t.Errorf("%s: %v", path, err)
			return
		}
	}
}

// read notes what one answer says of each task.
func (b *readback) read(ctx context.Context, client int, path string) error {
	called := b.clock.Add(1)
	seen, err := tasksIn(ctx, b.url+path)
	if err != nil {
		return err
	}
	for i := range readbackAgents {
		for n := range readbackTasks {
			b.add(client, called, touch{taskOf(i, n), false}, seen[taskOf(i, n)])
		}
	}
	b.reads.Add(1)
	return nil
}

type taskSeen struct {
	ID, State string
	Labels    []registry.Label
}

type frameworkSeen struct {
	Tasks     []taskSeen
	Completed []taskSeen `json:"completed_tasks"`
}

// tasksIn are the tasks of an answer of /state or /tasks.
func tasksIn(ctx context.Context, url string) (map[string]sight, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var all struct {
		Tasks      []taskSeen
		Frameworks []frameworkSeen
		Completed  []frameworkSeen `json:"completed_frameworks"` // which run nothing now
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", answer.Status, err)
	}
	list := all.Tasks
	for _, f := range append(all.Frameworks, all.Completed...) {
		list = append(append(list, f.Tasks...), f.Completed...)
	}
	tasks := map[string]sight{}
	for _, task := range list {
		if tasks[task.ID] != "" {
			return nil, fmt.Errorf("%s is there twice", task.ID)
		}
		tasks[task.ID] = sightOf(task.State, task.Labels)
	}
	return tasks, nil
}
