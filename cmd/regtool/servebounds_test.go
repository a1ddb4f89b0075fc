//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/registry"
)

func TestAClusterThatIsFullTakesNoNewAgent(t *testing.T) {
	t.Parallel()
	m := serveProcess(t, "--dir", filepath.Join(t.TempDir(), "registry"), "--port", "0", "--max-admitted-agents", "2")
	m.ready(t)
	stop := simulating(t, &simulation{master: m.url, agents: 2, tasks: 1})
	hasAgents(t, m, 2)
	failed := make(chan error, 100)
	a, err := agent.New(agent.Options{
		Masters: []string{m.url}, Version: "1", Info: registry.Agent{Hostname: "h"}, Backoff: 1, Error: func(err error) { failed <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	select {
	case err = <-failed:
	case <-time.After(longest):
		err = errors.New("nothing")
	}
	var refused *agent.RefusedError
	if !errors.As(err, &refused) || refused.Status != 503 || refused.Message != "the cluster is full: it may have 2 agents" {
		t.Errorf("the third agent hears %v", err)
	}
	cancel()
	<-ended
	stop()
	m.terminate(t)
}

func TestAnswersThatMayNotBeKeptAreMadeAsTheyAreSent(t *testing.T) {
	t.Parallel()
	for flag, kept := range map[string]bool{"--state-cache-bytes=1": false, "--state-cache-bytes=1000000": true} {
		m := serveProcess(t, "--dir", filepath.Join(t.TempDir(), "registry"), "--port", "0", flag)
		m.ready(t)
		stop := simulating(t, &simulation{master: m.url, agents: 5, tasks: 1})
		hasAgents(t, m, 5)
		answer, err := (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}).Get(m.url + "/state")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 200 || (answer.ContentLength >= 0) != kept {
			t.Errorf("%s: %s, and its length is %d", flag, answer.Status, answer.ContentLength)
		}
		stop()
		m.terminate(t)
	}
}

// hasAgents waits until so many agents are connected.
func hasAgents(t *testing.T, m *process, want int) {
	t.Helper()
	err := eventually(func() error {
		got, err := seenAt(m.url)
		if err == nil && len(got.active) != want {
			err = fmt.Errorf("want %d active agents, these are %v", want, got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
