package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// Subscriber is what agents subscribe to: a [*master.Master].
//
// Its method returns when the agent is a member. Until then the context is that
// of the request. It refuses with an error that wraps a [*wire.FieldError], a
// [*registry.FieldError] or an [*ops.Error]; any other means that the agent
// should come again later. It calls wake whenever the subscription has events
// after it had none, and when it has ended; from any goroutine, also before it
// returns. wake does not block.
type Subscriber[S Subscription] interface {
	Subscribe(ctx context.Context, call *wire.Subscribe, address string, wake func()) (S, error)
}

// Subscription is the master's end of one connection: a [*master.Stream].
type Subscription interface {
	// Next takes the oldest event that is to be sent, or returns false.
	Next() (wire.Event, bool)
	// Receive takes what came up, one call at a time and none after Close.
	Receive(wire.Call) error
	// Ended is closed when no event comes after those that wait.
	Ended() <-chan struct{}
	// Close says that the connection is gone. It is called once.
	Close()
}

// AgentStreamOptions bounds what agents may do. The zero value is right for
// production.
type AgentStreamOptions struct {
	// MaxSubscribe is the most bytes of the first record of a stream, in which an
	// agent says all that it runs; 0 means 16 MiB.
	MaxSubscribe int
	// MaxRecord is the most bytes of every other record; 0 means 4 MiB.
	MaxRecord int
	// MaxStreams is how many streams there may be at once; 0 means 200,000. One
	// counts once its first record has come, and is a connection among others until
	// then. Those beyond are told to come again later.
	MaxStreams int
	// MaxDecoding is the most bytes of records above 64 kB that are received and
	// decoded at once, over all streams; 0 means 64 MiB. A record has its bytes
	// until the master has taken the call, and may be some 20 times as much memory
	// meanwhile. Others wait for as long as SubscribeTimeout, and are then told to
	// come again later.
	MaxDecoding int
	// SubscribeTimeout is how long the first record of a stream may take to come,
	// and any that is larger than 64 kB, and all of a request that has no stream;
	// 0 means 30 s.
	SubscribeTimeout time.Duration
	// WriteTimeout is how long an agent may take to accept a record. One that is
	// slower is cut off, and comes back when it can; 0 means 10 s.
	WriteTimeout time.Duration
	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
}

func (o AgentStreamOptions) withDefaults() AgentStreamOptions {
	o.MaxSubscribe = cmp.Or(o.MaxSubscribe, 16<<20)
	o.MaxRecord = cmp.Or(o.MaxRecord, 4<<20)
	o.MaxStreams = cmp.Or(o.MaxStreams, 200_000)
	o.MaxDecoding = cmp.Or(o.MaxDecoding, 64<<20)
	o.SubscribeTimeout = cmp.Or(o.SubscribeTimeout, 30*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

// AgentStream serves POST /api/v1/agent, as docs/agent-api.md has it. A stream
// lives in its handler; when the server shuts down, ending the subscriptions
// ends the handlers.
func AgentStream[S Subscription](m Subscriber[S], o AgentStreamOptions) http.Handler {
	o = o.withDefaults()
	return &agentStreams{
		AgentStreamOptions: o,
		room:               newAgentRoom(o.MaxDecoding),
		subscribe: func(ctx context.Context, call *wire.Subscribe, address string, wake func()) (Subscription, error) {
			return m.Subscribe(ctx, call, address, wake)
		},
		byID:     map[uuid.UUID]*agentStream{},
		entering: map[registry.AgentID]int{},
	}
}

const (
	streamIDHeader = "Mesos-Stream-Id"
	// retryAfter is for those that are refused for now. Agents draw their pause at
	// random on top of it.
	retryAfter = 5 * time.Second
	// linger is how long the other side has to go first when a stream ends. A
	// connection that is closed with something unread in it is reset, and a reset
	// may destroy what the agent has not read yet: the reason why it ended.
	linger = time.Second
)

type agentStreams struct {
	AgentStreamOptions
	room      *agentRoom
	subscribe func(context.Context, *wire.Subscribe, string, func()) (Subscription, error)

	mu       sync.Mutex
	count    int // streams, and those that are about to be
	byID     map[uuid.UUID]*agentStream
	entering map[registry.AgentID]int // subscriptions under way; no zeros
}

func (h *agentStreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Also for a refusal: the body may stay open, and without this net/http would
	// wait for its end before it says anything.
	control := http.NewResponseController(w)
	if err := control.EnableFullDuplex(); err != nil {
		h.Logger.Error("agents cannot connect: the server does not let a handler read and write at once", "err", err)
		answer(w, http.StatusInternalServerError, "the server does not let a handler read and write at once")
		return
	}
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // what is left of the body is no request
	}
	control.SetReadDeadline(time.Now().Add(h.SubscribeTimeout))
	defer func() { control.SetReadDeadline(time.Now().Add(linger)) }() // net/http reads on until then

	up, ok := wire.ParseContentType(r.Header.Get("Content-Type"))
	if !ok {
		answer(w, http.StatusUnsupportedMediaType, "Content-Type: want application/json or application/msgpack")
		return
	}
	if id, ok := r.Header[streamIDHeader]; ok {
		h.call(w, r, control, up, id[0])
		return
	}
	down, ok := wire.Negotiate(strings.Join(r.Header.Values("Accept"), ","), up)
	if !ok {
		answer(w, http.StatusNotAcceptable, "Accept: want application/json or application/msgpack")
		return
	}
	h.open(w, r, control, up, down)
}

var errFull = errors.New("the master has as many agents as it takes")

func (h *agentStreams) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= h.MaxStreams {
		return false
	}
	h.count++
	return true
}

func (h *agentStreams) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
}

// open serves a stream, from its first record to its end.
func (h *agentStreams) open(w http.ResponseWriter, r *http.Request, control *http.ResponseController, up, down wire.Encoding) {
	s := &agentStream{w: w, control: control, encoding: down, timeout: h.WriteTimeout, log: h.Logger, writing: true}
	s.done, s.stop = context.WithCancel(context.Background())
	defer s.stop()
	records := wire.NewReader(r.Body, h.MaxSubscribe)
	record, give, err := h.next(r.Context(), records, s.readUntil)
	if err != nil {
		refuseRecord(w, err)
		return
	}
	if !h.enter() {
		give()
		refuse(w, errFull)
		return
	}
	defer h.leave()
	guestOf(r.Context()).joins() // MaxStreams counts it now
	if !h.join(s, r, up, record, give) {
		return
	}
	records.SetLimit(h.MaxRecord)
	id := h.add(s)
	defer h.remove(id, s)
	w.Header().Set(streamIDHeader, id.String())
	w.Header().Set("Content-Type", down.ContentType())
	s.start()
	if err := h.receiveAll(s, records, up); err != nil {
		s.end(&wire.Error{Message: err.Error()})
	}
	s.wait(r.Context())
}

// join takes the SUBSCRIBE of a stream and makes the agent a member, or answers
// why not.
func (h *agentStreams) join(s *agentStream, r *http.Request, up wire.Encoding, record []byte, give func()) bool {
	defer give()
	call, err := first(up, record)
	if err != nil {
		refuseRecord(s.w, err)
		return false
	}
	s.readUntil(time.Time{})
	s.agent, s.address = cmp.Or(call.AgentID, call.Agent.ID), r.RemoteAddr
	s.Subscription, err = h.enroll(r, call, s.wake)
	switch {
	case err == nil:
	case errors.Is(err, ops.ErrGone):
		s.Subscription = &shutdown{reason: err.Error()}
	default:
		refuse(s.w, err)
		return false
	}
	return true
}

// enroll subscribes, unless the same agent is about to more than once already. A
// stream takes the place of the agent's last, and each attempt is work for the
// master: an agent that loses patience again and again is to wait instead.
func (h *agentStreams) enroll(r *http.Request, call *wire.Subscribe, wake func()) (Subscription, error) {
	id := cmp.Or(call.AgentID, call.Agent.ID)
	if id == "" { // a new agent, which cannot be told from others
		return h.subscribe(r.Context(), call, r.RemoteAddr, wake)
	}
	if !h.begin(id) {
		return nil, fmt.Errorf("agent %q is being subscribed already", id)
	}
	defer h.end(id)
	return h.subscribe(r.Context(), call, r.RemoteAddr, wake)
}

// maxEntering is one that the agent has perhaps given up, and one more.
const maxEntering = 2

func (h *agentStreams) begin(id registry.AgentID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.entering[id] >= maxEntering {
		return false
	}
	h.entering[id]++
	return true
}

func (h *agentStreams) end(id registry.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.entering[id]--; h.entering[id] == 0 {
		delete(h.entering, id)
	}
}

// next reads a record, once there is room for it. Whoever has handed on what it
// says calls give. The context of a request lets its connection go meanwhile, if
// another needs the place, but not while it is the room that is waited for.
func (h *agentStreams) next(ctx context.Context, records *wire.Reader, readUntil func(time.Time)) (record []byte, give func(), err error) {
	g := guestOf(ctx)
	g.waits()
	defer g.works()
	n, err := records.Size()
	if err != nil {
		return nil, nil, err
	}
	g.works()
	give, err = h.room.take(ctx, n, h.SubscribeTimeout)
	if err != nil {
		return nil, nil, err
	}
	g.waits()
	if n > smallRecord {
		readUntil(time.Now().Add(h.SubscribeTimeout)) // others wait for the room
	}
	if record, err = records.Next(); err != nil {
		give()
		return nil, nil, err
	}
	return record, give, nil
}

// first decodes the first record of a stream.
func first(up wire.Encoding, record []byte) (*wire.Subscribe, error) {
	call, err := wire.DecodeCall(up, record)
	if err != nil {
		return nil, err
	}
	subscribe, ok := call.(*wire.Subscribe)
	if !ok {
		return nil, &wire.FieldError{Field: "type", Reason: "is not SUBSCRIBE, which is the first of a stream"}
	}
	Pack(subscribe)
	return subscribe, nil
}

func (h *agentStreams) add(s *agentStream) uuid.UUID {
	id := uuid.New()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byID[id] = s
	return id
}

func (h *agentStreams) remove(id uuid.UUID, s *agentStream) {
	h.mu.Lock()
	delete(h.byID, id)
	h.mu.Unlock()
	s.close()
}

func (h *agentStreams) find(id string) *agentStream {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[parsed]
}

// call serves the calls of an agent that does not send them up its stream.
func (h *agentStreams) call(w http.ResponseWriter, r *http.Request, control *http.ResponseController, up wire.Encoding, id string) {
	s := h.find(id)
	if s == nil {
		answer(w, http.StatusBadRequest, streamIDHeader+": no stream has this ID: subscribe again")
		return
	}
	if !s.calling.TryLock() {
		refuse(w, errCalling)
		return
	}
	defer s.calling.Unlock()
	records := wire.NewReader(r.Body, h.MaxRecord)
	readUntil := func(t time.Time) { control.SetReadDeadline(t) }
	for n := 0; ; n++ {
		record, give, err := h.next(r.Context(), records, readUntil)
		switch {
		case err == io.EOF && n > 0:
			w.Header().Del("Connection") // nothing is left, so there may be more on it
			w.WriteHeader(http.StatusAccepted)
			return
		case err != nil:
			refuseRecord(w, err)
			return
		}
		if err := s.receive(up, record, give); err != nil {
			refuse(w, err)
			return
		}
	}
}

var (
	errNoRecord = &wire.FieldError{Field: "record", Reason: "is missing"}
	errTooSlow  = errors.New("the record took too long to come")
	errCalling  = errors.New(streamIDHeader + ": another request sends calls of this stream")
)

// refuseRecord answers with why a record could not be read.
func refuseRecord(w http.ResponseWriter, err error) {
	switch {
	case err == io.EOF:
		answer(w, http.StatusBadRequest, errNoRecord.Error())
	case err == errNoRoom:
		refuse(w, err)
	case errors.Is(err, wire.ErrTooLong):
		answer(w, http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		answer(w, http.StatusRequestTimeout, errTooSlow.Error())
	default:
		answer(w, http.StatusBadRequest, err.Error())
	}
}

// refuse answers with what an error of the master means to an agent.
func refuse(w http.ResponseWriter, err error) {
	var (
		field   *wire.FieldError
		invalid *registry.FieldError
		syntax  *wire.SyntaxError
		refused *ops.Error
	)
	switch {
	case errors.As(err, &field), errors.As(err, &invalid), errors.As(err, &syntax), errors.Is(err, errStreamEnded):
		answer(w, http.StatusBadRequest, err.Error())
	case errors.As(err, &refused):
		answer(w, http.StatusConflict, err.Error())
	default:
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
		answer(w, http.StatusServiceUnavailable, err.Error())
	}
}

func answer(w http.ResponseWriter, status int, text string) { http.Error(w, text, status) }
