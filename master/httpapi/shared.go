package httpapi

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/eaba02dc/registrar/master"
)

const (
	// maxShared is how many different answers about one state are kept.
	maxShared = 256
	// maxIdle is how long what was rendered is kept while nobody asks.
	maxIdle = 5 * time.Minute
)

// shared are the answers about the latest state that somebody asked about: who
// asks the same of the same state gets the same answer, which is made once.
type shared struct {
	hits atomic.Uint64

	mu      sync.Mutex
	state   *master.State
	answers map[string]*reply // by path, parameters and view
	weight  int64             // of those that are made, in bytes that nobody else has
	idle    *time.Timer       // forgets all
}

// find finds an answer, or a place for one that make makes. A state that is older
// than the latest is of one who came before, and gets an answer of its own.
func (c *shared) find(s *master.State, key string) *reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == s:
	case c.state == nil || s.Version > c.state.Version || !s.Started.Equal(c.state.Started): // of a later master, perhaps
		c.state, c.answers, c.weight = s, map[string]*reply{}, 0
	default:
		return &reply{}
	}
	if c.idle == nil {
		c.idle = time.AfterFunc(maxIdle, c.forget)
	} else {
		c.idle.Reset(maxIdle)
	}
	if a := c.answers[key]; a != nil {
		c.hits.Add(1)
		return a
	}
	a := &reply{}
	if len(c.answers) < maxShared {
		c.answers[key] = a
	}
	return a
}

// weigh notes how much an answer takes, and does not keep it for others if they take
// more than most together.
func (c *shared) weigh(s *master.State, key string, bytes int, most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state != s:
	case c.weight+int64(bytes) > most:
		delete(c.answers, key)
	default:
		c.weight += int64(bytes)
	}
}

// forget drops what was rendered, until somebody asks again.
func (c *shared) forget() {
	c.mu.Lock()
	s := c.state
	c.state, c.answers = nil, nil
	c.mu.Unlock()
	if s != nil {
		forget(s)
	}
}
