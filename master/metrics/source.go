package metrics

import (
	"context"
	"sync"
)

// source is values that are pulled when somebody asks for them.
type source struct {
	names []string
	read  func(values []float64)
	quick bool // read never waits

	mu            sync.Mutex
	running, next *reading
}

// reading is what a source had to say once.
type reading struct {
	values []float64
	done   chan struct{}
}

// ask begins a reading, or joins one that is to begin. One that is under way may
// have looked before the asker's last change; so there are two at most, however
// long they take and however many ask.
func (s *source) ask() *reading {
	if s.quick {
		r := s.reading()
		s.read(r.values)
		close(r.done)
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = s.reading()
		go s.run(s.running)
		return s.running
	}
	if s.next == nil {
		s.next = s.reading()
	}
	return s.next
}

func (s *source) reading() *reading {
	return &reading{values: make([]float64, len(s.names)), done: make(chan struct{})}
}

// run reads until nobody waits any more.
func (s *source) run(r *reading) {
	for r != nil {
		s.read(r.values)
		close(r.done)
		s.mu.Lock()
		s.running, s.next = s.next, nil
		r = s.running
		s.mu.Unlock()
	}
}

// wait is what was read, or nil if ctx ends first.
func (r *reading) wait(ctx context.Context) []float64 {
	select {
	case <-r.done:
		return r.values
	default:
	}
	select {
	case <-r.done:
		return r.values
	case <-ctx.Done():
		return nil
	}
}
