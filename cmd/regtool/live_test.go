package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// TestARunningMasterIsReadThroughItsSocket has every command that reads work on
// the directory of a master that runs, that was killed, and that runs again.
func TestARunningMasterIsReadThroughItsSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/registry"
	seed(t, dir)
	m := serveProcess(t, "--dir", dir, "--port", "0")
	m.ready(t)
	socket, err := os.Lstat(filepath.Join(dir, "SOCKET"))
	if err != nil || socket.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("the socket is %v, %v", socket, err)
	}
	readsAll(t, dir, m.cmd.Process.Pid)

	m.kill(t)
	if _, err := os.Lstat(filepath.Join(dir, "SOCKET")); err != nil {
		t.Fatalf("a killed master leaves its socket: %v", err)
	}
	before := tree(t, dir)
	readsAll(t, dir, 0)
	if after := tree(t, dir); after != before {
		t.Errorf("reading has changed the directory:\n%s\nwas\n%s", after, before)
	}

	m = serveProcess(t, "--dir", dir, "--port", "0") // takes the socket over
	m.ready(t)
	readsAll(t, dir, m.cmd.Process.Pid)
	m.terminate(t)
	if _, err := os.Lstat(filepath.Join(dir, "SOCKET")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a master that has ended leaves its socket: %v", err)
	}
	readsAll(t, dir, 0)
}

// seed makes a registry with an agent and a key.
func seed(t *testing.T, dir string) {
	t.Helper()
	l, err := wal.Create(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := registrar.Open(t.Context(), l, registrar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	admit(t, r, "a1")
	if _, err := r.Apply(t.Context(), ops.Put{Table: "jobs", Key: "j1", Value: "queued"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func admit(t *testing.T, r *registrar.Registrar, id registry.AgentID) {
	t.Helper()
	if _, err := r.Apply(t.Context(), ops.Admit{Agent: registry.Agent{ID: id, Hostname: "host-1"}}); err != nil {
		t.Fatal(err)
	}
}

var readLive = regexp.MustCompile(`(?m)^regtool [a-z ]+: read live from process (\d+) at revision \d+, [0-9.]+[mµn]?s ago \(.*\)$`)

// readsAll calls each command that reads. pid is whom it reads from, or 0 where
// it opens the files.
func readsAll(t *testing.T, dir string, pid int) {
	t.Helper()
	backup := filepath.Join(t.TempDir(), "backup")
	for _, c := range []struct {
		says string
		args []string
	}{
		{`"admitted": 1`, []string{"inspect", "--json", "--dir", dir}},
		{"a1", []string{"inspect", "agents", "--dir", dir}},
		{"a1", []string{"inspect", "agents", "--dir", dir, "--at", "1"}},
		{"jobs", []string{"log", "--dir", dir}},
		{"sound", []string{"check", "--dir", dir}},
		{"sound", []string{"check", "--deep", "--dir", dir}},
		{"a1", []string{"export", "--format", "ndjson", "--dir", dir}},
		{"j1", []string{"diff", dir + "@1", dir}},
		{"queued", []string{"get", "--dir", dir, "jobs", "j1"}},
		{"queued", []string{"scan", "--dir", dir, "jobs"}},
		{"state", []string{"status", "--dir", dir}},
		{"", []string{"backup", "--dir", dir, backup}},
	} {
		code, stdout, stderr := call(t, t.Context(), c.args...)
		if code != exitFine || !strings.Contains(stdout, c.says) {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", c.args, code, stdout, stderr)
		}
		from := readLive.FindStringSubmatch(stderr)
		switch {
		case pid == 0 && stderr != "":
			t.Errorf("%v of files says on stderr: %q", c.args, stderr)
		case pid != 0 && (from == nil || from[1] != strconv.Itoa(pid)):
			t.Errorf("%v of process %d says on stderr: %q", c.args, pid, stderr)
		}
	}
	if code, stdout, stderr := call(t, t.Context(), "verify", backup); code != exitFine {
		t.Errorf("the backup: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestLogFollowsAProcess: what a process writes is told while it has the registry
// open, and what the next one writes after it.
func TestLogFollowsAProcess(t *testing.T) {
	dir, l := newStore(t)
	r, err := registrar.Open(t.Context(), l, registrar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int)
	go func() { code <- run(ctx, []string{"log", "--dir", dir, "--follow"}, nil, in, io.Discard) }()
	lines := bufio.NewScanner(out)
	wantLine(t, lines, "REVISION")
	admit(t, r, "a1")
	wantLine(t, lines, "a1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for l, err = wal.Open(dir, wal.Options{}); errors.Is(err, wal.ErrLocked); { // again while the follower reads
		l, err = wal.Open(dir, wal.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err = registrar.Open(t.Context(), l, registrar.Options{}); err != nil {
		t.Fatal(err)
	}
	admit(t, r, "a2")
	wantLine(t, lines, "a2")
	cancel()
	if got := <-code; got != exitFine {
		t.Errorf("interrupted, it exits with %d", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestARegistryThatNobodyMayReadSaysWhatToDo: a process may keep others out.
func TestARegistryThatNobodyMayReadSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/registry"
	seed(t, dir)
	m := serveProcess(t, "--dir", dir, "--port", "0")
	m.ready(t)
	m.kill(t) // its socket is still there
	m = serveProcess(t, "--dir", dir, "--port", "0", "--socket=false")
	m.ready(t)
	for _, args := range [][]string{{"inspect"}, {"check"}, {"log"}, {"scan"}, {"status"}} {
		code, stdout, stderr := call(t, t.Context(), append(args, "--dir", dir)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, "no process lets it be read") || !strings.Contains(stderr, "--socket=false") {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	m.terminate(t)
}

// TestAFileByTheNameOfTheSocketIsLeftAlone: what somebody has put there stays.
func TestAFileByTheNameOfTheSocketIsLeftAlone(t *testing.T) {
	dir := t.TempDir() + "/registry"
	seed(t, dir)
	socket := filepath.Join(dir, "SOCKET")
	if err := os.WriteFile(socket, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := wal.Open(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call(t, t.Context(), "inspect", "--dir", dir)
	if code != exitFailed || !strings.Contains(stderr, "the store is in use") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(socket); err != nil || string(text) != "mine" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// TestASocketOfAnotherProcessDoesNotMislead: what listens in a directory that
// nobody has open is not asked.
func TestASocketOfAnotherProcessDoesNotMislead(t *testing.T) {
	dir := t.TempDir() + "/registry"
	seed(t, dir)
	l, err := net.Listen("unix", filepath.Join(dir, "SOCKET"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	readsAll(t, dir, 0)
}

// TestAMasterWhoseDirectoryIsMovedEnds though nobody writes to it.
func TestAMasterWhoseDirectoryIsMovedEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/registry"
	m := serveProcess(t, "--dir", dir, "--port", "0", "--agent-ping-timeout", "1secs")
	m.ready(t)
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := m.end(); err == nil || !strings.Contains(m.trouble.String(), "put the same directory back before you start again") {
		t.Errorf("it ended with %v and said %s", err, m.trouble.String())
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has made %s again: %v", dir, err)
	}
	if code, stdout, stderr := call(t, t.Context(), "check", "--dir", dir+"-moved"); code != exitFine {
		t.Errorf("what was moved: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
