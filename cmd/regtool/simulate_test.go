package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A master that gives silent agents 300 ms, and those that lost it half an hour.
var quickToGiveUp = []string{"--agent-ping-timeout", "100ms", "--max-agent-ping-timeouts", "3",
	"--agent-reregister-timeout", "30mins", "--removal-budget", "100%"}

func TestPartitionedAgentsBecomeUnreachable(t *testing.T) {
	t.Parallel()
	m := serveProcess(t, append([]string{"--dir", t.TempDir() + "/registry", "--port", "0"}, quickToGiveUp...)...)
	m.ready(t)
	s := &simulation{master: m.url, agents: 20, tasks: 1, partition: 25}
	stop := simulating(t, s)
	// On a slow machine one that speaks may be taken for silent, for a moment.
	err := eventually(func() error {
		heard := map[string]bool{}
		for i, c := range s.wires.cables {
			if !c.cut.Load() {
				heard[fmt.Sprintf("simulated-%d", i)] = true
			}
		}
		got, err := seenAt(m.url)
		if err != nil {
			return err
		}
		members := slices.ContainsFunc(got.unreachable, func(id string) bool { return got.agents[id] != "" })
		if members || len(got.unreachable) != 5 || len(got.agents) != 15 || !maps.Equal(got.active, heard) {
			return fmt.Errorf("want 5 unreachable agents that are no members, and as members and active %v; these are %v", heard, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.seen().Silenced; got != 5 {
		t.Errorf("%d agents fell silent, want 5", got)
	}
	stop()
	m.terminate(t)
}

func TestFlappingAgentsComeBackAsThemselves(t *testing.T) {
	t.Parallel()
	m := serveProcess(t, "--dir", t.TempDir()+"/registry", "--port", "0")
	m.ready(t)
	s := &simulation{master: m.url, agents: 10, tasks: 1, flap: 20}
	stop := simulating(t, s)
	first, err := seenAt(m.url)
	if err != nil {
		t.Fatal(err)
	}
	var got clusterSeen
	err = eventually(func() (err error) {
		if got, err = seenAt(m.url); err == nil && len(got.back) < 10 {
			err = fmt.Errorf("only these came back: %v", got.back)
		}
		if seen := s.seen(); err == nil && seen.Returns < 10 { // an agent hears of it after the master knows
			err = fmt.Errorf("%+v: want 10 returns at least", seen)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got.agents, first.agents) || len(got.agents) != 10 || len(got.unreachable) != 0 {
		t.Errorf("agents were %v, are %v", first, got)
	}
	if seen := s.seen(); seen.Errors < seen.Returns {
		t.Errorf("%+v: want no fewer losses than returns", seen)
	}
	stop()
	m.terminate(t)
}

func TestSimulationInterruptedBeforeAllHaveRegisteredSaysHowManyHadAndWhyTheOthersHadNot(t *testing.T) {
	t.Parallel()
	m := serveProcess(t, "--dir", t.TempDir()+"/registry", "--port", "0", "--max-agents", "3")
	m.ready(t)
	s := &simulation{master: m.url, agents: 5}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := &cobra.Command{Use: "simulate"}
	cmd.SetContext(ctx)
	cmd.SetErr(io.Discard)
	ended := make(chan error, 1)
	go func() { ended <- s.run(cmd) }()
	refused := "2 failed last with: subscribe at " + m.url + "/api/v1/agent: 503 Service Unavailable: the master has as many agents as it takes"
	if err := eventually(func() error {
		if n, worst := s.members.Load(), s.troubles.worst(); n != 3 || worst != refused {
			return fmt.Errorf("%d agents have registered and of the others %q, want 3 and %q", n, worst, refused)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil || err.Error() != "interrupted when 3 of 5 agents had registered: "+refused {
		t.Errorf("the simulation ended with %v", err)
	}
	m.terminate(t)
}

// simulating runs a simulation; it returns when all agents have registered, and
// so does stop when the simulation has ended in good order.
func simulating(t *testing.T, s *simulation) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	said, stderr := io.Pipe()
	cmd := &cobra.Command{Use: "simulate"}
	cmd.SetContext(ctx)
	cmd.SetErr(stderr)
	ended := make(chan error, 1)
	go func() {
		ended <- s.run(cmd)
		stderr.Close()
	}()
	stop = func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	line := make([]byte, 1000)
	n, err := said.Read(line)
	if want := fmt.Sprintf("simulate: %d agents with 1 task each registered in ", s.agents); err != nil || !strings.HasPrefix(string(line[:n]), want) {
		t.Fatalf("simulate says %q, %v, want %q", line[:n], err, want)
	}
	return stop
}

// clusterSeen is what a master tells of its agents.
type clusterSeen struct {
	agents       map[string]string // hosts by ID
	active, back map[string]bool   // hosts
	unreachable  []string          // IDs
}

func seenAt(url string) (clusterSeen, error) {
	seen := clusterSeen{agents: map[string]string{}, active: map[string]bool{}, back: map[string]bool{}}
	var lists agentLists
	var durable struct {
		Unreachable struct {
			Slaves []struct {
				ID struct{ Value string }
			}
		}
	}
	for path, v := range map[string]any{"/slaves": &lists, "/registrar(1)/registry": &durable} {
		body, err := ask(url + path)
		if err == nil {
			err = json.Unmarshal(body, v)
		}
		if err != nil {
			return seen, err
		}
	}
	for _, a := range lists.Slaves {
		seen.agents[a.ID] = a.Hostname
		if a.Active {
			seen.active[a.Hostname] = true
		}
		if a.Reregistered > 0 {
			seen.back[a.Hostname] = true
		}
	}
	for _, a := range durable.Unreachable.Slaves {
		seen.unreachable = append(seen.unreachable, a.ID.Value)
	}
	return seen, nil
}
