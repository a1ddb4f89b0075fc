package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/duration"
	"github.com/eaba02dc/registrar/registry"
)

func newSimulateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Put a cluster's worth of agents on a master, each over a connection of its own",
		Long: `Simulate connects agents to a master, each over a real connection of its own,
and has each report tasks that run. It goes on until it is interrupted, or for
--duration, and then tells what it saw: the agents stay registered, and the
master finds out by and by that they are away. While agents do not get in it
says why, now and then. Interrupted before all have registered it says how many
had, what was in the way of the others, and exits with 1.

The file of --credential is YAML or JSON, as Mesos's agents have it:

  principal: fleet
  secret: the password

--pods has the agents report an instance of each of so many pods, and defines
the pods over PUT /v2/pods once all have registered. A master that does not let
us is no failure: that is said, and only pods that are defined are shown. As the
agents stay members in the end, so the pods stay defined.

--flap breaks connections at random, so many a second; --partition lets a share
of the agents fall silent once all have registered: their connections stand, but
nothing arrives any more in either direction, and no new connection comes about,
as when a cable is cut.`,
		Example: `  regtool simulate --agents 1000 --tasks 20
  regtool simulate --agents 5000 --flap 50 --duration 1mins
  regtool simulate --agents 10 --tasks 0 --pods 100
  regtool simulate --master http://10.0.5.220:5050 --agents 200 --partition 10
  regtool simulate --master https://10.0.5.220:5050 --ca-cert ca.pem --credential agent.yaml`,
		Args: noArguments,
	}
	s := &simulation{}
	f := cmd.Flags()
	f.StringVar(&s.master, "master", "http://127.0.0.1:5050", "URL of the master")
	f.IntVar(&s.agents, "agents", 1000, "how many agents")
	f.IntVar(&s.tasks, "tasks", 20, "how many tasks run on each")
	f.IntVar(&s.pods, "pods", 0, "how many pods have an instance, besides the tasks")
	f.Float64Var(&s.flap, "flap", 0, "how many connections break each second")
	f.Float64Var(&s.partition, "partition", 0, "how many percent of the agents fall silent")
	f.Var((*duration.Value)(&s.duration), "duration", "how long to go on once all have registered (default: until interrupted)")
	f.Lookup("duration").DefValue = ""
	s.entrance.add(f, "the agents")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.validate(); err != nil {
			return err
		}
		if err := s.entrance.read(); err != nil {
			return err
		}
		if err := allowFiles(s.agents); err != nil {
			return err
		}
		if err := s.run(cmd); err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), s.seen())
		}
		return writeFacts(cmd.OutOrStdout(), s.seen().facts())
	}
	return cmd
}

const (
	mostFlaps = 1_000_000 // a second
	year      = 365 * 24 * time.Hour
)

// simulation is a crowd of agents.
type simulation struct {
	master          string
	agents, tasks   int
	pods            int
	flap, partition float64
	duration        time.Duration
	entrance        entrance

	wires                            wires
	troubles                         troubles // of those that have not registered
	members, subscribed, broken, cut atomic.Int64
	registered                       time.Duration // until all were members; 0 if that never was
	defined                          int           // pods that the master took
}

func (s *simulation) validate() error {
	switch {
	case s.agents < 1:
		return usagef("--agents %d: at least 1 is needed", s.agents)
	case s.tasks < 0:
		return usagef("--tasks %d: cannot be less than 0", s.tasks)
	case s.pods < 0:
		return usagef("--pods %d: cannot be less than 0", s.pods)
	case !(s.flap >= 0 && s.flap <= mostFlaps): // NaN neither
		return usagef("--flap %v: want a rate from 0 to %d", s.flap, mostFlaps)
	case !(s.partition >= 0 && s.partition <= 100):
		return usagef("--partition %v: want a share from 0 to 100", s.partition)
	case s.duration < 0:
		return usagef("--duration %s: cannot be less than 0", duration.Format(s.duration))
	}
	if _, err := masterURL(s.master); err != nil {
		return err
	}
	return s.entrance.validate(s.master)
}

// run runs the agents until the time is over or somebody interrupts it, which is
// an error before all of them have registered.
func (s *simulation) run(cmd *cobra.Command) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	all := make(chan struct{})
	bar := newProgress(cmd.ErrOrStderr(), "registering, agent", int64(s.agents))
	var drawing sync.Mutex
	joined := func() {
		drawing.Lock()
		bar.Add(1)
		drawing.Unlock()
		if s.members.Add(1) == int64(s.agents) {
			close(all)
		}
	}
	s.troubles.say = func(text string) {
		drawing.Lock()
		defer drawing.Unlock()
		bar.Done()
		complain(cmd.ErrOrStderr(), cmd, fmt.Sprintf("%d of %s have registered, %s", s.members.Load(), counted(s.agents, "agent"), text))
	}
	crowd := make([]*agent.Agent, s.agents)
	for i := range crowd {
		var err error
		if crowd[i], err = s.agent(i, joined); err != nil {
			return err
		}
	}
	start := time.Now()
	for _, a := range crowd {
		g.Go(func() error {
			if err := a.Run(ctx); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	g.Go(func() error {
		defer stop()
		select {
		case <-all:
		case <-ctx.Done():
		}
		drawing.Lock()
		bar.Done()
		drawing.Unlock()
		if s.members.Load() < int64(s.agents) {
			return nil
		}
		s.registered = time.Since(start)
		complain(cmd.ErrOrStderr(), cmd, fmt.Sprintf("%s with %s each registered in %v; %s",
			counted(s.agents, "agent"), counted(s.tasks, "task"), short(s.registered), s.until()))
		if s.pods > 0 {
			s.define(ctx, cmd)
		}
		return s.disturb(ctx)
	})
	err := g.Wait()
	s.wires.hangUp()
	if s.registered == 0 && err == nil {
		err = s.interrupted()
	}
	return err
}

// define defines the pods, and says so or what was in the way.
func (s *simulation) define(ctx context.Context, cmd *cobra.Command) {
	var err error
	if s.defined, err = s.definePods(ctx); ctx.Err() != nil {
		return
	}
	text := fmt.Sprintf("%d of %s defined", s.defined, counted(s.pods, "pod"))
	if err != nil {
		text += ": " + err.Error()
	}
	complain(cmd.ErrOrStderr(), cmd, text)
}

// interrupted says how far it had come, and what was in the way.
func (s *simulation) interrupted() error {
	text := fmt.Sprintf("interrupted when %d of %s had registered", s.members.Load(), counted(s.agents, "agent"))
	if worst := s.troubles.worst(); worst != "" {
		text += ": " + worst
	}
	return errors.New(text)
}

func (s *simulation) until() string {
	if s.duration > 0 {
		return "going on for " + duration.Format(s.duration)
	}
	return "going on until interrupted"
}

// agent is the agent of this number; joined is called when it has registered
// first.
func (s *simulation) agent(i int, joined func()) (*agent.Agent, error) {
	first := true
	a, err := agent.New(agent.Options{
		Masters: []string{s.master},
		Info: registry.Agent{
			Hostname: fmt.Sprintf("simulated-%d", i), Port: 5051,
			Resources: []registry.Resource{simulatedAmount("cpus", 64), simulatedAmount("mem", 65536)},
		},
		Version: mesosVersion, MaxBackoff: 5 * time.Second, Dial: s.wires.lay().dial,
		Username: s.entrance.username, Password: s.entrance.password, TLSConfig: s.entrance.tls,
		Subscribed: func(*wire.Subscribed) {
			s.subscribed.Add(1)
			if first {
				first = false
				s.troubles.over(i)
				joined()
			}
		},
		Error: func(err error) {
			s.broken.Add(1)
			if first {
				s.troubles.meet(i, err, time.Now())
			}
		},
		Logger: slog.New(slog.DiscardHandler), // they are cut off on purpose
	})
	if err != nil {
		return nil, err
	}
	const framework = "simulated"
	err = a.SetFramework(wire.FrameworkInfo{ID: framework, Name: framework, User: "nobody", Capabilities: []string{"PARTITION_AWARE"}})
	now := float64(time.Now().UnixMilli()) / 1000
	for n := range s.tasks {
		err = errors.Join(err, a.SetTask(wire.Task{
			ID: fmt.Sprintf("task-%d-%d", i, n), FrameworkID: framework, Name: fmt.Sprintf("task-%d", n), State: wire.TaskRunning,
			Resources: []wire.Resource{{Resource: simulatedAmount("cpus", 0.1)}, {Resource: simulatedAmount("mem", 32)}},
			Statuses:  []wire.TaskStatus{{State: wire.TaskRunning, Timestamp: now}},
		}))
	}
	return a, errors.Join(err, s.addPods(a, i, framework, now))
}

func simulatedAmount(name string, n float64) registry.Resource {
	return registry.Resource{Name: name, Value: registry.Value{Kind: registry.KindScalar, Scalar: n}}
}

// disturb does what was asked for to the connections, until the time is over.
func (s *simulation) disturb(ctx context.Context) error {
	s.cut.Add(int64(s.wires.silence(s.partition / 100)))
	var over <-chan time.Time
	if s.duration > 0 {
		over = time.After(s.duration)
	}
	var flap <-chan time.Time
	if s.flap > 0 {
		t := time.NewTicker(time.Duration(min(float64(time.Second)/s.flap, float64(year))))
		defer t.Stop()
		flap = t.C
	}
	for {
		select {
		case <-flap:
			s.wires.breakOne(rand.IntN)
		case <-over:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// simulated is what a simulation saw.
type simulated struct {
	Agents          int     `json:"agents"`
	Tasks           int     `json:"tasks"` // besides those of pods
	Pods            int     `json:"pods,omitzero"`
	PodsDefined     int     `json:"pods_defined,omitzero"`
	RegisterSeconds float64 `json:"register_seconds"`
	// Errors are the times that an agent lost the master, or was refused;
	// Returns those that it came back.
	Errors   int64 `json:"errors"`
	Returns  int64 `json:"returns"`
	Silenced int64 `json:"silenced"`
}

func (s *simulation) seen() simulated {
	return simulated{
		Agents: s.agents, Tasks: s.agents * s.tasks, Pods: s.pods, PodsDefined: s.defined, RegisterSeconds: s.registered.Seconds(),
		Errors: s.broken.Load(), Returns: s.subscribed.Load() - s.members.Load(), Silenced: s.cut.Load(),
	}
}

func (s simulated) facts() []fact {
	facts := []fact{
		{"agents", fmt.Sprint(s.Agents)},
		{"tasks", fmt.Sprint(s.Tasks)},
	}
	if s.Pods > 0 {
		facts = append(facts, fact{"pods", fmt.Sprintf("%d, of which %d are defined", s.Pods, s.PodsDefined)})
	}
	return append(facts, []fact{
		{"registered in", fmt.Sprintf("%.3f s", s.RegisterSeconds)},
		{"came back", counted(int(s.Returns), "time")},
		{"lost the master or were refused", counted(int(s.Errors), "time")},
		{"fell silent", counted(int(s.Silenced), "agent")},
	}...)
}
