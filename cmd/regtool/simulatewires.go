package main

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// wires are the connections of a simulation, which can be disturbed.
type wires struct {
	mu  sync.Mutex
	all []*simWire
}

// simWire is a connection that may fall silent: what is written to it is lost,
// and nothing is read any more, but it stands.
type simWire struct {
	net.Conn
	of     *wires
	at     int // in of.all; -1 once it is closed
	silent atomic.Bool
}

func (w *wires) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &simWire{Conn: c, of: w, at: len(w.all)}
	w.all = append(w.all, s)
	return s, nil
}

// silence lets a share of the connections fall silent, and says how many.
func (w *wires) silence(share float64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int(share * float64(len(w.all)))
	for _, i := range rand.Perm(len(w.all))[:n] {
		w.all[i].silent.Store(true)
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
		if err != nil || !s.silent.Load() {
			return n, err
		}
	}
}

// Write implements [net.Conn].
func (s *simWire) Write(b []byte) (int, error) {
	if s.silent.Load() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// Close implements [net.Conn].
func (s *simWire) Close() error {
	s.of.mu.Lock()
	if s.at >= 0 {
		last := s.of.all[len(s.of.all)-1]
		s.of.all[s.at], last.at = last, s.at // s may be last
		s.of.all = s.of.all[:len(s.of.all)-1]
		s.at = -1
	}
	s.of.mu.Unlock()
	return s.Conn.Close()
}
