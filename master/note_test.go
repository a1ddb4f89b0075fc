package master

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// lines are what a master has logged, without the times.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// take takes what was logged since the last time.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.NewReplacer("level=", "", "msg=", "").Replace(l.buf.String())
	l.buf.Reset()
	all := strings.Split(text, "\n")
	return all[:len(all)-1]
}

func (l *lines) want(t *testing.T, want ...string) {
	t.Helper()
	if got := l.take(); !slices.Equal(got, want) {
		t.Errorf("logged\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestManyAgentsThatBreakAtOnceAreOneLine(t *testing.T) {
	var log lines
	o := Options{Logger: log.logger(), RemovalBudget: Budget{Share: 1}}
	inCluster(t, o, func(c *cluster) {
		var agents []*agent
		for i := range maxNotes + 1 {
			agents = append(agents, c.join(newcomer(fmt.Sprint("host-", i))))
		}
		log.take()
		resume := c.stall()
		for _, a := range agents {
			a.Close()
		}
		resume()
		var ids []registry.AgentID
		for _, a := range agents[:10] {
			ids = append(ids, a.id)
		}
		first := fmt.Sprintf("first=%q", fmt.Sprint(ids))
		log.want(t, `INFO "agents disconnected" count=11 `+first)
		release := c.gate.hold()
		c.pass(10 * time.Minute)
		resume = c.stall() // until all marks are durable
		release(nil)
		c.settle()
		resume()
		log.want(t, `WARN "agents are unreachable" count=11 `+first)
	})
}

func TestFewAgentsThatBreakAtOnceAreNamed(t *testing.T) {
	var log lines
	inCluster(t, Options{Logger: log.logger()}, func(c *cluster) {
		var agents []*agent
		var want []string
		for i := range maxNotes {
			a := c.join(newcomer(fmt.Sprint("host-", i)))
			agents = append(agents, a)
			want = append(want, fmt.Sprintf(`INFO "agent disconnected" agent=%s hostname=host-%d reason="connection lost"`, a.id, i))
		}
		log.take()
		resume := c.stall()
		for _, a := range agents {
			a.Close()
		}
		resume()
		log.want(t, want...)
	})
}

func TestNamesWithoutEndAreNotLoggedInFull(t *testing.T) {
	var log lines
	inCluster(t, Options{Logger: log.logger()}, func(c *cluster) {
		c.join(newcomer(strings.Repeat("h", 100_000))).breaks()
		for _, line := range log.take() {
			if len(line) > 1000 {
				c.Errorf("a line of %d bytes was logged", len(line))
			}
		}
	})
}

func TestNamesAreCutBetweenCharacters(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("é", 126):       strings.Repeat("é", 126),
		strings.Repeat("é", 127):       strings.Repeat("é", 126) + "…",
		"x" + strings.Repeat("é", 127): "x" + strings.Repeat("é", 126) + "…",
	} {
		if got := cut(text); got != want {
			t.Errorf("%d bytes are cut to %q, want %q", len(text), got, want)
		}
	}
}
