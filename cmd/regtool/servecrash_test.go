package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

const (
	crowdAgents  = 40
	crowdTasks   = 3  // of each agent
	masterRounds = 20 // in each, some agents are new
)

// A master is killed again and again while agents register and report. What an
// agent was told is there afterwards: that it is a member, under an ID that no
// other agent has, and every task whose report was acknowledged.
func TestKilledMasterLosesNoAgentAndNoTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/registry"
	rng := rand.New(rand.NewPCG(3, 4))
	m := serveProcess(t, "--dir", dir, "--port", "0")
	m.ready(t)
	c := newCrowd(t)
	for round := range masterRounds {
		for range crowdAgents / masterRounds {
			c.start(t, m.url)
		}
		for range rng.IntN(6) + round%2*rng.IntN(300) {
			c.somethingHappens(t)
		}
		m.kill(t)
		m = serveProcess(t, "--dir", dir, "--port", m.port)
		if rng.IntN(3) == 0 { // perhaps while it recovers, or before it begins to
			killAfter(t, m, time.Duration(rng.IntN(30))*time.Millisecond)
			m = serveProcess(t, "--dir", dir, "--port", m.port)
		}
		members := c.told()
		m.ready(t)
		c.areKnown(t, m.url, members)
		if t.Failed() {
			t.Fatalf("in round %d; the master says: %s", round, m.trouble.String())
		}
	}
	want := c.finish(t)
	c.areHere(t, m.url)
	if got := tasksAt(t, m.url); !maps.Equal(got, want) {
		t.Errorf("%d tasks: %v\nacknowledged were %d: %v", len(got), got, len(want), want)
	}
	t.Logf("%d members, %d reports acknowledged", len(c.told()), c.reports)
	m.terminate(t)
	c.stop(t)
	v, err := checkDir(t.Context(), dir, false)
	if err != nil || !v.Sound {
		t.Errorf("check: %+v, %v", v, err)
	}
}

// killAfter kills a process that is perhaps not ready.
func killAfter(t *testing.T, m *process, d time.Duration) {
	t.Helper()
	<-time.After(d) // a moment like any other
	m.kill(t)
}

// crowd is agents that report as fast as they are acknowledged.
type crowd struct {
	states           string // the folder of their state files
	agents           []*agent.Agent
	ctx              context.Context
	cancel           context.CancelFunc
	running, working sync.WaitGroup
	happens          chan struct{} // there was a report or a registration
	done             chan struct{} // closed when they are to report no more

	mu      sync.Mutex
	ids     map[registry.AgentID]int // who was told an ID
	acked   map[string]string        // tasks by their ID, with the label that was acknowledged last
	reports int
	wrong   []error
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{states: t.TempDir(), happens: make(chan struct{}, 1), done: make(chan struct{}),
		ids: map[registry.AgentID]int{}, acked: map[string]string{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() { c.cancel(); c.running.Wait(); c.working.Wait() })
	return c
}

// start has one more agent begin, that knows these masters.
func (c *crowd) start(t *testing.T, masters ...string) {
	t.Helper()
	i := len(c.agents)
	a, err := agent.New(agent.Options{
		Masters: masters, Version: "1.0.0", BootID: "boot-1",
		Info:      registry.Agent{Hostname: fmt.Sprintf("host-%d", i), Port: 5051},
		StateFile: filepath.Join(c.states, fmt.Sprint(i)),
		Backoff:   10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
		Subscribed: func(s *wire.Subscribed) { c.isMember(i, s.AgentID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c.agents = append(c.agents, a)
	c.running.Go(func() {
		if err := a.Run(c.ctx); !errors.Is(err, context.Canceled) {
			c.complain(fmt.Errorf("agent %d ended: %w", i, err))
		}
	})
	c.working.Go(func() { c.work(a, i) })
}

// stop ends the agents, and tells what they complained of.
func (c *crowd) stop(t *testing.T) {
	t.Helper()
	c.cancel()
	c.running.Wait()
	for _, err := range c.wrong {
		t.Error(err)
	}
}

func (c *crowd) isMember(i int, id registry.AgentID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, given := c.ids[id]; given && other != i {
		c.wrong = append(c.wrong, fmt.Errorf("%s was given to agents %d and %d", id, other, i))
	}
	c.ids[id] = i
	c.happened()
}

func (c *crowd) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, err)
}

func (c *crowd) happened() {
	select {
	case c.happens <- struct{}{}:
	default:
	}
}

func (c *crowd) somethingHappens(t *testing.T) {
	t.Helper()
	select {
	case <-c.happens:
	case <-time.After(longest):
		t.Fatal("no agent was told anything")
	}
}

// work changes the tasks of agent i in turn, each change acknowledged before the
// next.
func (c *crowd) work(a *agent.Agent, i int) {
	if err := a.SetFramework(wire.FrameworkInfo{ID: "f", Name: "f", User: "u", Capabilities: []string{"PARTITION_AWARE"}}); err != nil {
		c.complain(err)
	}
	for n := 0; ; n++ {
		select {
		case <-c.done:
			return
		case <-c.ctx.Done():
			return
		default:
		}
		id, label := fmt.Sprintf("task-%d-%d", i, n%crowdTasks), fmt.Sprint(n)
		err := a.SetTask(wire.Task{ID: id, FrameworkID: "f", Name: "t", State: wire.TaskRunning,
			Labels: []registry.Label{{Key: "n", Value: label}}})
		if err == nil {
			err = a.Synced(c.ctx)
		}
		if err != nil {
			c.complain(fmt.Errorf("agent %d, change %d: %w", i, n, err))
			return
		}
		c.mu.Lock()
		c.acked[id] = label
		c.reports++
		c.happened()
		c.mu.Unlock()
	}
}

// told are the IDs of all who were told that they are members.
func (c *crowd) told() map[registry.AgentID]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.ids)
}

// finish lets every agent finish the change that it makes, and returns all tasks
// as they were acknowledged.
func (c *crowd) finish(t *testing.T) map[string]string {
	t.Helper()
	close(c.done)
	finished := make(chan struct{})
	go func() { c.working.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(longest):
		t.Fatal("agents wait for an acknowledgement")
	}
	return c.acked
}

// areKnown checks that the master knows the members, back or not.
func (c *crowd) areKnown(t *testing.T, url string, members map[registry.AgentID]int) {
	t.Helper()
	lists := answerOf[agentLists](t, url+"/slaves")
	known := map[registry.AgentID]bool{}
	for _, a := range lists.Slaves {
		known[registry.AgentID(a.ID)] = true
	}
	for _, a := range lists.Recovered {
		known[registry.AgentID(a.ID)] = true
	}
	for id, i := range members {
		if !known[id] {
			t.Errorf("agent %d was told that it is %s, which nobody knows any more", i, id)
		}
	}
}

// areHere checks that all agents are members, each under the ID that it was
// told, and nobody else.
func (c *crowd) areHere(t *testing.T, url string) {
	t.Helper()
	got, want := map[registry.AgentID]string{}, map[registry.AgentID]string{}
	for id, i := range c.told() {
		want[id] = fmt.Sprintf("host-%d", i)
	}
	lists := answerOf[agentLists](t, url+"/slaves")
	for _, a := range lists.Slaves {
		got[registry.AgentID(a.ID)] = a.Hostname
	}
	if !maps.Equal(got, want) || len(got) != crowdAgents || len(lists.Recovered) != 0 {
		t.Errorf("agents are %v, want %v; recovered are %v, want none", got, want, lists.Recovered)
	}
	for i, a := range c.agents {
		if want[a.ID()] != fmt.Sprintf("host-%d", i) {
			t.Errorf("agent %d takes itself for %s", i, a.ID())
		}
	}
}

// tasksAt are the labels of all tasks, by the tasks' IDs.
func tasksAt(t *testing.T, url string) map[string]string {
	t.Helper()
	answer := answerOf[struct {
		Tasks []struct {
			ID     string
			Labels []registry.Label
		}
	}](t, url+"/tasks?limit=-1")
	tasks := map[string]string{}
	for _, task := range answer.Tasks {
		if _, twice := tasks[task.ID]; twice || len(task.Labels) != 1 {
			t.Errorf("task %s is there twice, or has labels %v", task.ID, task.Labels)
			continue
		}
		tasks[task.ID] = task.Labels[0].Value
	}
	return tasks
}

// process is the tool in a process of its own, serving.
type process struct {
	cmd       *exec.Cmd
	out       *bufio.Reader
	trouble   strings.Builder
	url, port string // once it is ready
}

func serveProcess(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(path, append([]string{"serve"}, args...)...)}
	p.cmd.Args[0] = "regtool" // by which TestMain knows what it is to be
	p.cmd.Stderr = &p.trouble
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if i := slices.Index(args, "--port"); i >= 0 {
		p.port = args[i+1]
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

var servingLine = regexp.MustCompile(`^serving (https?://127\.0\.0\.1:(\d+)): (made a new registry in .*: no agents are known|\d+ agents? recovered from .* in .*)\n$`)

// ready waits until the process can be reached.
func (p *process) ready(t *testing.T) {
	t.Helper()
	p.serves(t)
	if _, err := ask(p.url + "/ready"); err != nil {
		t.Fatal(err)
	}
}

// serves waits until the process says where it can be reached.
func (p *process) serves(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(longest, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	line, err := p.out.ReadString('\n')
	if strings.HasPrefix(line, "standing by at ") {
		line, err = p.out.ReadString('\n')
	}
	found := servingLine.FindStringSubmatch(line)
	if err != nil || found == nil {
		p.cmd.Process.Kill()
		t.Fatalf("the master says %q, %v, then %v: %s", line, err, p.cmd.Wait(), p.trouble.String())
	}
	p.url, p.port = found[1], found[2]
}

// standsBy waits until the process can be reached, though it may not lead.
func (p *process) standsBy(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(longest, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	if line, err := p.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "standing by at ") {
		t.Fatalf("the master says %q, %v: %s", line, err, p.trouble.String())
	}
}

// kill ends the process as a power failure would.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("the master ended by itself: %v: %s", p.cmd.Wait(), p.trouble.String())
	}
	if err := p.cmd.Wait(); err == nil || p.cmd.ProcessState.Exited() {
		t.Fatalf("the master ended by itself: %v: %s", err, p.trouble.String())
	}
}

// terminate asks the process to end, which it must do in good order and before
// it cuts anybody off.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err != nil || strings.Contains(p.trouble.String(), "cut off") {
		t.Errorf("after SIGTERM: %v: %s", err, p.trouble.String())
	}
}

// end waits until the process is gone.
func (p *process) end() error {
	late := time.AfterFunc(longest, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	io.Copy(io.Discard, p.out)
	return p.cmd.Wait()
}

func TestServeLeavesAloneWhatOthersUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dir := t.TempDir() + "/registry"
	refused(t, "^regtool serve: listen tcp4 127\\.0\\.0\\.1:"+port+": bind: address already in use\n$",
		"--dir", dir, "--port", port, "--max-agents", "1")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a master that could not listen has made %s (%v)", dir, err)
	}

	first := serveProcess(t, "--dir", dir, "--port", "0")
	first.ready(t)
	refused(t, "^regtool serve: .*"+regexp.QuoteMeta(dir)+".*in use", "--dir", dir, "--port", "0", "--max-agents", "1")
	if _, err := ask(first.url + "/ready"); err != nil {
		t.Errorf("after another wanted its directory: %v", err)
	}
	first.terminate(t)
}

// refused starts a master that must end by itself, with 1 and what it says.
func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	p := serveProcess(t, args...)
	var exit *exec.ExitError
	if err := p.end(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !regexp.MustCompile(says).MatchString(p.trouble.String()) {
		t.Errorf("serve %s ended with %v and said %q, want exit status 1 and %s", strings.Join(args, " "), err, p.trouble.String(), says)
	}
}
