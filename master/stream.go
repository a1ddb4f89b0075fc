package master

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/link"
	"github.com/eaba02dc/registrar/registry"
)

// Stream is one connection of one agent.
type Stream struct {
	master  *Master
	address string
	wake    func()

	id         registry.AgentID // set before generation
	generation atomic.Uint64    // of the link; 0 until the agent is a member
	closed     atomic.Bool
	heard      atomic.Int64 // when something came last, by the age of the master
	held       atomic.Bool  // Receive waits for the loop: nothing can be heard
	slot       slot         // of the pulse, which guards it

	receiving sync.Mutex    // holds calls in their order
	sequence  uint64        // of the last call
	turns     chan struct{} // a place for each call that may wait for the loop

	mu     sync.Mutex
	events []wire.Event // that wait, but for those that stand below
	ack    uint64       // the last that waits to be told, or 0
	beat   bool         // a heartbeat waits
	last   wire.Event   // comes after all others
	over   bool         // nothing is added any more
	asleep bool         // Next had nothing
	sent   time.Duration
	ended  chan struct{}
}

// maxEvents is how many events wait for a reader before it is taken for dead.
// Acks and heartbeats are not among them: of each, one waits at most.
const maxEvents = 64

// maxTurns is how many calls of one stream wait for the loop: one that has much to
// say does not keep the others from being heard.
const maxTurns = 16

// slowReader is why a stream was ended whose reader took no events.
const slowReader = link.Reason("too many events wait to be read")

// Subscribe begins the stream of an agent that said this first, and keeps call.
// It returns when the agent is a member, and that can be seen; the stream's first
// event is Subscribed. address is where it connects from; wake is called, from
// any goroutine, when the stream has events to take after it had none, and when
// it has ended; it must not block.
//
// An error is one of these: [ErrNotNow], [ErrFull], [ErrEnded] or the end of ctx,
// after which the agent tries again; a [*GoneError], and it is not to come back; an
// [*ops.IncarnationError], when two machines claim one ID; or one that has a
// [*registry.FieldError], and it is to say something else.
func (m *Master) Subscribe(ctx context.Context, call *wire.Subscribe, address string, wake func()) (*Stream, error) {
	if call.AgentID != "" && call.Agent.ID != "" && call.AgentID != call.Agent.ID {
		return nil, &registry.FieldError{Field: "subscribe.agent_info.id", Reason: "is not that of subscribe.agent_id"}
	}
	s := &Stream{master: m, address: address, wake: wake, sequence: call.Sequence, asleep: true,
		turns: make(chan struct{}, maxTurns), ended: make(chan struct{})}
	s.live()
	err := m.do(ctx, func(l *loop, answer func(error)) { l.subscribe(s, call, answer) })
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// AgentID is the ID of the agent.
func (s *Stream) AgentID() registry.AgentID { return s.id }

// Next takes the oldest event that is to be sent down, or returns false. Only
// one goroutine at a time may call it.
func (s *Stream) Next() (wire.Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.events) > 0:
		e := s.events[0]
		if s.events = s.events[1:]; len(s.events) == 0 {
			s.events = nil
		}
		return e, true
	case s.ack > 0:
		e := &wire.Ack{Sequence: s.ack}
		s.ack = 0
		return e, true
	case s.last != nil:
		e := s.last
		s.last = nil
		return e, true
	case s.beat && !s.over:
		s.beat = false
		return &wire.Heartbeat{}, true
	}
	s.asleep = true
	return nil, false
}

// Receive takes what came up the stream, and keeps it. Everything that comes is
// a sign of life. While there is too much to do, it waits. An error is the end of
// the stream: a [*wire.FieldError] for a number out of order, or [ErrEnded].
// What comes up a stream that has ended, or that another has taken the place
// of, changes nothing and is not acknowledged.
func (s *Stream) Receive(call wire.Call) error {
	s.live()
	s.receiving.Lock()
	defer s.receiving.Unlock()
	var sequence uint64
	switch call := call.(type) {
	case *wire.Heartbeat:
		s.master.traffic.heartbeats.Add(1)
		return nil
	case *wire.Unknown:
		if sequence = call.Sequence; sequence == 0 {
			return nil
		}
	case *wire.Update:
		s.master.traffic.updates.Add(1)
		sequence = call.Sequence
	case *wire.Unregister:
		s.master.traffic.unregisters.Add(1)
		sequence = call.Sequence
	default:
		return &wire.FieldError{Field: "type", Reason: "cannot be received on a stream that stands"}
	}
	if sequence <= s.sequence {
		return &wire.FieldError{Field: "sequence", Reason: fmt.Sprintf("is %d after %d", sequence, s.sequence)}
	}
	if over, err := s.isOver(); over {
		return err
	}
	if s.hand(func(l *loop) { l.receive(s, sequence, call) }) {
		s.sequence = sequence
		return nil
	}
	_, err := s.isOver()
	return err
}

// hand hands a call to the loop, unless the stream ends first.
func (s *Stream) hand(call func(*loop)) bool {
	return send(s, s.turns, struct{}{}) && send(s, s.master.calls, func(l *loop) {
		<-s.turns
		call(l)
	})
}

// send sends v, unless the stream ends first. While it waits, what else the agent
// says is not read; that is not the agent's silence.
func send[T any](s *Stream, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	default:
	}
	s.held.Store(true)
	defer func() { s.live(); s.held.Store(false) }()
	select {
	case to <- v:
		return true
	case <-s.ended:
	case <-s.master.done:
	}
	return false
}

// isOver says whether what comes up the stream is dropped.
func (s *Stream) isOver() (over bool, err error) {
	select {
	case <-s.master.done:
		return true, s.master.ended()
	default:
	}
	select {
	case <-s.ended:
		s.master.traffic.dropped.Add(1)
		return true, nil
	default:
		return false, nil
	}
}

func (s *Stream) live() { s.heard.Store(int64(s.master.now())) }

// lastHeard is when something came last, or now if nothing can be heard.
func (s *Stream) lastHeard(now time.Duration) time.Duration {
	if s.held.Load() { // before heard: after held, it is fresh
		return now
	}
	return time.Duration(s.heard.Load())
}

// Ended is closed when the master is done with the stream: no event comes after
// those that wait, and the connection is to be closed once they are sent.
func (s *Stream) Ended() <-chan struct{} { return s.ended }

// Close says that the connection is gone.
func (s *Stream) Close() { s.broke(link.Lost) }

// broke tells the loop, once, and only if the connection had become one.
func (s *Stream) broke(why link.Reason) {
	s.closed.Store(true)
	if g := s.generation.Load(); g != 0 {
		s.master.links.Break(string(s.id), g, why)
	}
}

// push adds an event. A reader that is too slow loses the stream.
func (s *Stream) push(e wire.Event) {
	s.add(func() { s.events = append(s.events, e) })
}

// acknowledge adds an Ack, in place of one that waits.
func (s *Stream) acknowledge(sequence uint64) {
	s.add(func() { s.ack = max(s.ack, sequence) })
}

// keepAlive adds a heartbeat if nothing was sent since then.
func (s *Stream) keepAlive(since time.Duration) {
	s.mu.Lock()
	idle := s.sent <= since
	s.mu.Unlock()
	if idle {
		s.add(func() { s.beat = true })
	}
}

func (s *Stream) add(change func()) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	change()
	s.sent = s.master.now()
	slow := len(s.events) > maxEvents
	wake := s.asleep
	s.asleep = false
	if slow {
		s.stopLocked()
	}
	s.mu.Unlock()
	if slow {
		s.broke(slowReader)
	}
	if wake {
		s.wake()
	}
}

// end adds the last event, if there is one, and ends the stream.
func (s *Stream) end(last wire.Event) {
	s.mu.Lock()
	wake := s.asleep && !s.over
	if !s.over {
		s.last, s.asleep = last, false
		s.stopLocked()
	}
	s.mu.Unlock()
	if wake {
		s.wake()
	}
}

func (s *Stream) stopLocked() {
	s.over = true
	close(s.ended)
}
