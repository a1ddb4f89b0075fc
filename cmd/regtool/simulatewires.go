package main

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wires are the connections of a simulation, which can be disturbed.
type wires struct {
	mu       sync.Mutex
	cables   []*cable
	all      []*simWire
	standing []net.Conn // whose end the other side cannot learn of
}

// cable is what an agent connects by. One that is cut stays so: what is written
// is lost, nothing is read any more, and no new connection comes about; but
// those that there are stand.
type cable struct {
	of  *wires
	cut atomic.Bool
}

// simWire is a connection.
type simWire struct {
	net.Conn
	by *cable
	at int // in by.of.all; -1 once it is closed
}

// lay returns a cable for one more agent.
func (w *wires) lay() *cable {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &cable{of: w}
	w.cables = append(w.cables, c)
	return c
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.cut.Load() {
		<-ctx.Done() // nobody answers
		return nil, context.Cause(ctx)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w := c.of
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &simWire{Conn: conn, by: c, at: len(w.all)}
	w.all = append(w.all, s)
	return s, nil
}

// silence cuts the cables of a share of the agents, and says how many.
func (w *wires) silence(share float64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int(math.Round(share * float64(len(w.cables))))
	for _, i := range rand.Perm(len(w.cables))[:n] {
		w.cables[i].cut.Store(true)
	}
	return n
}

// breakOne closes one of the connections, as pick chooses.
func (w *wires) breakOne(pick func(int) int) {
	w.mu.Lock()
	if len(w.all) == 0 {
		w.mu.Unlock()
		return
	}
	s := w.all[pick(len(w.all))]
	w.mu.Unlock()
	s.Close()
}

// Read implements [net.Conn].
func (s *simWire) Read(b []byte) (int, error) {
	for {
		n, err := s.Conn.Read(b)
		if err != nil || !s.by.cut.Load() {
			return n, err
		}
	}
}

// Write implements [net.Conn].
func (s *simWire) Write(b []byte) (int, error) {
	if s.by.cut.Load() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// Close implements [net.Conn]. Through a cable that is cut the other side does
// not hear of it.
func (s *simWire) Close() error {
	w := s.by.of
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.at >= 0 {
		last := w.all[len(w.all)-1]
		w.all[s.at], last.at = last, s.at // s may be last
		w.all = w.all[:len(w.all)-1]
		s.at = -1
		if s.by.cut.Load() {
			w.standing = append(w.standing, s.Conn)
		}
	}
	if s.by.cut.Load() {
		return s.SetDeadline(time.Unix(1, 0)) // ends what is under way
	}
	return s.Conn.Close()
}

// hangUp closes what stands in the end.
func (w *wires) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.standing {
		c.Close()
	}
	w.standing = nil
}
