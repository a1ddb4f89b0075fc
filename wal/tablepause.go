package wal

import (
	"sync"
	"time"
)

// tablePause makes Pebble wait before it makes a table after one that failed.
// By itself it tries again at once, thousands of times a second on a full disk,
// and makes and removes a file each time. The listener for its errors is no
// place for that: it is called with the lock held that readers need.
type tablePause struct {
	mu   sync.Mutex
	next time.Duration // 0: the last table was made
}

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second // so much later than the disk does Pebble recover
)

func (p *tablePause) failed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = min(max(firstPause, 2*p.next), lastPause)
}

func (p *tablePause) made() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = 0
}

func (p *tablePause) wait() {
	p.mu.Lock()
	next := p.next
	p.mu.Unlock()
	time.Sleep(next)
}
