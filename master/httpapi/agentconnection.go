package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

var errStreamEnded = errors.New(streamIDHeader + ": the stream has ended: subscribe again")

// agentStream is a subscription and its connection. Its handler reads; who
// writes is a goroutine that is there only while there are events, for most of
// 100,000 agents have nothing to be told at any moment.
type agentStream struct {
	Subscription
	w        http.ResponseWriter
	control  *http.ResponseController
	encoding wire.Encoding
	timeout  time.Duration // of a write
	log      *slog.Logger
	address  string
	agent    registry.AgentID // as far as it is known; the writer's
	done     context.Context  // ends when nothing more will be written
	stop     context.CancelFunc

	calling   sync.Mutex // held by a request that sends calls of the stream
	receiving sync.Mutex // held during Receive, which is for one call at a time
	closed    bool       // no Receive any more; guarded by receiving

	mu      sync.Mutex     // guards what follows, and when reading ends
	writing bool           // somebody writes, or start will; only under it does done end
	woken   bool           // since the writer last looked
	over    bool           // no writer is started any more
	last    wire.Event     // what ends the stream when all events before it are sent
	writers sync.WaitGroup // one at most
}

// wake starts a writer, if there is none.
func (s *agentStream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = true
	if !s.writing && !s.over {
		s.writing = true
		s.writers.Go(s.write)
	}
}

// start writes the header, and what the master had to say meanwhile.
func (s *agentStream) start() {
	s.writers.Go(func() {
		s.control.SetWriteDeadline(time.Now().Add(s.timeout))
		s.w.WriteHeader(http.StatusOK)
		if s.control.Flush() != nil {
			s.finish(time.Now())
			return
		}
		s.write()
	})
}

func (s *agentStream) write() {
	out := wire.NewWriter(s.w)
	for {
		event, ok := s.take()
		if !ok {
			return
		}
		s.control.SetWriteDeadline(time.Now().Add(s.timeout))
		event, err := s.say(out, event)
		if err != nil || s.control.Flush() != nil {
			s.finish(time.Now())
			return
		}
		switch event.(type) {
		case *wire.Shutdown, *wire.Error:
			s.finish(time.Now().Add(linger))
			return
		}
	}
}

// say writes an event, and returns it. In the place of one that has no encoding
// it says so, which ends the stream.
func (s *agentStream) say(out *wire.Writer, event wire.Event) (said wire.Event, err error) {
	if subscribed, ok := event.(*wire.Subscribed); ok {
		s.agent = subscribed.AgentID
	}
	err = out.Event(s.encoding, event)
	var field *wire.FieldError
	if !errors.As(err, &field) {
		return event, err
	}
	s.log.Error("an event of the master cannot be said, so the agent is cut off",
		"agent", string(s.agent), "address", s.address, "event", fmt.Sprintf("%T", event), "err", err)
	event = &wire.Error{Message: "an event of the master cannot be said: " + err.Error()}
	return event, out.Event(s.encoding, event)
}

// take finds the next event. If there is none the writer is done.
func (s *agentStream) take() (wire.Event, bool) {
	for {
		s.mu.Lock()
		s.woken = false
		last := s.last
		s.mu.Unlock()
		ended := isClosed(s.Ended()) // before Next, which may have one more until then
		if event, ok := s.Next(); ok {
			return event, true
		}
		if last != nil {
			return last, true
		}
		if ended {
			s.finish(time.Now().Add(linger))
			return nil, false
		}
		s.mu.Lock()
		if !s.woken {
			s.writing = false
			s.mu.Unlock()
			return nil, false
		}
		s.mu.Unlock()
	}
}

// finish is the writer's end: it stays s.writing, so that there is no other, and
// tells the handler, which may be reading.
func (s *agentStream) finish(readUntil time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.control.SetReadDeadline(readUntil)
}

// readUntil says how long reading may take, unless the writer has.
func (s *agentStream) readUntil(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done.Err() == nil {
		s.control.SetReadDeadline(t)
	}
}

// end lets the stream end with an event.
func (s *agentStream) end(with wire.Event) {
	s.mu.Lock()
	s.last = with
	s.mu.Unlock()
	s.wake()
}

// receiveAll hands on what comes up, until nothing does any more, which is nil,
// or until something is of no use.
func (h *agentStreams) receiveAll(s *agentStream, records *wire.Reader, up wire.Encoding) error {
	for {
		record, give, err := h.next(s.done, records, s.readUntil)
		switch {
		case s.done.Err() != nil && err == nil:
			give()
			continue // nobody listens; see linger
		case s.done.Err() != nil, err == io.EOF:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errTooSlow
		case err != nil:
			return err
		}
		if len(record) > smallRecord {
			s.readUntil(time.Time{})
		}
		if err := s.receive(up, record, give); err != nil {
			return err
		}
	}
}

// receive hands on what a record says, and gives back the room for it.
func (s *agentStream) receive(up wire.Encoding, record []byte, give func()) error {
	defer give()
	call, err := wire.DecodeCall(up, record)
	if err != nil {
		return err
	}
	if _, ok := call.(*wire.Subscribe); ok {
		return &wire.FieldError{Field: "type", Reason: "is SUBSCRIBE, which only the first of a stream may be"}
	}
	Pack(call)
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if s.closed {
		return errStreamEnded
	}
	return s.Receive(call)
}

// wait waits until all is written or the agent is gone. A body that has ended
// does not end the stream: the agent may send its calls otherwise.
func (s *agentStream) wait(ctx context.Context) {
	ended := s.Ended()
	for {
		select {
		case <-s.done.Done():
			return
		case <-ctx.Done():
			return
		case <-ended:
			s.wake()
			ended = nil
		}
	}
}

// close ends what is left of the stream.
func (s *agentStream) close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	if s.done.Err() == nil {
		s.control.SetWriteDeadline(time.Now()) // the agent is gone: do not wait for it
	}
	s.writers.Wait()
	s.control.SetWriteDeadline(time.Now().Add(s.timeout)) // of what net/http has to write
	s.receiving.Lock()
	s.closed = true
	s.receiving.Unlock()
	s.Close()
}

// shutdown stands for the subscription that an agent does not get.
type shutdown struct{ reason string }

func (s *shutdown) Next() (wire.Event, bool) { return &wire.Shutdown{Reason: s.reason}, true }
func (*shutdown) Receive(wire.Call) error    { return nil }
func (*shutdown) Ended() <-chan struct{}     { return nil }
func (*shutdown) Close()                     {}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
