package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/internal/bench"
	"github.com/eaba02dc/registrar/internal/etcdtest"
)

// Masters on one etcd lead one after another: the leader is killed, stopped for
// longer than its lease, or told to end. What an agent was told is there at the
// next, and the one that was stopped ends when it may go on.
func TestLeadersFollowOneAnotherAndLoseNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("each leader that is gone costs a lease, two seconds at least")
	}
	const rounds = 4
	etcd := etcdtest.Start(t)
	ports := [2]string{freePort(t), freePort(t)}
	serve := func(i int) *process {
		return serveProcess(t, "--etcd", etcd.URL, "--etcd-lease", "2secs", "--port", ports[i%2])
	}
	url := func(i int) string { return "http://127.0.0.1:" + ports[i%2] }
	leader := serve(0)
	leader.ready(t)
	c := newCrowd(t)
	for round := range rounds {
		follower := serve(round + 1)
		follower.standsBy(t)
		for range crowdAgents / rounds {
			c.start(t, url(0), url(1))
		}
		for range 100 {
			c.somethingHappens(t)
		}
		sendsOn(t, url(round+1), url(round))
		stopped := false
		switch round % 3 {
		case 0:
			leader.kill(t)
		case 1:
			leader.cmd.Process.Signal(syscall.SIGSTOP)
			stopped = true
		default:
			leader.terminate(t)
		}
		members := c.told()
		follower.ready(t)
		c.areKnown(t, follower.url, members)
		if stopped {
			leader.cmd.Process.Signal(syscall.SIGCONT)
			var exit *exec.ExitError
			if err := leader.end(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(leader.trouble.String(), "leadership is over") {
				t.Errorf("the leader that was stopped ended with %v: %s", err, leader.trouble.String())
			}
		}
		if t.Failed() {
			t.Fatalf("in round %d; the new leader says: %s", round, follower.trouble.String())
		}
		leader = follower
	}
	want := c.finish(t)
	c.areHere(t, leader.url)
	if got := tasksAt(t, leader.url); !maps.Equal(got, want) {
		t.Errorf("%d tasks: %v\nacknowledged were %d: %v", len(got), got, len(want), want)
	}
	c.stop(t)
	leader.terminate(t)
}

func TestTakeoverIsMeasuredAndLeavesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a leader that is killed costs a lease")
	}
	etcd := etcdtest.Start(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "bench", "takeover", "--agents", "3", "--masters", "3", "--rounds", "1", "--lease", "2secs", "--etcd", etcd.URL, "--json")
	cmd.Args[0] = "regtool"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var report bench.TakeoverReport
	if err := json.Unmarshal(out, &report); err != nil || len(report.Results) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if row := report.Results[0]; row.Agents != 3 || row.LeaseSeconds != 2 || row.TakeoverSeconds <= 0 || row.WithoutSeconds <= row.TakeoverSeconds ||
		row.ReregisteredSeconds <= 0 || row.Writes == 0 || row.Lost != 0 || row.DoubleWrites != 0 {
		t.Errorf("the row is %+v", row)
	}
	left, err := etcd.Client(t).Get(t.Context(), "/regtool-bench-", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || len(left.Kvs) > 0 {
		t.Errorf("left behind are %v, %v", left, err)
	}
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// sendsOn checks that a master answers for itself, and sends on to the leader what
// only that can answer.
func sendsOn(t *testing.T, follower, leader string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{
		"/health": "200 ", "/flags": "200 ", "/state?slave_id=a": "307 " + leader + "/state?slave_id=a", "/redirect": "307 " + leader,
		"/ready": "503 ",
	} {
		resp, err := client.Get(follower + path)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		got := fmt.Sprint(resp.StatusCode, " ", strings.ReplaceAll(resp.Header.Get("Location"), "localhost", "127.0.0.1"))
		if got != want {
			t.Errorf("the follower answers %s with %s, want %s", path, got, want)
		}
	}
}

func TestEtcdFlagsAreHeldAgainstEachOther(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "etcd.yaml")
	for text, wrong := range map[string]string{
		"username: u\npassword: p4ss\n": "",
		"username: u\n":                 "a line \"username: …\"",
		"username: u\npasword: p4ss\n":  "a line \"username: …\"",
		"p4ss":                          "a line \"username: …\"",
	} {
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readEtcdCredentials(secret)
		if (err == nil) != (wrong == "") || err != nil && (!strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), "p4ss")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, c := range []struct{ args, says string }{
		{"", "needs --dir or --etcd"},
		{"--dir d --etcd http://a:1", "--dir and --etcd do not go together"},
		{"--etcd a:1", `--etcd "a:1": use a URL as`},
		{"--etcd http://u:p4ss@a:1", "use --etcd-credentials"},
		{"--etcd http://a:1 --etcd-cert c", "one needs the other"},
		{"--etcd http://a:1 --etcd-prefix p", "a slash at its end"},
		{"--etcd http://a:1 --etcd-lease 1secs", "2secs are needed"},
		{"--etcd http://a:1 --accept-loss", "--accept-loss is for"},
	} {
		code, _, stderr := call(t, t.Context(), append([]string{"serve"}, strings.Fields(c.args)...)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Contains(stderr, "p4ss") {
			t.Errorf("serve %s: exit code %d, %q; want 2, and %q", c.args, code, stderr, c.says)
		}
	}
}
