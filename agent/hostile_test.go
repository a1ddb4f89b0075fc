package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
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

// raw starts a master that says whatever it likes to each connection.
func (f *fake) raw(address string, say func(net.Conn)) {
	conns := make(chan net.Conn)
	f.mu.Lock()
	f.ls[address] = conns
	f.mu.Unlock()
	go func() {
		for {
			select {
			case conn := <-conns:
				go io.Copy(io.Discard, conn)
				say(conn)
				conn.Close()
			case <-f.t.Context().Done():
				return
			}
		}
	}()
}

// endless writes the same until the other side has had enough.
func endless(conn net.Conn, start, again string) {
	_, err := io.WriteString(conn, start)
	for err == nil {
		_, err = io.WriteString(conn, again)
	}
}

// firstError runs an agent until something goes wrong.
func (f *fake) firstError(change func(*agent.Options)) error {
	failed := make(chan error, 99)
	end := running(f.agent(func(o *agent.Options) {
		o.Error = func(err error) {
			select {
			case failed <- err:
			default:
			}
		}
		if change != nil {
			change(o)
		}
	}))
	err := <-failed
	end()
	return err
}

func TestHeadsOfAnswersAreBounded(t *testing.T) {
	const subscribe = "subscribe at http://m:1/api/v1/agent: "
	const tooLong = subscribe + "the head of the answer has more than 65536 bytes"
	for name, test := range map[string]struct {
		say  func(net.Conn)
		want string
	}{
		"status":       {func(c net.Conn) { endless(c, "HTTP/1.1 200 ", strings.Repeat("x", 1000)) }, tooLong},
		"one header":   {func(c net.Conn) { endless(c, "HTTP/1.1 200 OK\r\nA: ", strings.Repeat("x", 1000)) }, tooLong},
		"many headers": {func(c net.Conn) { endless(c, "HTTP/1.1 200 OK\r\n", "A: b\r\n") }, tooLong},
		"no HTTP": {
			func(c net.Conn) { io.WriteString(c, strings.Repeat("x", 60_000)+"\r\n") },
			subscribe + `malformed HTTP response "` + strings.Repeat("x", 39) + "…",
		},
		"a long type": {
			func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: "+strings.Repeat("x", 60_000)+"\r\n\r\n")
			},
			subscribe + `the answer is "` + strings.Repeat("x", 64) + `…", which is no stream of records`,
		},
		"a long way": {
			func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 307 T\r\nLocation: ftp://"+strings.Repeat("x", 60_000)+"\r\n\r\n")
			},
			subscribe + `redirect to "ftp://` + strings.Repeat("x", 58) + `…", which is no master`,
		},
		"no way": {
			func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 307 T\r\nLocation: http://"+strings.Repeat("%", 60_000)+"\r\n\r\n")
			},
			subscribe + `redirect to "http://` + strings.Repeat("%", 57) + `…", which is no URL`,
		},
	} {
		bubble(t, func(t *testing.T, f *fake) {
			f.raw("m:1", test.say)
			want(t, name, f.firstError(nil).Error(), test.want)
		})
	}
}

// A body is not counted to the head before it.
func TestStreamsAreAsLongAsTheyLike(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		defer f.streams("m:1", func(s *stream) {
			s.admit()
			for range 100 {
				s.say(&wire.Unknown{Type: strings.Repeat("x", 1000)})
			}
			s.say(&wire.Error{Message: "enough"})
			s.rest()
		})()
		want(t, "error", f.firstError(nil).Error(), "the master ended the stream: enough")
	})
}

func TestMastersMakeAnAgentAMemberOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		defer f.streams("m:1", func(s *stream) {
			s.admit()
			s.say(&wire.Subscribed{AgentID: "a2", MasterID: "m", Heartbeat: time.Second, MissesAllowed: 5})
			s.rest()
		})()
		path := filepath.Join(t.TempDir(), "identity")
		err := f.firstError(func(o *agent.Options) { o.StateFile = path })
		want(t, "error", err.Error(), "record of the master: SUBSCRIBED came twice")
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"agent_id":"a1"`) {
			t.Errorf("state file is %s, %v, want one of a1", data, err)
		}
	})
}

func TestMastersThatWouldNotWaitAreRefused(t *testing.T) {
	for misses, want := range map[string]string{
		`"heartbeat_interval_seconds":1,"max_missed_heartbeats":0`: "record of the master: subscribed.max_missed_heartbeats: is 0, want at least 1",
		`"heartbeat_interval_seconds":0,"max_missed_heartbeats":1`: "record of the master: subscribed.heartbeat_interval_seconds: is 0, want more than 0 and at most 86400",
	} {
		bubble(t, func(t *testing.T, f *fake) {
			defer f.streams("m:1", func(s *stream) {
				record := `{"type":"SUBSCRIBED","subscribed":{"agent_id":{"value":"a1"},"master_id":"m",` + misses + `}}`
				fmt.Fprintf(s.w, "%d\n%s", len(record), record)
				http.NewResponseController(s.w).Flush()
				s.rest()
			})()
			if err := f.firstError(nil); err.Error() != want {
				t.Errorf("error is %v, want %s", err, want)
			}
		})
	}
}

func TestMastersMayBeSilentForAsLongAsTheySay(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		defer f.streams("m:1", func(s *stream) {
			s.say(&wire.Subscribed{AgentID: "a1", Heartbeat: wire.MaxHeartbeat, MissesAllowed: math.MaxUint32})
			s.rest()
		})()
		var failed []error
		end := running(f.agent(func(o *agent.Options) { o.Error = func(err error) { failed = append(failed, err) } }))
		time.Sleep(1000 * time.Hour)
		want(t, "Run", end(), context.Canceled)
		want(t, "errors", len(failed), 0)
	})
}

// What an agent has to say comes from its state file too.
func TestWhatHasNoEncodingIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		defer f.streams("m:1", func(s *stream) { s.rest() })()
		path := filepath.Join(t.TempDir(), "identity")
		content := `{"version":1,"agent_id":"a1","incarnation":"i","boot_id":"b","predecessors":["` + strings.Repeat("x", 300) + `"]}`
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := f.firstError(func(o *agent.Options) { o.StateFile, o.BootID = path, "b" })
		var field *wire.FieldError
		if !errors.As(err, &field) || !strings.HasSuffix(err.Error(),
			"what the agent has to say has no encoding: subscribe.supersedes: has 300 bytes, at most 255 are allowed") {
			t.Errorf("error is %v", err)
		}
	})
}

func TestSyncedEndsWithRun(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		defer f.streams("m:1", func(s *stream) { s.rest() })() // which acknowledges nothing
		a := f.agent(nil)
		synced := make(chan error, 1)
		go func() { synced <- a.Synced(context.Background()) }()
		synctest.Wait()
		want(t, "synced before Run", len(synced), 0)
		end := running(a)
		synctest.Wait()
		want(t, "synced during Run", len(synced), 0)
		end()
		want(t, "Synced", <-synced, agent.ErrEnded)
		want(t, "Synced after Run", a.Synced(context.Background()), agent.ErrEnded)

		ctx, cancel := context.WithCancel(t.Context())
		end = running(a) // once more
		synctest.Wait()
		go func() { synced <- a.Synced(ctx) }()
		synctest.Wait()
		want(t, "synced during the second Run", len(synced), 0)
		cancel()
		want(t, "Synced", <-synced, context.Canceled)
		end()
	})
}

// Masters take 4 MiB in an UPDATE.
func TestUpdatesHaveTwoMegabytesAtMost(t *testing.T) {
	if testing.Short() {
		t.Skip("moves many megabytes about")
	}
	for _, msgpack := range []bool{false, true} {
		bubble(t, func(t *testing.T, f *fake) {
			streams := make(chan *stream)
			leave := make(chan struct{})
			stop := f.streams("m:1", func(s *stream) { s.admit(); streams <- s; <-leave })
			defer stop()
			a := f.agent(func(o *agent.Options) { o.Backoff, o.Msgpack = -1, msgpack })
			end := running(a)
			s := <-streams
			a.SetTask(task("first", wire.TaskRunning))
			synctest.Wait() // its update waits to be read
			big := strings.Repeat("x", 1_000_000)
			floats := wire.Raw("[" + strings.Repeat("0.5,", 110_000) + "0.5]") // of 4 bytes in JSON, and 9 in MessagePack
			for what, err := range map[string]error{
				"resources": a.SetResources([]registry.Resource{{Name: "r", Value: registry.Set(big)}}),
				"framework": a.SetFramework(wire.FrameworkInfo{ID: "f", Name: big, User: "u"}),
				"executor":  a.SetExecutor(wire.ExecutorInfo{ID: "e", FrameworkID: "f", Command: floats}),
				"t1":        a.SetTask(wire.Task{ID: "t1", FrameworkID: "f", Name: "n", State: "s", Container: floats}),
				"t2":        a.SetTask(wire.Task{ID: "t2", FrameworkID: "f", Name: big, State: "s"}),
			} {
				if err != nil {
					t.Fatal(what, err)
				}
			}
			left := 5
			s.call()
			for left > 0 {
				if size, _ := s.calls.Size(); size > 2<<20 {
					t.Errorf("an update has %d bytes, want at most 2 MiB", size)
				}
				u, ok := s.call().(*wire.Update)
				if !ok {
					t.Error("the stream has ended")
					break
				}
				left -= len(u.Resources) + len(u.Frameworks) + len(u.Executors) + len(u.Tasks)
			}
			end()
			close(leave)
		})
	}
}

func TestTheLogSaysWhyAndWhenAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		f.refuse(true)
		var log bytes.Buffer
		var waits []time.Duration
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey:
				return slog.Attr{}
			case "again_in":
				waits = append(waits, a.Value.Duration())
				return slog.String("again_in", "soon")
			}
			return a
		}}))
		stop := f.streams("m:1", func(s *stream) {
			s.admit()
			s.say(&wire.Error{Message: "no"})
			f.refuse(true)
		})
		end := running(f.agent(func(o *agent.Options) {
			o.Logger, o.Backoff = logger, 1000*time.Hour
			o.MaxBackoff = o.Backoff
		}))
		for len(f.attempts()) < 1 {
			time.Sleep(time.Hour)
		}
		f.refuse(false)
		for len(f.attempts()) < 3 {
			time.Sleep(time.Hour)
		}
		end()
		stop()
		want(t, "log", log.String(), ""+
			"level=DEBUG msg=\"the agent could not subscribe\" agent=\"\" master=http://m:1/api/v1/agent err=\"connect to http://m:1/api/v1/agent: refused\" again_in=soon\n"+
			"level=INFO msg=\"the agent was cut off from its master\" agent=a1 master=http://m:1/api/v1/agent err=\"the master ended the stream: no\" again_in=soon\n"+
			"level=DEBUG msg=\"the agent could not subscribe\" agent=a1 master=http://m:1/api/v1/agent err=\"connect to http://m:1/api/v1/agent: refused\" again_in=soon\n")
		at := f.attempts()
		want(t, "waits", []time.Duration{at[1].Sub(at[0]), at[2].Sub(at[1])}, waits[:2])
	})
}
