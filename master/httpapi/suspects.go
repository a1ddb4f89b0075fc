package httpapi

import (
	"container/list"
	"time"
)

const (
	// suspicion is how long an address stays a suspect after its last wrong password.
	suspicion = time.Minute
	// maxSuspects is how many there are at most: beyond them the one that has been
	// wrong least recently is none any more.
	maxSuspects = 4096
)

// suspects are the addresses that have given a wrong password lately.
type suspects struct {
	byAddress map[string]*list.Element
	order     list.List // of suspect, by when they were wrong
}

type suspect struct {
	address string
	wrong   time.Time
}

func newSuspects() suspects { return suspects{byAddress: map[string]*list.Element{}} }

func (s *suspects) has(address string) bool {
	for e := s.order.Front(); e != nil && time.Since(e.Value.(suspect).wrong) >= suspicion; e = s.order.Front() {
		s.remove(e.Value.(suspect).address)
	}
	return s.byAddress[address] != nil
}

func (s *suspects) add(address string) {
	s.remove(address)
	if len(s.byAddress) >= maxSuspects {
		s.remove(s.order.Front().Value.(suspect).address)
	}
	s.byAddress[address] = s.order.PushBack(suspect{address, time.Now()})
}

func (s *suspects) remove(address string) {
	if e := s.byAddress[address]; e != nil {
		s.order.Remove(e)
		delete(s.byAddress, address)
	}
}
