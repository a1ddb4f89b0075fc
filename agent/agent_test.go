package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

func task(id string, state wire.TaskState) wire.Task {
	return wire.Task{ID: id, FrameworkID: "f", Name: "n", State: state}
}

func TestAgentSubscribesAndIsHeardOf(t *testing.T) {
	for _, msgpack := range []bool{false, true} {
		bubble(t, func(t *testing.T, f *fake) {
			heard := make(chan wire.Event, 9)
			gone := make(chan []wire.Call, 1)
			var call *wire.Subscribe
			stop := f.streams("m:1", func(s *stream) {
				want(t, "encoding", s.encoding == wire.Msgpack, msgpack)
				user, password, _ := s.r.BasicAuth()
				want(t, "credentials", user+" "+password, "me secret")
				call = s.admit()
				s.say(&wire.Unknown{Type: "NEWER"}, &wire.Drain{MarkGone: true}, &wire.Kill{Task: wire.TaskRef{FrameworkID: "f", ID: "t"}})
				gone <- s.rest()
			})
			defer stop()
			a := f.agent(func(o *agent.Options) {
				o.Msgpack = msgpack
				o.Username, o.Password = "me", "secret"
				o.Capabilities = []string{"AGENT_DRAINING"}
				o.Subscribed = func(e *wire.Subscribed) { heard <- e }
				o.Drain = func(e *wire.Drain) { heard <- e }
				o.Kill = func(e *wire.Kill) { heard <- e }
			})
			want(t, "ID", a.ID(), "")
			end := running(a)
			want[wire.Event](t, "event", <-heard, &wire.Subscribed{AgentID: "a1", MasterID: "m", Heartbeat: 15 * time.Second, MissesAllowed: 5})
			want[wire.Event](t, "event", <-heard, &wire.Drain{MarkGone: true})
			want[wire.Event](t, "event", <-heard, &wire.Kill{Task: wire.TaskRef{FrameworkID: "f", ID: "t"}})
			want(t, "ID", a.ID(), "a1")
			want(t, "incarnation is drawn", len(call.Agent.Incarnation), 36)
			call.Agent.Incarnation = ""
			want(t, "call", call, &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "h"}, Version: "1", Capabilities: []string{"AGENT_DRAINING"}})
			want(t, "Run", end(), context.Canceled)
			want(t, "calls", <-gone, nil)
		})
	}
}

func TestChangesAreSaidTogetherAndUntilAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		streams := make(chan *stream)
		leave := make(chan struct{})
		stop := f.streams("m:1", func(s *stream) { streams <- s; <-leave })
		defer stop()
		a := f.agent(nil)
		end := running(a)
		synced := make(chan error, 1)
		sync := func() { synced <- a.Synced(t.Context()) }

		a.SetFramework(wire.FrameworkInfo{ID: "f", Name: "n", User: "u"})
		a.SetTask(task("t1", wire.TaskRunning))
		s := <-streams
		first := s.admit()
		want(t, "tasks", first.Tasks, []wire.Task{task("t1", wire.TaskRunning)})
		want(t, "frameworks", len(first.Frameworks), 1)
		if err := a.Synced(t.Context()); err != nil {
			t.Fatal(err)
		}

		// net.Pipe has no buffer, so while an update waits to be read others gather.
		a.SetTask(task("t2", wire.TaskStaging))
		synctest.Wait()
		a.SetTask(task("t3", wire.TaskStaging))
		a.SetTask(task("t3", wire.TaskRunning))
		a.SetExecutor(wire.ExecutorInfo{ID: "e", FrameworkID: "f"})
		a.RemoveTask(wire.TaskRef{FrameworkID: "f", ID: "t1"})
		a.RemoveTask(wire.TaskRef{FrameworkID: "f", ID: "t0"}) // which is not there
		a.SetResources(nil)
		go sync()
		want[wire.Call](t, "call", s.call(), &wire.Update{Sequence: 2, Tasks: []wire.Task{task("t2", wire.TaskStaging)}})
		want[wire.Call](t, "call", s.call(), &wire.Update{
			Sequence:     3,
			Tasks:        []wire.Task{task("t3", wire.TaskRunning)},
			RemovedTasks: []wire.TaskRef{{FrameworkID: "f", ID: "t1"}},
			Executors:    []wire.ExecutorInfo{{ID: "e", FrameworkID: "f"}},
			Resources:    []registry.Resource{},
		})
		s.say(&wire.Ack{Sequence: 2})
		synctest.Wait()
		want(t, "synced before all is acknowledged", len(synced), 0)

		leave <- struct{}{} // the stream ends without the ACK
		a.RemoveExecutor(wire.ExecutorRef{FrameworkID: "f", ID: "e"})
		s = <-streams
		second := s.call().(*wire.Subscribe)
		want(t, "ID", second.AgentID, "a1")
		want(t, "incarnation", second.Agent.Incarnation, first.Agent.Incarnation)
		want(t, "supersedes", second.Supersedes, "")
		want(t, "tasks", second.Tasks, []wire.Task{task("t2", wire.TaskStaging), task("t3", wire.TaskRunning)})
		want(t, "executors", len(second.Executors), 0)
		want(t, "synced", len(synced), 0)
		s.say(&wire.Subscribed{AgentID: "a1", MasterID: "m", Heartbeat: time.Hour, MissesAllowed: 5}, &wire.Ack{Sequence: 1})
		want(t, "synced", <-synced, nil)
		synctest.Wait()

		close(leave)
		want(t, "Run", end(), context.Canceled)
		want(t, "calls", len(s.rest()), 0) // SUBSCRIBE had all of it
	})
}

func TestNothingIsSaidBeforeTheWelcome(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		streams := make(chan *stream)
		leave := make(chan struct{})
		stop := f.streams("m:1", func(s *stream) { streams <- s; <-leave })
		defer stop()
		a := f.agent(func(o *agent.Options) { o.Backoff = -1 })
		a.SetResources(nil) // SUBSCRIBE has it
		end := running(a)
		s := <-streams
		s.call()
		a.SetTask(task("t", wire.TaskRunning))
		calls := make(chan wire.Call)
		go func() { calls <- s.call() }()
		synctest.Wait()
		select {
		case call := <-calls:
			t.Errorf("call is %v, want none", call)
		default:
		}
		s.say(&wire.Subscribed{AgentID: "a1", MasterID: "m", Heartbeat: time.Hour, MissesAllowed: 5})
		want[wire.Call](t, "call", <-calls, &wire.Update{Sequence: 2, Tasks: []wire.Task{task("t", wire.TaskRunning)}})
		end()
		close(leave)
	})
}

func TestPartsAreNotTheWhole(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		streams := make(chan *stream)
		leave := make(chan struct{})
		stop := f.streams("m:1", func(s *stream) { s.admit(); streams <- s; <-leave })
		defer stop()
		a := f.agent(func(o *agent.Options) { o.Backoff = -1 })
		end := running(a)
		s := <-streams
		a.SetTask(task("first", wire.TaskRunning))
		synctest.Wait() // its update waits to be read
		for _, id := range []string{"t1", "t2", "t3"} {
			big := task(id, wire.TaskRunning)
			big.Name = strings.Repeat("x", 1_000_000)
			a.SetTask(big)
		}
		synced := make(chan error, 1)
		go func() { synced <- a.Synced(t.Context()) }()
		for _, n := range []int{1, 2, 1} {
			want(t, "synced", len(synced), 0)
			update := s.call().(*wire.Update)
			want(t, "tasks", len(update.Tasks), n)
			s.say(&wire.Ack{Sequence: update.Sequence})
			synctest.Wait()
		}
		want(t, "synced", len(synced), 1)
		end()
		close(leave)
	})
}

func TestLargeChangesAreSaidInParts(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		got := make(chan []wire.Call, 1)
		stop := f.streams("m:1", func(s *stream) {
			s.admit()
			got <- s.rest()
		})
		defer stop()
		member := make(chan struct{}, 1)
		a := f.agent(func(o *agent.Options) { o.Subscribed = func(*wire.Subscribed) { member <- struct{}{} } })
		end := running(a)
		<-member
		for i := range 10 {
			big := task(fmt.Sprint(i), wire.TaskRunning)
			big.Name = strings.Repeat("x", 400_000)
			if err := a.SetTask(big); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		end()
		tasks := 0
		for i, call := range <-got {
			update := call.(*wire.Update)
			want(t, "sequence", update.Sequence, uint64(i+2))
			if tasks += len(update.Tasks); len(update.Tasks) > 3 {
				t.Errorf("an update has %d tasks of 400 kB, want 3 at most", len(update.Tasks))
			}
		}
		want(t, "tasks", tasks, 10)
	})
}

func TestWhatCannotBeSaidIsRefusedAtOnce(t *testing.T) {
	a := newFake(t).agent(nil)
	var field *wire.FieldError
	for what, err := range map[string]error{
		"update.tasks[0].task_id":         a.SetTask(wire.Task{FrameworkID: "f", Name: "n", State: wire.TaskRunning}),
		"update.executors[0].executor_id": a.SetExecutor(wire.ExecutorInfo{FrameworkID: "f"}),
		"update.frameworks[0].id":         a.SetFramework(wire.FrameworkInfo{Name: "n", User: "u"}),
		"update.resources[0].name":        a.SetResources([]registry.Resource{{Name: "\xff"}}),
	} {
		if !errors.As(err, &field) || !strings.HasPrefix(field.Field, what) {
			t.Errorf("error is %v, want one of %s", err, what)
		}
	}
	long := task("t", wire.TaskRunning)
	long.Name = strings.Repeat("x", 1<<20)
	if err := a.SetTask(long); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("error is %v, want %v", err, wire.ErrTooLong)
	}
	for what, o := range map[string]agent.Options{
		"agent: Options.Masters: is missing":                                             {},
		`agent: Options.Masters[0]: "m:5050" is not like http://host:5050`:               {Masters: []string{"m:5050"}},
		"agent: Options.Masters[1]: has a user in it: use Options.Username and Password": {Masters: []string{"http://m", "http://me:hush@m:5050"}},
		"agent: Options.Masters[0]: has a user in it: use Options.Username and Password": {Masters: []string{"ftp://hush@m:5050"}},
		"agent: Options.Info.Hostname: is missing":                                       {Masters: []string{"http://m"}},
	} {
		if _, err := agent.New(o); err == nil || err.Error() != what {
			t.Errorf("error is %v, want %v", err, what)
		}
	}
}

func TestHeartbeatsAreSentWhenNothingElseIs(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		type at struct {
			After time.Duration
			Call  string
		}
		var got []at
		done := make(chan struct{})
		stop := f.streams("m:1", func(s *stream) {
			defer close(done)
			s.admit()
			start := time.Now()
			for call := s.call(); call != nil; call = s.call() {
				got = append(got, at{time.Since(start), fmt.Sprintf("%T", call)})
				s.say(&wire.Heartbeat{})
			}
		})
		defer stop()
		a := f.agent(func(o *agent.Options) { o.Backoff = -1 })
		end := running(a)
		time.Sleep(40 * time.Second)
		a.SetTask(task("t", wire.TaskRunning))
		time.Sleep(20 * time.Second)
		end()
		<-done
		const s = time.Second
		want(t, "calls", got, []at{{15 * s, "*wire.Heartbeat"}, {30 * s, "*wire.Heartbeat"}, {40 * s, "*wire.Update"}, {55 * s, "*wire.Heartbeat"}})
	})
}

func TestSilentMastersAreLeft(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		stop := f.streams("m:1", func(s *stream) {
			s.admit()
			said := make(chan struct{})
			time.AfterFunc(30*time.Second, func() {
				s.say(&wire.Unknown{Type: "NEWER"}) // anything is life
				close(said)
			})
			s.rest()
			<-said
		})
		defer stop()
		failed := make(chan error, 1)
		var start time.Time
		end := running(f.agent(func(o *agent.Options) {
			o.Backoff, o.MaxBackoff = 1000*time.Hour, 1000*time.Hour
			o.Subscribed = func(*wire.Subscribed) { start = time.Now() }
			o.Error = func(err error) { failed <- err }
		}))
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error is %v, want %v", err, os.ErrDeadlineExceeded)
		}
		want(t, "time", time.Since(start), 30*time.Second+5*15*time.Second)
		end()
	})
}

func TestMastersThatDoNotAnswerAreLeft(t *testing.T) {
	for name, hold := range map[string]func(*stream){
		"no head":    func(s *stream) { s.rest() },
		"no welcome": func(s *stream) { s.say(&wire.Heartbeat{}); s.rest() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fake) {
				defer f.streams("m:1", hold)()
				failed := make(chan error, 1)
				end := running(f.agent(func(o *agent.Options) { o.Backoff, o.Error = -1, func(err error) { failed <- err } }))
				start := time.Now()
				if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("error is %v, want %v", err, os.ErrDeadlineExceeded)
				}
				want(t, "time", time.Since(start), time.Minute)
				end()
			})
		})
	}
}

func TestMastersThatDoNotReadAreLeft(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		hold := make(chan struct{})
		defer f.streams("m:1", func(s *stream) { s.admit(); <-hold })()
		failed := make(chan error, 1)
		end := running(f.agent(func(o *agent.Options) { o.Backoff, o.Error = -1, func(err error) { failed <- err } }))
		start := time.Now()
		<-failed
		want(t, "time", time.Since(start), 15*time.Second+10*time.Second) // the heartbeat, and its timeout
		end()
		close(hold)
	})
}

func TestPausesAreDrawnAndLengthen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		end := running(f.agent(func(o *agent.Options) { o.Backoff, o.MaxBackoff = time.Second, 10*time.Second }))
		last, bounds := time.Now(), []time.Duration{1, 2, 4, 8}
		time.Sleep(20 * time.Minute)
		end()
		var largest time.Duration
		for i, at := range f.dialled {
			bound := 10 * time.Second
			if i < len(bounds) {
				bound = bounds[i] * time.Second
			}
			if p := at.Sub(last); p >= bound {
				t.Errorf("pause %d is %v, want less than %v", i, p, bound)
			} else {
				largest = max(largest, p)
			}
			last = at
		}
		if largest < 8*time.Second { // of 200 draws: 1 in 10^19 is wrong
			t.Errorf("the longest of %d pauses is %v, want nearly 10 s", len(f.dialled), largest)
		}
		if n := len(f.dialled); n < 150 || n > 400 {
			t.Errorf("%d attempts in 20 minutes, want about 240", n)
		}
	})
}

func TestTheFirstPauseReturnsAfterMembership(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		f.refuse(true)
		end := running(f.agent(nil))
		time.Sleep(10 * time.Minute)
		f.refuse(false)
		member := make(chan time.Time)
		stop := f.streams("m:1", func(s *stream) { s.admit(); member <- time.Now() }) // and ends it
		<-member
		for range 20 {
			start := time.Now()
			if p := (<-member).Sub(start); p >= time.Second {
				t.Errorf("it came back after %v, want less than 1 s", p)
			}
		}
		end()
		stop()
	})
}

func TestAgentSurvivesARestartOfItsMaster(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		calls := make(chan *wire.Subscribe)
		hold := func(s *stream) { calls <- s.admit(); s.rest() }
		stop := f.streams("m:1", hold)
		a := f.agent(nil)
		end := running(a)
		<-calls
		stop()
		time.Sleep(5 * time.Minute)
		a.SetTask(task("t", wire.TaskRunning))
		stop = f.streams("m:1", hold)
		call := <-calls
		want(t, "ID", call.AgentID, "a1")
		want(t, "tasks", call.Tasks, []wire.Task{task("t", wire.TaskRunning)})
		end()
		stop()
	})
}

func TestRedirectsAreFollowed(t *testing.T) {
	for _, location := range []string{"http://leader:2/api/v1/agent", "//leader:2/api/v1/agent", "http://leader:2"} {
		bubble(t, func(t *testing.T, f *fake) {
			defer f.serve("m:1", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", location)
				w.WriteHeader(307)
			})()
			calls := make(chan *wire.Subscribe, 1)
			defer f.streams("leader:2", func(s *stream) { calls <- s.admit(); s.rest() })()
			end := running(f.agent(func(o *agent.Options) { o.Backoff = -1 }))
			start := time.Now()
			want(t, "host", (<-calls).Agent.Hostname, "h")
			want(t, "time", time.Since(start), 0)
			end()
		})
	}
}

func TestRedirectsOfNoUseAreErrors(t *testing.T) {
	for location, message := range map[string]string{
		"":                        `subscribe at http://m:1/api/v1/agent: redirect to "", which is no master`,
		"ftp://m:1/":              `subscribe at http://m:1/api/v1/agent: redirect to "ftp://m:1/", which is no master`,
		"http://m:1/api/v1/agent": "subscribe: more than 5 redirects, the last to http://m:1/api/v1/agent",
	} {
		bubble(t, func(t *testing.T, f *fake) {
			stop := f.serve("m:1", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", location)
				w.WriteHeader(307)
			})
			failed := make(chan error, 1)
			end := running(f.agent(func(o *agent.Options) { o.Error = func(err error) { failed <- err } }))
			want(t, "error", (<-failed).Error(), message)
			f.refuse(true)
			end()
			stop()
		})
	}
}

func TestMastersAreTriedInTurn(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		calls := make(chan string)
		defer f.streams("n:80", func(s *stream) { s.admit(); calls <- s.r.Host })()
		end := running(f.agent(func(o *agent.Options) { o.Masters = []string{"http://m:1", "http://n"} }))
		for range 3 {
			want(t, "master", <-calls, "n")
		}
		want(t, "attempts", len(f.dialled), 4) // it stays with the one that had it
		end()
	})
}

func TestRefusalsAreToldAndTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		var at []time.Time
		stop := f.serve("m:1", func(w http.ResponseWriter, r *http.Request) {
			at = append(at, time.Now())
			w.Header().Set("Retry-After", "30")
			http.Error(w, "full", http.StatusServiceUnavailable)
		})
		failed := make(chan error, 9)
		end := running(f.agent(func(o *agent.Options) { o.Error = func(err error) { failed <- err } }))
		time.Sleep(2 * time.Minute)
		end()
		stop()
		var refused *agent.RefusedError
		if err := <-failed; !errors.As(err, &refused) || refused.Status != 503 ||
			err.Error() != "subscribe at http://m:1/api/v1/agent: 503 Service Unavailable: full" {
			t.Errorf("error is %v", err)
		}
		for i := 1; i < len(at); i++ {
			if p := at[i].Sub(at[i-1]); p < 30*time.Second || p > 46*time.Second {
				t.Errorf("it came again after %v, want 30 s and a drawn pause", p)
			}
		}
	})
}

func TestErrorsOfTheMasterAreToldAndTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		n := 0
		stop := f.streams("m:1", func(s *stream) {
			n++
			s.admit()
			s.say(&wire.Error{Message: "no"})
			s.rest()
		})
		failed := make(chan error, 9)
		end := running(f.agent(func(o *agent.Options) { o.Error = func(err error) { failed <- err } }))
		for range 2 {
			want(t, "error", (<-failed).Error(), "the master ended the stream: no")
		}
		end()
		stop()
		want(t, "streams", n, 2)
	})
}

func TestShutdownEndsTheAgentAndSaysWhatToDo(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		path := filepath.Join(t.TempDir(), "identity")
		defer f.streams("m:1", func(s *stream) {
			s.admit()
			s.say(&wire.Shutdown{Reason: "marked gone"})
			s.rest()
		})()
		var heard *wire.Shutdown
		a := f.agent(func(o *agent.Options) { o.StateFile, o.Shutdown = path, func(e *wire.Shutdown) { heard = e } })
		err := a.Run(t.Context())
		want(t, "error", err.Error(), `the master shut down agent "a1": marked gone: end its tasks; `+
			"if this machine is to join as a new agent, remove "+path+" and start again")
		want(t, "event", heard, &wire.Shutdown{Reason: "marked gone"})
	})
}

func TestLeavingEndsTheAgent(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		path := filepath.Join(t.TempDir(), "identity")
		var calls []wire.Call
		member, read := make(chan struct{}), make(chan struct{})
		defer f.streams("m:1", func(s *stream) {
			s.admit()
			member <- struct{}{}
			calls = append(calls, s.call())
			<-read
			calls = append(calls, s.call())
			rest := make(chan []wire.Call)
			go func() { rest <- s.rest() }()
			time.Sleep(time.Second) // of the bubble's clock: all that is to come has come
			s.say(&wire.Ack{Sequence: 3})
			calls = append(calls, <-rest...)
			s.rest()
		})()
		a := f.agent(func(o *agent.Options) { o.StateFile = path })
		done := make(chan error)
		go func() { done <- a.Run(t.Context()) }()
		<-member
		a.SetTask(task("t", wire.TaskFinished))
		a.Leave()
		synctest.Wait() // UNREGISTER waits to be read
		a.SetTask(task("late", wire.TaskRunning))
		close(read)
		want(t, "Run", <-done, nil)
		synctest.Wait()
		want(t, "calls", calls, []wire.Call{&wire.Update{Sequence: 2, Tasks: []wire.Task{task("t", wire.TaskFinished)}}, &wire.Unregister{Sequence: 3}})
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("state file: %v, want none", err)
		}
	})
}
