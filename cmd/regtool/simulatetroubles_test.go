package main

import (
	"errors"
	"net"
	"slices"
	"testing"
	"time"
)

func TestTroublesAreToldAtOnceAndThenNowAndThenWithHowManyHaveThem(t *testing.T) {
	var said []string
	s := &troubles{say: func(text string) { said = append(said, text) }}
	start := time.Unix(0, 0)
	refused, closed := errors.New("401"), errors.New("connection refused")
	s.meet(0, closed, start)
	s.meet(0, refused, start)
	s.meet(1, refused, start.Add(sayAgain-1))
	s.meet(2, closed, start.Add(sayAgain))
	s.over(0)
	s.over(1)
	s.meet(3, closed, start.Add(2*sayAgain))
	want := []string{"1 failed last with: connection refused", "2 failed last with: 401", "2 failed last with: connection refused"}
	if !slices.Equal(said, want) {
		t.Errorf("it said %q, want %q", said, want)
	}
	s.over(2)
	s.over(3)
	if got := s.worst(); got != "" {
		t.Errorf("with all registered there is %q", got)
	}
}

func TestBrokenConnectionsAreOneTroubleWhateverTheirPorts(t *testing.T) {
	s := &troubles{say: func(string) {}}
	for agent, port := range []int{40001, 40002} {
		here, there := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5050}
		s.meet(agent, &net.OpError{Op: "read", Net: "tcp", Source: here, Addr: there, Err: errors.New("reset")}, time.Unix(0, 0))
	}
	if got, want := s.worst(), "2 failed last with: read tcp 127.0.0.1:5050: reset"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
