package agent

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
)

const (
	maxHead      = 64 << 10 // bytes before the records down
	maxEvent     = 1 << 20  // bytes of a record down
	maxRedirects = 5        // one after another
	lineBuffer   = 512      // bytes; events are small, and there are many agents in a benchmark
)

// errLeft ends the stream of an agent that has unregistered.
var errLeft = errors.New("agent has left")

// redirect is the answer of a master that knows a better one.
type redirect struct{ to *url.URL }

func (r *redirect) Error() string { return "redirected to " + r.to.Redacted() }

// connect subscribes at a master or where that one points to, and stays until
// the stream ends. It reports whether the agent was a member meanwhile.
func (a *Agent) connect(ctx context.Context, master *url.URL) (member bool, err error) {
	for range maxRedirects + 1 {
		member, err = a.converse(ctx, master)
		var r *redirect
		if !errors.As(err, &r) {
			return member, err
		}
		master = r.to
	}
	return false, fmt.Errorf("subscribe: more than %d redirects, the last to %s", maxRedirects, master.Redacted())
}

// session is one connection to a master. Run's goroutine reads from it; who
// writes is a goroutine that is there only while there is something to write.
type session struct {
	a    *Agent
	conn net.Conn

	// The lock of the agent guards what follows.
	writing  bool // a goroutine does
	over     bool // nothing is written any more
	greeted  bool // SUBSCRIBE is on its way, or gone
	member   bool // SUBSCRIBED has come
	beat     bool // a heartbeat is due
	left     bool // UNREGISTER is on its way, or gone
	sequence uint64
	sent     []said
	unsaid   error       // why a call could not be said, which ended the connection
	pulse    *time.Timer // sets beat when nothing else was sent
	interval time.Duration

	writers sync.WaitGroup // one at most
}

// said is up to which version a record completes what the master was told.
type said struct{ sequence, version uint64 }

// converse holds one stream, from dialling to its end.
//
// It speaks HTTP by itself, as far as that is needed here: net/http's Transport
// takes two goroutines and 8 KiB of buffers for each connection.
func (a *Agent) converse(ctx context.Context, master *url.URL) (member bool, err error) {
	conn, err := a.dial(ctx, master)
	if err != nil {
		return false, fmt.Errorf("connect to %s: %w", master.Redacted(), err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	s := &session{a: a, conn: conn}
	defer s.close()
	s.begin(a.head(master))

	conn.SetReadDeadline(time.Now().Add(a.o.AnswerTimeout))
	answer, err := s.answer()
	if err != nil {
		return false, fmt.Errorf("subscribe at %s: %w", master.Redacted(), cmp.Or(s.broken(), err))
	}
	encoding, err := check(answer, master)
	if err != nil {
		a.refused(err)
		return false, err
	}
	err = s.listen(answer.Body, encoding)
	return s.member, cmp.Or(s.broken(), err)
}

// answer reads the head of the master's, after which the body may be as long as
// it likes.
func (s *session) answer() (*http.Response, error) {
	head := &io.LimitedReader{R: s.conn, N: maxHead}
	answer, err := http.ReadResponse(bufio.NewReaderSize(head, lineBuffer), nil)
	if err != nil && head.N == 0 {
		return nil, fmt.Errorf("the head of the answer has more than %d bytes", maxHead)
	}
	var network net.Error
	if err != nil && !errors.As(err, &network) {
		return nil, errors.New(wire.Shorten(err.Error())) // it quotes what came
	}
	if err != nil {
		return nil, err
	}
	head.N = math.MaxInt64
	return answer, nil
}

// refused goes on to the next incarnation that the agent may take the place of,
// if the master holds another.
func (a *Agent) refused(err error) {
	var refused *RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.refusals++
	}
}

// head is that of the request.
func (a *Agent) head(master *url.URL) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", master.RequestURI(), master.Host)
	fmt.Fprintf(&b, "Content-Type: %s\r\n", a.o.encoding().ContentType())
	if a.o.Username != "" {
		credentials := base64.StdEncoding.EncodeToString([]byte(a.o.Username + ":" + a.o.Password))
		fmt.Fprintf(&b, "Authorization: Basic %s\r\n", credentials)
	}
	// With Connection: close a server says no at once; it would wait for the end
	// of the body otherwise.
	b.WriteString("User-Agent: registrar-agent\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
	return []byte(b.String())
}

// check finds out how the master will speak, or what else its answer means.
func check(answer *http.Response, master *url.URL) (wire.Encoding, error) {
	switch answer.StatusCode {
	case http.StatusOK:
		encoding, ok := wire.ParseContentType(answer.Header.Get("Content-Type"))
		if !ok {
			typ := wire.Shorten(answer.Header.Get("Content-Type"))
			return 0, fmt.Errorf("subscribe at %s: the answer is %q, which is no stream of records", master.Redacted(), typ)
		}
		return encoding, nil
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return 0, follow(master, answer.Header.Get("Location"))
	}
	message, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
	seconds, _ := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 31)
	return 0, &RefusedError{
		Master:     master.Redacted(),
		Status:     answer.StatusCode,
		Message:    strings.TrimSpace(string(message)),
		retryAfter: time.Duration(seconds) * time.Second,
	}
}

// follow is a [*redirect], unless the location is of no use. It does not lead
// out of TLS, for credentials go with the request.
func follow(master *url.URL, location string) error {
	to, err := master.Parse(location)
	location = wire.Shorten(location)
	switch {
	case err != nil:
		return fmt.Errorf("subscribe at %s: redirect to %q, which is no URL", master.Redacted(), location)
	case location == "", to.Host == "", to.Scheme != "http" && to.Scheme != "https":
		return fmt.Errorf("subscribe at %s: redirect to %q, which is no master", master.Redacted(), location)
	case master.Scheme == "https" && to.Scheme != "https":
		return fmt.Errorf("subscribe at %s: redirect to %q, which is not encrypted", master.Redacted(), location)
	case to.Path == "" || to.Path == "/":
		to = endpoint(to)
	}
	return &redirect{to}
}

// begin makes the session that of the agent, and says who the agent is.
func (s *session) begin(head []byte) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.a.session = s
	s.writing = true
	s.writers.Go(func() {
		if s.put(head) == nil {
			s.write()
		}
	})
}

// close ends the session and waits for its writer.
func (s *session) close() {
	s.conn.Close()
	s.a.mu.Lock()
	s.over = true
	s.a.session = nil
	if s.pulse != nil {
		s.pulse.Stop()
	}
	s.a.mu.Unlock()
	s.writers.Wait()
}

// wake starts a writer, if there is none and it may find something. It needs the
// lock.
func (s *session) wake() {
	if !s.writing && !s.over {
		s.writing = true
		s.writers.Go(s.write)
	}
}

func (s *session) write() {
	encoding := s.a.o.encoding()
	out := wire.NewWriter(chunks{s})
	for call := s.next(); call != nil; call = s.next() {
		err := out.Call(encoding, call)
		var field *wire.FieldError
		if errors.As(err, &field) {
			s.fail(fmt.Errorf("what the agent has to say has no encoding: %w", err))
		}
		if err != nil {
			return
		}
	}
}

// fail ends the connection because of the agent itself.
func (s *session) fail(err error) {
	s.a.mu.Lock()
	s.unsaid = err
	s.a.mu.Unlock()
	s.conn.Close()
}

// broken is why the agent ended the connection, or nil.
func (s *session) broken() error {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.unsaid
}

// put writes, or ends the connection, which the reader notices.
func (s *session) put(b []byte) error {
	s.conn.SetWriteDeadline(time.Now().Add(s.a.o.WriteTimeout))
	_, err := s.conn.Write(b)
	if err != nil {
		s.conn.Close()
	}
	return err
}

// chunks puts what is written as HTTP sends parts of a body.
type chunks struct{ s *session }

func (c chunks) Write(b []byte) (int, error) {
	chunk := make([]byte, 0, len(b)+20) // for a length of 16 digits and two ends of lines
	chunk = append(strconv.AppendInt(chunk, int64(len(b)), 16), "\r\n"...)
	chunk = append(append(chunk, b...), "\r\n"...)
	return len(b), c.s.put(chunk)
}

// next finds what is to be said. If there is nothing the writer is done: nil.
func (s *session) next() wire.Call {
	a := s.a
	a.mu.Lock()
	defer a.mu.Unlock()
	call := s.choose()
	if call == nil {
		s.writing = false
		return nil
	}
	s.beat = false
	if s.pulse != nil {
		s.pulse.Reset(s.interval)
	}
	return call
}

func (s *session) choose() wire.Call {
	a := s.a
	switch {
	case s.over:
		return nil
	case !s.greeted:
		s.greeted = true
		s.number()
		subscribe := a.subscribe()
		s.sent = append(s.sent, said{s.sequence, a.version})
		return subscribe
	case !s.member:
		return nil // the master may not want us
	}
	if update := a.update(); update != nil && !s.left {
		update.Sequence = s.number()
		if a.said() {
			s.sent = append(s.sent, said{s.sequence, a.version})
		}
		return update
	}
	switch {
	case a.leaving && !s.left:
		s.left = true
		return &wire.Unregister{Sequence: s.number()}
	case s.beat:
		return &wire.Heartbeat{}
	}
	return nil
}

func (s *session) number() uint64 {
	s.sequence++
	return s.sequence
}

// listen does what the master says, until the stream ends.
func (s *session) listen(body io.Reader, encoding wire.Encoding) error {
	events := wire.NewReader(body, maxEvent)
	patience := time.Duration(0) // until SUBSCRIBED the deadline of the answer holds
	for {
		if patience > 0 {
			s.conn.SetReadDeadline(time.Now().Add(patience))
		}
		record, err := events.Next()
		if err != nil {
			return fmt.Errorf("stream of the master: %w", err)
		}
		event, err := wire.DecodeEvent(encoding, record)
		if err != nil {
			return fmt.Errorf("record of the master: %w", err)
		}
		if subscribed, ok := event.(*wire.Subscribed); ok {
			patience = patienceFor(subscribed)
		}
		if err := s.hear(event); err != nil {
			return err
		}
	}
}

// patienceFor is how long the master may be silent.
func patienceFor(s *wire.Subscribed) time.Duration {
	misses := time.Duration(s.MissesAllowed)
	if misses > math.MaxInt64/s.Heartbeat {
		return math.MaxInt64
	}
	return misses * s.Heartbeat
}

// hear does what one event asks for; an error ends the stream. A type of a newer
// master is passed over.
func (s *session) hear(event wire.Event) error {
	o := &s.a.o
	switch event := event.(type) {
	case *wire.Subscribed:
		if err := s.subscribed(event); err != nil {
			return err
		}
		if o.Subscribed != nil {
			o.Subscribed(event)
		}
	case *wire.Ack:
		return s.acknowledged(event.Sequence)
	case *wire.Drain:
		if o.Drain != nil {
			o.Drain(event)
		}
	case *wire.Kill:
		if o.Kill != nil {
			o.Kill(event)
		}
	case *wire.Shutdown:
		if o.Shutdown != nil {
			o.Shutdown(event)
		}
		return &ShutdownError{AgentID: s.a.ID(), Reason: event.Reason, StateFile: o.StateFile}
	case *wire.Error:
		return &MasterError{event.Message}
	}
	return nil
}

// subscribed lets updates and heartbeats begin, once the agent knows who it is
// after a restart too.
func (s *session) subscribed(event *wire.Subscribed) error {
	if s.member {
		return errors.New("record of the master: SUBSCRIBED came twice")
	}
	if err := s.a.admitted(event.AgentID); err != nil {
		return err
	}
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.member, s.interval = true, event.Heartbeat
	s.pulse = time.AfterFunc(s.interval, s.due)
	s.wake()
	return nil
}

// due is called when nothing was sent for an interval.
func (s *session) due() {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.beat = true
	s.wake()
}

func (s *session) acknowledged(sequence uint64) error {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	for len(s.sent) > 0 && s.sent[0].sequence <= sequence {
		s.a.acknowledged(s.sent[0].version)
		s.sent = s.sent[1:]
	}
	if len(s.sent) == 0 {
		s.sent = nil
	}
	if s.left && sequence >= s.sequence { // UNREGISTER is the last
		return errLeft
	}
	return nil
}
