package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
)

const (
	podUsers       = 4 // each has a pod of his own
	podCrashRounds = 12
)

// A master is killed again and again while users define pods and remove them.
// What each was told last holds afterwards; of a request without an answer either
// holds.
func TestKilledMasterLosesNoDefinitionOfAPod(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/registry"
	rng := rand.New(rand.NewPCG(5, 6))
	m := serveProcess(t, "--dir", dir, "--port", "0")
	m.ready(t)
	users := make([]*podUser, podUsers)
	for i := range users {
		users[i] = &podUser{id: fmt.Sprintf("/crash/pod-%d", i)}
	}
	for round := range podCrashRounds {
		answered := make(chan struct{})
		var all errgroup.Group
		for _, u := range users {
			all.Go(func() error { return u.work(m.url, answered) })
		}
		for range rng.IntN(100) {
			<-answered
		}
		m.kill(t)
		go func() { all.Wait(); close(answered) }()
		for range answered { // of those that were answered before
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		m = serveProcess(t, "--dir", dir, "--port", m.port)
		m.ready(t)
		defined := podsDefinedAt(t, m.url)
		for _, u := range users {
			if err := u.finds(defined[u.id]); err != nil {
				t.Errorf("in round %d: %v", round, err)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	want := podsDefinedAt(t, m.url)
	m.terminate(t)
	v, err := checkDir(t.Context(), dir, true)
	if err != nil || !v.Sound {
		t.Errorf("check: %+v, %v", v, err)
	}
	code, stdout, stderr := call(t, t.Context(), "inspect", "pods", "--dir", dir, "--json")
	var there []struct {
		Pod        string
		Definition podDefined
	}
	if err := json.Unmarshal([]byte(stdout), &there); code != exitFine || err != nil || len(there) != len(want) {
		t.Errorf("inspect pods: exit code %d, %v, %s, %s, want %d pods", code, err, stdout, stderr, len(want))
	}
	for _, p := range there {
		if p.Definition.Labels["step"] != want[p.Pod] {
			t.Errorf("the registry has %+v, the master had step %q", p, want[p.Pod])
		}
	}
}

// podUser changes one pod, step by step. A step is the label of the definition
// that it makes, or "" if it removes the pod.
type podUser struct {
	id    string
	steps int
	// The last step that was answered, and one that was perhaps done behind it.
	sure, perhaps string
}

// work goes on until the master is gone.
func (u *podUser) work(master string, answered chan<- struct{}) error {
	c, err := newMasterClient(master, &entrance{}, 1)
	if err != nil {
		return err
	}
	defer c.http.CloseIdleConnections()
	for {
		u.steps++
		method, body := http.MethodPut, fmt.Appendf(nil,
			`{"id":%q,"labels":{"step":"%d"},"networks":[{"mode":"host"}],"containers":[{"name":"a","resources":{"cpus":1,"mem":32}}]}`, u.id, u.steps)
		u.perhaps = strconv.Itoa(u.steps)
		if u.steps%5 == 0 && u.sure != "" {
			method, body, u.perhaps = http.MethodDelete, nil, ""
		}
		answer, err := c.ask(context.Background(), method, "/v2/pods"+u.id, nil, body)
		if answer.status == 0 {
			return nil // gone, and whether it was done nobody knows
		}
		if err != nil {
			return err
		}
		u.sure = u.perhaps
		answered <- struct{}{}
	}
}

// finds takes what is there after a crash for what was done, if that may be.
func (u *podUser) finds(step string) error {
	if step != u.sure && step != u.perhaps {
		return fmt.Errorf("pod %s is at step %q; acknowledged was %q, under way %q", u.id, step, u.sure, u.perhaps)
	}
	u.sure = step
	return nil
}

type podDefined struct {
	ID     string
	Labels map[string]string
}

// podsDefinedAt is the step of each pod that a master has.
func podsDefinedAt(t *testing.T, url string) map[string]string {
	t.Helper()
	steps := map[string]string{}
	for _, p := range answerOf[[]podDefined](t, url+"/v2/pods") {
		steps[p.ID] = p.Labels["step"]
	}
	return steps
}
