package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
)

// silence is how long one waits for the process to say the next thing. It proves
// a checkpoint from end to end before it says the first.
const silence = time.Minute

// firstSilence is for the state, which is said at once by whoever is alive.
const firstSilence = 10 * time.Second

// Store reads a store that another process holds: what was durable when it was
// opened, up to [Seen.End]. It is a [store.Store] that cannot be written to.
type Store struct {
	dir       string
	explained Explained
	state     state

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Seen is which process told, and how far its store had come then.
type Seen struct {
	PID int
	At  time.Time // by the clock of that process
	End store.Mark
}

// Explained makes again an error that [Source] has explained. It is nil for a kind
// that it does not know.
type Explained func(kind string, detail json.RawMessage) error

// Open asks the process that has the store in dir open. The error is
// [ErrNotServed] if none answers: there is no socket, or one that a killed process
// has left.
func Open(ctx context.Context, dir string, explained Explained) (*Store, error) {
	s := &Store{dir: dir, explained: explained, conns: map[net.Conn]struct{}{}}
	err := s.ask(ctx, question{Ask: askState}, firstSilence, func(a *answer) error {
		body, err := a.want(frameState)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &s.state)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Seen tells where this comes from.
func (s *Store) Seen() Seen { return Seen{s.state.PID, s.state.At, s.state.End} }

// About is what the source had to say of itself when it was opened.
func (s *Store) About() json.RawMessage { return s.state.About }

// Condition is how the storage was when it was opened.
func (s *Store) Condition() store.Condition { return s.state.Condition.condition() }

// Identity is that of the store when it was opened.
func (s *Store) Identity() store.Identity { return s.state.Identity }

// Oldest is the place before the first record that was kept when it was opened.
func (s *Store) Oldest() store.Mark { return s.state.Oldest }

// Places lists the checkpoints that were kept when it was opened.
func (s *Store) Places() []store.Place { return s.state.Places }

// Checkpoint returns the newest checkpoint that covers no revision after atMost,
// nor after what was durable when s was opened. A sequence of which nothing is
// asked is held open until Close.
func (s *Store) Checkpoint(ctx context.Context, atMost uint64) (store.Mark, iter.Seq2[[]byte, error], error) {
	q := question{Ask: askCheckpoint, AtMost: min(atMost, s.state.End.Revision)}
	first, mark, err := s.checkpoint(ctx, q)
	if err != nil || mark.Seq == 0 {
		if first != nil {
			first.close()
		}
		return store.Mark{}, func(func([]byte, error) bool) {}, err
	}
	return mark, func(yield func([]byte, error) bool) {
		a := first
		first = nil
		if a == nil { // it is asked for once more
			var again store.Mark
			if a, again, err = s.checkpoint(ctx, q); err == nil && again != mark {
				err = &store.CompactedError{What: fmt.Sprintf("the checkpoint at record %d", mark.Seq), Oldest: again}
			}
		}
		if a != nil {
			defer a.close()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		a.frames(frameChunk)(yield)
	}, nil
}

func (s *Store) checkpoint(ctx context.Context, q question) (*answer, store.Mark, error) {
	a, err := s.send(ctx, q, silence)
	if err != nil {
		return nil, store.Mark{}, err
	}
	var mark store.Mark
	body, err := a.want(frameMark)
	if err == nil {
		mark, _, err = getMark(body)
	}
	if err == nil && (mark.Revision > q.AtMost || !s.reaches(mark)) {
		err = fmt.Errorf("%w: the checkpoint at record %d", errNotAsked, mark.Seq)
	}
	if err != nil {
		a.close()
		return nil, store.Mark{}, err
	}
	return a, mark, nil
}

// Records yields the records after seq, up to what was durable when s was opened.
func (s *Store) Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := s.open(); err == nil && after >= s.state.End.Seq {
			return
		}
		a, err := s.send(ctx, question{Ask: askRecords, After: after, To: s.state.End.Seq}, silence)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		defer a.close()
		for body, err := range a.frames(frameRecord) {
			var r store.Record
			if err == nil {
				r, err = getRecord(body)
			}
			if err == nil && (r.Seq != after+1 || !s.reaches(r.Mark)) {
				err = fmt.Errorf("%w: record %d after record %d", errNotAsked, r.Seq, after)
			}
			if !yield(r, err) || err != nil {
				return
			}
			after = r.Seq
		}
		if after < s.state.End.Seq {
			yield(store.Record{}, fmt.Errorf("%w: no record after record %d, where there were %d", errNotAsked, after, s.state.End.Seq))
		}
	}
}

// errNotAsked is for a process that has said how far its store goes, and then tells
// of another.
var errNotAsked = errors.New("the process that has it open tells what does not fit what it said before")

// reaches reports whether a place is one of the store that was opened, up to its end.
func (s *Store) reaches(m store.Mark) bool {
	return m.Seq < s.state.End.Seq || m == s.state.End
}

// Look has the other process look through its store. It takes as long as it takes;
// ending ctx ends it there too.
func (s *Store) Look(ctx context.Context, report func(finding json.RawMessage)) error {
	return s.ask(ctx, question{Ask: askCheck}, math.MaxInt64, func(a *answer) error {
		for body, err := range a.frames(frameFinding) {
			if err != nil {
				return err
			}
			report(bytes.Clone(body))
		}
		return nil
	})
}

// Append is refused: the store is another process's.
func (s *Store) Append(store.Record) (func() error, error) { return nil, store.ErrReadOnly }

// Compact is refused: the store is another process's.
func (s *Store) Compact(context.Context, store.Mark, iter.Seq[[]byte], uint64) error {
	return store.ErrReadOnly
}

// Err is why the other process could write no more when s was opened, or nil.
func (s *Store) Err() error {
	if s.state.Failed == "" {
		return nil
	}
	return errors.New(s.state.Failed)
}

// Close ends all reading.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	return nil
}

func (s *Store) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return nil
}

// answer is a connection on which a question was asked.
type answer struct {
	s      *Store
	ctx    context.Context
	stop   func() bool // that the end of ctx ends the connection
	conn   net.Conn
	in     *bufio.Reader
	buf    []byte
	wait   time.Duration
	closed sync.Once
}

// ask asks, and has f read the answer.
func (s *Store) ask(ctx context.Context, q question, wait time.Duration, f func(*answer) error) error {
	a, err := s.send(ctx, q, wait)
	if err != nil {
		return err
	}
	defer a.close()
	return f(a)
}

func (s *Store) send(ctx context.Context, q question, wait time.Duration) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c, err := dial(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	closed := s.closed
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	a := &answer{s: s, ctx: ctx, conn: c, in: bufio.NewReaderSize(c, 64<<10), wait: wait}
	a.stop = context.AfterFunc(ctx, func() { c.Close() })
	if closed {
		a.close()
		return nil, store.ErrClosed
	}
	q.Version, q.History = version, s.state.Identity.History
	text, err := json.Marshal(q)
	if err == nil {
		// One that does not take it has said why.
		_ = c.SetWriteDeadline(time.Now().Add(firstSilence))
		_ = writeFrame(c, frameQuestion, text)
	}
	return a, err
}

// dial connects to the socket in dir.
func dial(ctx context.Context, dir string) (c net.Conn, err error) {
	err = reach(dir, SocketName, func(path string) (err error) {
		c, err = (&net.Dialer{Timeout: firstSilence}).DialContext(ctx, "unix", path)
		return err
	})
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%w: there is no socket %s in %s", ErrNotServed, SocketName, dir)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w: nobody listens on the socket %s in %s", ErrNotServed, SocketName, dir)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.EAGAIN):
		return nil, fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return nil, fmt.Errorf("connect to the socket %s in %s: %w", SocketName, dir, err)
}

func (a *answer) close() {
	a.closed.Do(func() {
		a.stop()
		a.conn.Close()
		a.s.mu.Lock()
		delete(a.s.conns, a.conn)
		a.s.mu.Unlock()
	})
}

// next reads a frame that is not an error.
func (a *answer) next() (kind byte, body []byte, err error) {
	if err := a.ctx.Err(); err != nil {
		return 0, nil, context.Cause(a.ctx)
	}
	if a.wait < math.MaxInt64 {
		_ = a.conn.SetReadDeadline(time.Now().Add(a.wait)) // else reading says so
	}
	kind, a.buf, err = readFrame(a.in, maxFrame, a.buf)
	if err != nil {
		return 0, nil, a.broken(err)
	}
	if kind == frameError {
		var f failure
		if err := json.Unmarshal(a.buf, &f); err != nil {
			return 0, nil, err
		}
		return 0, nil, f.err(a.s.explained)
	}
	return kind, a.buf, nil
}

// broken says why nothing more came.
func (a *answer) broken(err error) error {
	switch {
	case a.ctx.Err() != nil:
		return context.Cause(a.ctx)
	case a.s.open() != nil:
		return store.ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w within %v", ErrSilent, a.wait)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ErrCut
	}
	return err
}

// want reads a frame of this kind.
func (a *answer) want(kind byte) ([]byte, error) {
	got, body, err := a.next()
	if err == nil && got != kind {
		err = unexpected(got)
	}
	return body, err
}

// frames yields the frames up to the end, which are all of this kind. It ends
// after an error.
func (a *answer) frames(kind byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			got, body, err := a.next()
			switch {
			case err == nil && got == frameEnd:
				return
			case err == nil && got != kind:
				err = unexpected(got)
			}
			if !yield(body, err) || err != nil {
				return
			}
		}
	}
}

func unexpected(kind byte) error {
	return fmt.Errorf("%w: it sends what this one does not know (%q)", ErrVersion, kind)
}
