package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// troubles are the last errors of agents that have not registered yet, and tell
// why they do not get in: the first at once, further ones now and then.
type troubles struct {
	say func(text string) // set before the first

	mu     sync.Mutex
	last   map[int]string // by agent
	counts map[string]int // of last, by text; no zeros
	said   time.Time
}

// sayAgain is how long troubles stay unsaid once one was told.
const sayAgain = 5 * time.Second

// meet notes what went wrong for an agent.
func (t *troubles) meet(agent int, err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(agent)
	if t.last == nil {
		t.last, t.counts = map[int]string{}, map[string]int{}
	}
	text := withoutPort(err)
	t.last[agent] = text
	t.counts[text]++
	if t.said.IsZero() || now.Sub(t.said) >= sayAgain {
		t.said = now
		t.say(t.most())
	}
}

// over notes that an agent has registered.
func (t *troubles) over(agent int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(agent)
}

func (t *troubles) forget(agent int) {
	text, ok := t.last[agent]
	if !ok {
		return
	}
	delete(t.last, agent)
	if t.counts[text]--; t.counts[text] == 0 {
		delete(t.counts, text)
	}
}

// worst is what most of those that are not in have failed with, or "".
func (t *troubles) worst() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most()
}

func (t *troubles) most() string {
	var text string
	for other, n := range t.counts {
		if n > t.counts[text] || n == t.counts[text] && other < text {
			text = other
		}
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%d failed last with: %s", t.counts[text], text)
}

// withoutPort is an error without the port of this side, which no two agents
// share.
func withoutPort(err error) string {
	text := err.Error()
	var op *net.OpError
	if errors.As(err, &op) && op.Source != nil {
		text = strings.ReplaceAll(text, op.Source.String()+"->", "")
	}
	return text
}
