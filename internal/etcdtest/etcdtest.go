// Package etcdtest runs etcd for tests: the real program, on a directory of its own.
package etcdtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Server is a member of an etcd, mostly the only one.
type Server struct {
	URL string

	name, dir     string
	peer, cluster string
	flags         []string
	cmd           *exec.Cmd
	said          *bytes.Buffer
}

// Start runs etcd with flags beside those it needs, until the test ends. A test
// is skipped where there is no etcd (Debian: etcd-server).
func Start(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	s, err := start(tb.TempDir(), flags)
	if err != nil {
		tb.Skip(err)
	}
	tb.Cleanup(s.kill)
	s.wait(tb)
	return s
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared is one server for all tests of a package, each of which keeps to a prefix
// of its own. Main ends it.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	shared.once.Do(func() {
		var dir string
		if dir, shared.err = os.MkdirTemp("", "etcdtest"); shared.err == nil {
			shared.server, shared.err = start(dir, nil)
		}
	})
	if shared.err != nil {
		tb.Skip(shared.err)
	}
	shared.server.wait(tb)
	return shared.server
}

// Main runs the tests of a package that uses Shared.
func Main(m *testing.M) {
	code := m.Run()
	if s := shared.server; s != nil {
		s.kill()
		os.RemoveAll(s.dir)
	}
	os.Exit(code)
}

// StartThree runs a cluster of three members until the test ends.
func StartThree(tb testing.TB, flags ...string) []*Server {
	tb.Helper()
	var all []*Server
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, newServer(name, tb.TempDir(), flags))
	}
	for _, s := range all {
		s.cluster = fmt.Sprintf("a=%s,b=%s,c=%s", all[0].peer, all[1].peer, all[2].peer)
		if err := s.run(); err != nil {
			tb.Skip(err)
		}
		tb.Cleanup(s.kill)
	}
	for _, s := range all {
		s.wait(tb)
	}
	return all
}

func start(dir string, flags []string) (*Server, error) {
	s := newServer("a", dir, flags)
	return s, s.run()
}

func newServer(name, dir string, flags []string) *Server {
	s := &Server{URL: "http://" + freePort(), name: name, dir: dir, peer: "http://" + freePort(), flags: flags}
	s.cluster = name + "=" + s.peer
	return s
}

func (s *Server) run() error {
	program, err := exec.LookPath("etcd")
	if err != nil {
		return fmt.Errorf("this test needs etcd (Debian: apt-get install etcd-server): %w", err)
	}
	s.said = new(bytes.Buffer)
	s.cmd = exec.Command(program, append([]string{
		"--name", s.name, "--data-dir", filepath.Join(s.dir, "data"), "--log-level", "error", "--logger", "zap",
		"--listen-client-urls", s.URL, "--advertise-client-urls", s.URL,
		"--listen-peer-urls", s.peer, "--initial-advertise-peer-urls", s.peer, "--initial-cluster", s.cluster,
	}, s.flags...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	s.cmd.SysProcAttr = dieWithParent()
	return s.cmd.Start()
}

// freePort is an address that nobody listens on.
func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()
	return l.Addr().String()
}

// wait waits until the server answers.
func (s *Server) wait(tb testing.TB) {
	tb.Helper()
	c := s.Client(tb)
	for begun := time.Now(); ; {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		_, err := c.Get(ctx, "ready")
		cancel()
		if err == nil {
			return
		}
		if time.Since(begun) > 30*time.Second {
			tb.Fatalf("etcd does not answer: %v\n%s", err, s.said)
		}
		time.Sleep(20 * time.Millisecond) // the process tells nobody when it is ready
	}
}

// Client is a new client, closed when the test ends.
func (s *Server) Client(tb testing.TB) *clientv3.Client {
	tb.Helper()
	return ClientOf(tb, s)
}

// ClientOf asks any of these members.
func ClientOf(tb testing.TB, members ...*Server) *clientv3.Client {
	tb.Helper()
	var urls []string
	for _, s := range members {
		urls = append(urls, s.URL)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: urls, DialTimeout: 2 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// Pause stops the server as it is, without an end.
func (s *Server) Pause() { s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (s *Server) Resume() { s.cmd.Process.Signal(syscall.SIGCONT) }

// Restart kills the server and starts it again on what it had.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.Kill()
	s.Run(tb)
	s.wait(tb)
}

// Kill ends the server as a crash would.
func (s *Server) Kill() { s.kill() }

// Run starts it again on what it had, and does not wait.
func (s *Server) Run(tb testing.TB) {
	tb.Helper()
	if err := s.run(); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) kill() {
	if s.cmd.Process != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}
