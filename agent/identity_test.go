package agent_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
)

// boot starts an agent with a state file, and returns what it said when the
// master took it in.
func (f *fake) boot(path, boot string) *wire.Subscribe {
	f.t.Helper()
	calls := make(chan *wire.Subscribe, 1)
	member := make(chan struct{}, 1)
	stop := f.streams("m:1", func(s *stream) { calls <- s.admit(); s.rest() })
	end := running(f.agent(func(o *agent.Options) {
		o.StateFile, o.BootID = path, boot
		o.Subscribed = func(*wire.Subscribed) { member <- struct{}{} }
	}))
	<-member
	end()
	stop()
	return <-calls
}

func TestStateFileMakesARestartTheSameAgent(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		path := filepath.Join(t.TempDir(), "identity")
		first := f.boot(path, "boot-1")
		want(t, "ID of a new agent", first.AgentID, "")
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("state file is %v, %v, want mode 0600", info, err)
		}

		again := f.boot(path, "boot-1")
		want(t, "ID", again.AgentID, "a1")
		want(t, "ID", again.Agent.ID, "a1")
		want(t, "incarnation", again.Agent.Incarnation, first.Agent.Incarnation)
		want(t, "supersedes", again.Supersedes, "")

		booted := f.boot(path, "boot-2")
		want(t, "ID", booted.AgentID, "a1")
		want(t, "incarnation is another", booted.Agent.Incarnation != first.Agent.Incarnation, true)
		want(t, "supersedes", booted.Supersedes, first.Agent.Incarnation)

		again = f.boot(path, "boot-2") // the master has said yes to it
		want(t, "incarnation", again.Agent.Incarnation, booted.Agent.Incarnation)
		want(t, "supersedes", again.Supersedes, "")

		names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
		want(t, "files", names, []string{path})
	})
}

// A machine that goes down after the master has taken in an incarnation, but
// before the agent has heard of it, does not know which one the master holds.
func TestEveryPossiblePredecessorIsTried(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		path := filepath.Join(t.TempDir(), "identity")
		first := f.boot(path, "boot-1").Agent.Incarnation
		if _, err := agent.New(agent.Options{Masters: []string{"http://m"}, Info: f.boot(path, "boot-1").Agent, StateFile: path, BootID: "boot-2"}); err != nil {
			t.Fatal(err)
		}
		tried := make(chan string)
		stop := f.serve("m:1", func(w http.ResponseWriter, r *http.Request) {
			s := accept(w, r)
			tried <- s.call().(*wire.Subscribe).Supersedes
			http.Error(w, "another incarnation", http.StatusConflict)
		})
		end := running(f.agent(func(o *agent.Options) { o.StateFile, o.BootID = path, "boot-3" }))
		want(t, "first try", <-tried, first)
		second := <-tried
		want(t, "second try is of boot-2", second != first && second != "", true)
		want(t, "third try", <-tried, first)
		end()
		stop()
	})
}

func TestDamagedStateFilesAreNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity")
	for content, message := range map[string]string{
		"":                "agent: state file " + path + " is damaged: unexpected end of JSON input: restore it, or remove it to join as a new agent",
		`{"version":1}`:   "agent: state file " + path + " is damaged: it has no version or incarnation: restore it, or remove it to join as a new agent",
		`{"version":2}`:   "agent: state file " + path + " has version 2, of a newer agent: this one reads up to 1",
		`{"agent_id":{}}`: "agent: state file " + path + " is damaged: ",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		o := agent.Options{Masters: []string{"http://m"}, StateFile: path}
		o.Info.Hostname = "h"
		if _, err := agent.New(o); err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%q: error is %v, want %v", content, err, message)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("state file is %q, want %q as before", got, content)
		}
	}
}

func TestAgentsThatCannotKeepTheirIDTryAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake) {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path, failed := filepath.Join(dir, "identity"), make(chan error, 9)
		stop := f.streams("m:1", func(s *stream) { s.admit(); s.rest() })
		member := make(chan struct{}, 1)
		a := f.agent(func(o *agent.Options) {
			o.StateFile = path
			o.Error = func(err error) { failed <- err }
			o.Subscribed = func(*wire.Subscribed) { member <- struct{}{} }
		})
		os.RemoveAll(dir)
		end := running(a)
		if err := <-failed; !strings.HasPrefix(err.Error(), "agent: write state file: ") {
			t.Errorf("error is %v", err)
		}
		os.Mkdir(dir, 0o700)
		<-member
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"agent_id":"a1"`) {
			t.Errorf("state file is %s, %v", data, err)
		}
		end()
		stop()
	})
}
