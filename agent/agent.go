package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// maxItem is the most bytes of a task, an executor, a framework or all resources,
// and that many have to be in an UPDATE for it to be full. So it has 2 MiB at
// most, of the 4 MiB that masters take.
const maxItem = 1 << 20

// Agent is a member of a cluster, or about to be one. Its methods may be called
// from any goroutine, [Agent.Run] from one only.
//
// What is given to a Set method is the agent's from then on: nothing in it may be
// changed.
type Agent struct {
	o       Options
	masters []*url.URL

	mu         sync.Mutex // guards what follows
	id         identity
	unsaved    bool // id is not in the state file
	resources  []registry.Resource
	frameworks table[string, wire.FrameworkInfo]
	tasks      table[wire.TaskRef, wire.Task]
	executors  table[wire.ExecutorRef, wire.ExecutorInfo]
	resized    bool // resources are unsaid
	width      int  // bytes that resources take in a record
	ended      bool // Run has returned, and was not called again
	leaving    bool
	version    uint64 // of all the above: grows with each change
	acked      uint64 // the version that the master has acknowledged
	waiting    []waiter
	session    *session // nil while not connected
	refusals   int      // of incarnations
}

// waiter waits until a version is acknowledged, which is nil, or nobody will.
type waiter struct {
	version uint64
	done    chan error // has room for it
}

// New returns an agent that [Agent.Run] connects. It reads the state file, or
// writes the first.
func New(o Options) (*Agent, error) {
	o = o.withDefaults()
	masters, err := o.endpoints()
	if err != nil {
		return nil, err
	}
	if o.Info.Hostname == "" {
		return nil, errors.New("agent: Options.Info.Hostname: is missing")
	}
	a := &Agent{o: o, masters: masters, resources: o.Info.Resources, version: 1}
	if _, err := wire.AppendCall(nil, wire.Msgpack, a.subscribe()); err != nil {
		return nil, fmt.Errorf("agent: Options: %w", err)
	}
	a.id, err = loadIdentity(o.StateFile, cmp.Or(o.BootID, kernelBoot()))
	if err != nil {
		return nil, err
	}
	return a, nil
}

// ID is the agent's; empty if it has not been a member yet.
func (a *Agent) ID() registry.AgentID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id.AgentID
}

// SetTask adds a task or changes it. It returns a [*wire.FieldError] for one that
// cannot be said. A task whose state is terminal stays until it is removed.
func (a *Agent) SetTask(task wire.Task) error {
	size, err := a.measure(&wire.Update{Tasks: []wire.Task{task}})
	if err != nil {
		return err
	}
	a.change(func() bool {
		a.tasks.set(wire.TaskRef{FrameworkID: task.FrameworkID, ID: task.ID}, task, size)
		return true
	})
	return nil
}

// RemoveTask says that a task is not on the agent any more. It does nothing if it
// was not.
func (a *Agent) RemoveTask(task wire.TaskRef) {
	a.change(func() bool { return a.tasks.remove(task) })
}

// SetExecutor adds an executor or changes it, with the errors of [Agent.SetTask].
func (a *Agent) SetExecutor(executor wire.ExecutorInfo) error {
	size, err := a.measure(&wire.Update{Executors: []wire.ExecutorInfo{executor}})
	if err != nil {
		return err
	}
	a.change(func() bool {
		a.executors.set(wire.ExecutorRef{FrameworkID: executor.FrameworkID, ID: executor.ID}, executor, size)
		return true
	})
	return nil
}

// RemoveExecutor says that an executor is not on the agent any more. It does
// nothing if it was not.
func (a *Agent) RemoveExecutor(executor wire.ExecutorRef) {
	a.change(func() bool { return a.executors.remove(executor) })
}

// SetFramework says whose tasks and executors the agent has, before it has them,
// with the errors of [Agent.SetTask].
func (a *Agent) SetFramework(framework wire.FrameworkInfo) error {
	size, err := a.measure(&wire.Update{Frameworks: []wire.FrameworkInfo{framework}})
	if err != nil {
		return err
	}
	a.change(func() bool {
		a.frameworks.set(framework.ID, framework, size)
		return true
	})
	return nil
}

// RemoveFramework forgets a framework that has nothing left on the agent. There
// is no record of that: the agent does not name it when it connects next.
func (a *Agent) RemoveFramework(id string) {
	a.change(func() bool { return a.frameworks.remove(id) })
}

// SetResources says all that the agent has now, with the errors of [Agent.SetTask].
func (a *Agent) SetResources(resources []registry.Resource) error {
	if resources == nil {
		resources = []registry.Resource{} // none, which is not as before
	}
	size, err := a.measure(&wire.Update{Resources: resources})
	if err != nil {
		return err
	}
	a.change(func() bool {
		a.resources, a.resized, a.width = resources, true, size
		return true
	})
	return nil
}

// measure finds the bytes of an update of one thing, and what is wrong with it.
func (a *Agent) measure(u *wire.Update) (int, error) {
	record, err := wire.AppendCall(nil, a.o.encoding(), u)
	if err != nil {
		return 0, err
	}
	if len(record) > maxItem {
		return 0, fmt.Errorf("agent: %w: %d bytes, at most %d are taken", wire.ErrTooLong, len(record), maxItem)
	}
	return len(record), nil
}

// Leave says that the agent goes and does not come back: when all that was set
// before has been said it unregisters, the state file is removed, and [Agent.Run]
// returns nil.
func (a *Agent) Leave() {
	a.change(func() bool {
		a.leaving = true
		return true
	})
}

// change makes a change, if it is one, and has it said.
func (a *Agent) change(do func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !do() {
		return
	}
	a.version++
	if a.session != nil {
		a.session.wake()
	}
}

// Synced waits until the master has acknowledged all that was set before: then
// everybody can see it. It returns the error of the context if that ends first,
// and [ErrEnded] if Run returns first or has returned. Before Run it waits.
func (a *Agent) Synced(ctx context.Context) error {
	done, err := a.await()
	if done == nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		a.forgo(done)
		return ctx.Err()
	}
}

// await adds a waiter for all that is set, unless there is nothing to wait for.
func (a *Agent) await() (done chan error, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.acked >= a.version:
		return nil, nil
	case a.ended:
		return nil, ErrEnded
	}
	done = make(chan error, 1)
	a.waiting = append(a.waiting, waiter{a.version, done})
	return done, nil
}

// forgo removes a waiter.
func (a *Agent) forgo(done chan error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = slices.DeleteFunc(a.waiting, func(w waiter) bool { return w.done == done })
}

// end notes whether Run has returned, after which there is nothing to wait for.
func (a *Agent) end(ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended = ended; !ended {
		return
	}
	for _, w := range a.waiting {
		w.done <- ErrEnded
	}
	a.waiting = nil
}

// Run keeps the agent connected until the context ends, whose error it returns;
// until the master orders a shutdown, which is a [*ShutdownError]; or until the
// agent has left, which is nil.
func (a *Agent) Run(ctx context.Context) error {
	a.end(false)
	defer a.end(true)
	pauses := backoff{first: a.o.Backoff, most: a.o.MaxBackoff}
	wait := pauses.next()
	for turn := 0; ; turn++ {
		if err := pause(ctx, wait); err != nil {
			return err
		}
		master := a.masters[turn%len(a.masters)]
		member, err := a.connect(ctx, master)
		var down *ShutdownError
		switch {
		case errors.Is(err, errLeft):
			return a.forget()
		case errors.As(err, &down):
			return down
		case ctx.Err() != nil:
			return ctx.Err()
		case member:
			pauses.failures = 0
			turn-- // the master that knew us first, and who leads now
		default:
			pauses.failures++
		}
		wait = pauses.next()
		var refused *RefusedError
		if errors.As(err, &refused) {
			wait += min(refused.retryAfter, a.o.MaxBackoff)
		}
		a.complain(ctx, master, member, err, wait)
	}
}

// complain tells why a connection ended, and when the next is tried. That the
// agent was cut off is worth a line; that it still is, is for who looks closer.
func (a *Agent) complain(ctx context.Context, master *url.URL, member bool, err error, wait time.Duration) {
	level, message := slog.LevelDebug, "the agent could not subscribe"
	if member {
		level, message = slog.LevelInfo, "the agent was cut off from its master"
	}
	a.o.Logger.Log(ctx, level, message, "agent", string(a.ID()), "master", master.Redacted(), "err", err, "again_in", wait)
	if a.o.Error != nil {
		a.o.Error(err)
	}
}

// forget removes what a later process would take for its own.
func (a *Agent) forget() error {
	if a.o.StateFile == "" {
		return nil
	}
	if err := os.Remove(a.o.StateFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("agent: has left, but its state file stays: %w", err)
	}
	return nil
}

// subscribe says all that the agent has. It needs the lock.
func (a *Agent) subscribe() *wire.Subscribe {
	s := &wire.Subscribe{
		Sequence:     1,
		Agent:        a.o.Info,
		Version:      a.o.Version,
		Capabilities: a.o.Capabilities,
		AgentID:      a.id.AgentID,
		Frameworks:   a.frameworks.all(strings.Compare),
		Tasks:        a.tasks.all(compareTasks),
		Executors:    a.executors.all(compareExecutors),
	}
	s.Agent.ID = cmp.Or(a.id.AgentID, a.o.Info.ID)
	s.Agent.Incarnation = a.id.Incarnation
	s.Agent.Resources = a.resources
	if n := len(a.id.Predecessors); n > 0 {
		s.Supersedes = a.id.Predecessors[a.refusals%n]
	}
	a.resized = false
	return s
}

func compareTasks(a, b wire.TaskRef) int {
	return cmp.Or(strings.Compare(a.FrameworkID, b.FrameworkID), strings.Compare(a.ID, b.ID))
}

func compareExecutors(a, b wire.ExecutorRef) int {
	return cmp.Or(strings.Compare(a.FrameworkID, b.FrameworkID), strings.Compare(a.ID, b.ID))
}

// update says what has not been said, or a part of it; nil is nothing. It needs
// the lock.
func (a *Agent) update() *wire.Update {
	if a.said() {
		return nil
	}
	u, room := &wire.Update{}, maxItem
	if a.resized {
		u.Resources, a.resized = a.resources, false
		room -= a.width
	}
	u.Frameworks, _ = a.frameworks.take(&room)
	u.Executors, u.RemovedExecutors = a.executors.take(&room)
	u.Tasks, u.RemovedTasks = a.tasks.take(&room)
	return u
}

// said reports whether the stream has been told everything. It needs the lock.
func (a *Agent) said() bool {
	return !a.resized && len(a.frameworks.unsaid) == 0 && len(a.tasks.unsaid) == 0 && len(a.executors.unsaid) == 0
}

// acknowledged takes note of a version that everybody can see. It needs the lock.
func (a *Agent) acknowledged(version uint64) {
	a.acked = max(a.acked, version)
	waiting := a.waiting[:0]
	for _, w := range a.waiting {
		if w.version <= a.acked {
			w.done <- nil
		} else {
			waiting = append(waiting, w)
		}
	}
	clear(a.waiting[len(waiting):])
	a.waiting = waiting
}

// admitted takes note of being a member, durably.
func (a *Agent) admitted(id registry.AgentID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id.AgentID != id || a.id.Predecessors != nil {
		a.id.AgentID, a.id.Predecessors = id, nil
		a.unsaved = true
	}
	if !a.unsaved {
		return nil
	}
	err := a.id.save(a.o.StateFile)
	a.unsaved = err != nil
	return err
}
