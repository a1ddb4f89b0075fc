package link_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/master/link"
)

// These tests have a master and an agent in two network namespaces, with a
// cable between them and real TCP over it. The test binary runs itself twice
// again: once as the master's world, and from there as the agent.
const (
	roleEnv    = "REGISTRAR_LINK_ROLE" // "world" or "agent"
	masterIP   = "10.77.0.1"
	agentIP    = "10.77.0.2"
	masterPort = ":5050"
	beat       = 20 * time.Millisecond
	deadline   = time.Second // of this test: silence for so long is a loss
)

// inWorld runs the rest of the test in a network namespace of its own. It
// returns false in the process that only starts that one.
func inWorld(t *testing.T) bool {
	t.Helper()
	switch os.Getenv(roleEnv) {
	case "agent":
		beAgent(t)
		return false
	case "world":
		return true
	}
	cable := again(t, "world", syscall.CLONE_NEWUSER, "ip", "link", "add", "m0", "type", "veth", "peer", "name", "a0")
	if out, err := cable.CombinedOutput(); err != nil {
		t.Skipf("two network namespaces cannot be made: %v %s", err, out)
	}
	cmd := again(t, "world", syscall.CLONE_NEWUSER, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("in a network namespace: %v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
	return false
}

// again is a command in a new network namespace, where it may do as root does.
func again(t *testing.T, role string, flags uintptr, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}

// beAgent connects, and beats until it is killed. When its connection breaks it
// connects again; the silence of the master is enough, as for a real agent.
func beAgent(t *testing.T) {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil { // the cable is there now
		t.Fatal(err)
	}
	ip(t, "addr", "add", agentIP+"/24", "dev", "a0")
	ip(t, "link", "set", "a0", "up")
	dial := net.Dialer{Timeout: deadline}
	for t.Context().Err() == nil {
		conn, err := dial.DialContext(t.Context(), "tcp", masterIP+masterPort)
		if err != nil {
			continue
		}
		go echoBeats(conn)
		_, _ = io.Copy(io.Discard, deadlineReader{conn})
		conn.Close()
	}
}

func echoBeats(conn net.Conn) {
	for range time.Tick(beat) {
		if _, err := conn.Write([]byte{'.'}); err != nil {
			return
		}
	}
}

// deadlineReader ends with an error once nothing has come for too long.
type deadlineReader struct{ net.Conn }

func (r deadlineReader) Read(p []byte) (int, error) {
	if err := r.SetReadDeadline(time.Now().Add(deadline)); err != nil {
		return 0, err
	}
	return r.Conn.Read(p)
}

// world is the master's side.
type world struct {
	t      *testing.T
	table  *link.Table
	inbox  *link.Inbox
	master *link.Process
	listen net.Listener
	agent  *exec.Cmd
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	w.table, w.inbox, w.master = newMaster()
	w.agent = again(t, "agent", 0, os.Args[0], "-test.run=^"+t.Name()+"$")
	w.agent.Stderr = os.Stderr
	ready, err := w.agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.kill)
	ip(t, "link", "add", "m0", "type", "veth", "peer", "name", "a0", "netns", strconv.Itoa(w.agent.Process.Pid))
	ip(t, "addr", "add", masterIP+"/24", "dev", "m0")
	ip(t, "link", "set", "m0", "up")
	if w.listen, err = net.Listen("tcp", masterIP+masterPort); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.listen.Close() })
	if _, err := ready.Write([]byte{'\n'}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) kill() {
	if w.agent.ProcessState == nil {
		_ = w.agent.Process.Kill()
		_ = w.agent.Wait() // "signal: killed" is what was asked for
	}
}

// stream is one connection of the agent, bound to a link.
type stream struct {
	generation uint64
	ended      chan error // what ended it, after its link was broken
}

// accept waits for the agent, links to it, and lets the stream break the link:
// all that a master must do.
func (w *world) accept() stream {
	w.t.Helper()
	conn, err := w.listen.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	s := stream{generation: w.table.Connect(agentIP), ended: make(chan error, 1)}
	if !w.master.LinkAt(agentIP, "agent") {
		w.t.Fatal("the agent is connected and cannot be linked to")
	}
	go echoBeats(conn)
	if _, err := (deadlineReader{conn}).Read(make([]byte, 1)); err != nil {
		w.t.Fatalf("no heartbeat arrived: %v", err)
	}
	go func() {
		_, err := io.Copy(io.Discard, deadlineReader{conn})
		conn.Close()
		w.table.Break(agentIP, s.generation, link.Lost)
		w.table.Break(agentIP, s.generation, link.Lost) // a second detector is late
		s.ended <- err
	}()
	return s
}

// wantOneNotice waits for the notice of a stream and for the end of the stream,
// then looks for a second one.
func (w *world) wantOneNotice(s stream) (cause error) {
	w.t.Helper()
	<-w.inbox.Ready()
	cause = <-s.ended
	n, ok := w.inbox.Next()
	if !ok || n.Linker != w.master || n.Address != agentIP || n.Linkee != "agent" || n.Generation != s.generation || n.Reason != link.Lost {
		w.t.Errorf("notice is %+v, %v, want one of generation %d", n, ok, s.generation)
	}
	if n, ok := w.inbox.Next(); ok {
		w.t.Errorf("a second notice came: %+v", n)
	}
	return cause
}

// TestNamespacesDroppedPackets: the cable is cut, so no FIN and no RST comes,
// and the heartbeat deadline breaks the link. When the cable is whole again the
// agent comes back as a newer generation, which the old one does not hit.
func TestNamespacesDroppedPackets(t *testing.T) {
	if !inWorld(t) {
		return
	}
	w := newWorld(t)
	first := w.accept()
	ip(t, "link", "set", "m0", "down")
	if cause := w.wantOneNotice(first); !errors.Is(cause, os.ErrDeadlineExceeded) {
		t.Errorf("the stream ended with %v, want only silence", cause)
	}
	ip(t, "link", "set", "m0", "up")
	second := w.accept()
	want(t, "a late break of the old connection", w.table.Break(agentIP, first.generation, link.Lost), false)
	if n, ok := w.inbox.Next(); ok {
		t.Errorf("the old connection hit the new one: %+v", n)
	}
	w.kill()
	_ = w.wantOneNotice(second) // how it ended is the other test's concern
}

// TestNamespacesKilledAgent: the kernel closes what a killed process had open,
// so the notice needs no deadline.
func TestNamespacesKilledAgent(t *testing.T) {
	if !inWorld(t) {
		return
	}
	w := newWorld(t)
	s := w.accept()
	w.kill()
	if cause := w.wantOneNotice(s); errors.Is(cause, os.ErrDeadlineExceeded) {
		t.Errorf("the stream ended with %v, want the end of the connection", cause)
	}
}
