package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registry"
)

// TestAMasterLivesThroughAFullDisk has a master on a file system of its own, which
// somebody else fills and empties: what adds is refused meanwhile, surely not
// applied; members come back, and what removes is done; then all is as before.
func TestAMasterLivesThroughAFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a small file system cannot be mounted here (it takes root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	const full, low = 8 << 20, 16 << 20
	dir := filepath.Join(disk, "registry")
	m := serveProcess(t, "--dir", dir, "--port", "0",
		"--disk-full-below-bytes", strconv.Itoa(full), "--disk-low-below-bytes", strconv.Itoa(low))
	m.ready(t)
	c := &client{t: t, url: m.url, state: filepath.Join(t.TempDir(), "agent")}
	c.registers("member", c.state)
	c.puts("/before", http.StatusOK)
	isWell(t, m, dir, "")

	ballast := filepath.Join(disk, "ballast")
	leave(t, disk, ballast, full/2)
	isWell(t, m, dir, "disk_full")
	c.isRefused("newcomer")
	c.puts("/after", http.StatusServiceUnavailable)
	c.registers("member", c.state) // again
	c.does(http.MethodDelete, "/before", "", http.StatusAccepted)

	leave(t, disk, ballast, (full+low)/2)
	sawFree(t, m, full)
	isWell(t, m, dir, "disk_full") // it was not enough
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	isWell(t, m, dir, "")
	c.registers("newcomer", "")
	c.puts("/after", http.StatusOK)
	m.terminate(t)
	log := m.trouble.String()
	for _, line := range []string{"disk is full: ", "disk is no longer full"} {
		if n := strings.Count(log, line); n != 1 {
			t.Errorf("the log has %q %d times:\n%s", line, n, log)
		}
	}
	code, stdout, stderr := call(t, t.Context(), "inspect", "pods", "--dir", dir)
	if code != exitFine || !strings.Contains(stdout, "/after") || strings.Contains(stdout, "/before") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, stdout, _ := call(t, t.Context(), "check", "--deep", "--dir", dir); code != exitFine {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
}

// leave has a file take all that is free but so many bytes. It grows or shrinks to
// that: a master that looks meanwhile sees nothing else.
func leave(t *testing.T, disk, ballast string, bytes uint64) {
	t.Helper()
	f, err := os.OpenFile(ballast, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s syscall.Statfs_t
	if err := syscall.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	if free := s.Bavail * uint64(s.Bsize); free > bytes {
		_, err = f.Write(make([]byte, free-bytes))
	} else if info, e := f.Stat(); e != nil {
		err = e
	} else {
		err = f.Truncate(info.Size() - int64(bytes-free))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sawFree waits until the master has seen that more is free.
func sawFree(t *testing.T, m *process, than uint64) {
	t.Helper()
	err := eventually(func() error {
		_, stdout, _ := call(t, t.Context(), "status", "--json", "--master", m.url)
		var said httpapi.Readiness
		if err := json.Unmarshal([]byte(stdout), &said); err != nil {
			return err
		}
		if said.DiskFreeBytes <= than {
			return fmt.Errorf("it says that %d bytes are free", said.DiskFreeBytes)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isWell waits until everybody who can be asked says that the master is well, or
// that this is why it is not.
func isWell(t *testing.T, m *process, dir, reason string) {
	t.Helper()
	metric, want := `registrar_unhealthy{reason="disk_full"} 0`, exitFine
	if reason != "" {
		metric, want = fmt.Sprintf(`registrar_unhealthy{reason=%q} 1`, reason), exitFailed
	}
	err := eventually(func() error {
		for _, where := range []string{"--master=" + m.url, "--dir=" + dir} {
			code, stdout, stderr := call(t, t.Context(), "status", where)
			if code != want || reason != "" && !strings.Contains(stdout, reason) {
				return fmt.Errorf("status %s: exit code %d, want %d and %q: stdout %q, stderr %q", where, code, want, reason, stdout, stderr)
			}
		}
		text, err := ask(m.url + "/metrics")
		if err == nil && !strings.Contains(string(text), metric) {
			err = fmt.Errorf("there is no %s in /metrics", metric)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// client asks a master for what adds and what removes.
type client struct {
	t          *testing.T
	url, state string
}

// run has an agent until the master has acknowledged it, or has refused it.
func (c *client) run(name, state string) error {
	c.t.Helper()
	refused := make(chan error, 100)
	a, err := agent.New(agent.Options{
		Masters: []string{c.url}, Version: "1", Info: registry.Agent{Hostname: name}, StateFile: state, Backoff: 1,
		Error: func(err error) { refused <- err },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), longest)
	ended, synced := make(chan error, 1), make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	go func() { synced <- a.Synced(ctx) }()
	select {
	case err = <-synced:
	case err = <-refused:
	}
	cancel()
	<-ended
	return err
}

func (c *client) registers(name, state string) {
	c.t.Helper()
	if err := c.run(name, state); err != nil {
		c.t.Errorf("agent %s: %v", name, err)
	}
}

func (c *client) isRefused(name string) {
	c.t.Helper()
	var refused *agent.RefusedError
	if err := c.run(name, ""); !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable || !strings.Contains(refused.Message, "disk is full") {
		c.t.Errorf("agent %s hears %v", name, err)
	}
}

func (c *client) puts(pod string, want int) {
	c.t.Helper()
	body := fmt.Sprintf(`{"id":%q,"containers":[{"name":"c","resources":{"cpus":1,"mem":32}}]}`, pod)
	c.does(http.MethodPut, pod, body, want)
}

func (c *client) does(method, pod, body string, want int) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/v2/pods"+pod, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}).Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != want {
		c.t.Errorf("%s %s: %s, want %d", method, pod, answer.Status, want)
	}
}
