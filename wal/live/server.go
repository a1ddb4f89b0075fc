package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
)

// MaxReaders is how many are served at a time; one more is told [ErrBusy].
const MaxReaders = 8

// patience is how long a reader may keep the process waiting.
type patience struct {
	ask    time.Duration // until its question is there
	take   time.Duration // until it has taken the next 64 KiB
	answer time.Duration // in all
}

var usual = patience{ask: 5 * time.Second, take: 10 * time.Second, answer: 10 * time.Minute}

// Source is a store that others may read while it is written to: what it answers
// is durable. What package live need not understand of it, it hands over in JSON.
type Source interface {
	Identity() store.Identity
	Oldest() store.Mark
	Places() []store.Place
	Checkpoint(ctx context.Context, atMost uint64) (store.Mark, iter.Seq2[[]byte, error], error)
	Records(ctx context.Context, after uint64) iter.Seq2[store.Record, error]
	Condition() store.Condition
	Err() error // why nothing is written any more, or nil
	// Describe says how far the store has come, and what else there is to say.
	Describe() (end store.Mark, about json.RawMessage, err error)
	// Look checks the store and reports each finding.
	Look(ctx context.Context, report func(finding json.RawMessage)) error
	// Explain gives an error of its own a kind and what belongs to it, for
	// [Explained] in the other process; an empty kind if callers do not branch
	// on it.
	Explain(err error) (kind string, detail json.RawMessage)
}

// Server answers those who read a store. Make one with [Serve].
type Server struct {
	dir      string
	source   Source
	logger   *slog.Logger
	patience patience
	listener *net.UnixListener
	made     fs.FileInfo // the socket's file

	ctx      context.Context // ends all answers
	cancel   context.CancelFunc
	readers  chan struct{} // has room for as many as are served
	checking sync.Mutex    // one reader at a time has the store checked
	working  sync.WaitGroup
	closed   sync.Once
	closeErr error
}

// Serve makes the socket in the directory dir of a store, and answers on it until
// Close. Who calls holds the store's lock for writing: that says that a socket
// which is there already was left behind.
func Serve(dir string, from Source, log *slog.Logger) (*Server, error) {
	return serve(dir, from, log, usual)
}

func serve(dir string, from Source, log *slog.Logger, p patience) (*Server, error) {
	dir, err := filepath.Abs(dir) // the process may change its directory
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, source: from, logger: log, patience: p, readers: make(chan struct{}, MaxReaders)}
	if s.listener, err = listen(dir); err != nil {
		return nil, fmt.Errorf("make the socket %s in %s: %w", SocketName, dir, err)
	}
	if s.made, err = file(dir); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.working.Go(s.accept)
	return s, nil
}

// Close removes the socket, cuts off who is being answered, and waits for that.
// It is safe to call more than once.
func (s *Server) Close() error {
	s.closed.Do(func() {
		s.closeErr = errors.Join(unlink(s.dir, s.made), s.listener.Close())
		s.cancel()
		s.working.Wait()
	})
	return s.closeErr
}

func (s *Server) accept() {
	for {
		c, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no file is free, say
			s.logger.Warn("a reader of the store could not be answered", "dir", s.dir, "err", err)
			select {
			case <-time.After(time.Second):
			case <-s.ctx.Done():
			}
			continue
		}
		select {
		case s.readers <- struct{}{}:
			s.working.Go(func() {
				defer func() { <-s.readers }()
				s.serve(c)
			})
		default:
			refuse(c, fmt.Errorf("%w: %d are being answered", ErrBusy, MaxReaders))
		}
	}
}

// refuse waits for nobody: a few bytes fit into a socket that nothing was sent to.
func refuse(c net.Conn, why error) {
	c.SetWriteDeadline(time.Now().Add(time.Second))
	writeJSON(c, frameError, toFailure(why)) // or the reader is gone
	c.Close()
}

// serve answers one question. Nothing that a reader asks for may end this
// process, which has better to do: a panic, as of Pebble over damage that it did
// not expect, ends this answer.
func (s *Server) serve(c *net.UnixConn) {
	ctx, cancel := context.WithTimeout(s.ctx, s.patience.answer)
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	defer func() {
		if p := recover(); p != nil {
			s.logger.Error("reading the store for another process went wrong", "dir", s.dir, "err", fmt.Sprint(p))
		}
	}()
	if err := mayRead(c); err != nil {
		refuse(c, err)
		return
	}
	q, err := readQuestion(c, s.patience.ask)
	if err != nil {
		refuse(c, err)
		return
	}
	go func() { // who asked says nothing more; it may leave
		c.Read(make([]byte, 1))
		cancel()
	}()
	out := bufio.NewWriterSize(&patient{Conn: c, take: s.patience.take}, 64<<10)
	if err := s.answer(ctx, out, q); err != nil {
		writeJSON(out, frameError, s.failure(err))
	} else {
		writeFrame(out, frameEnd)
	}
	out.Flush() // the first error of out; then the reader is gone
}

func (s *Server) failure(err error) failure {
	f := toFailure(err)
	if f.Kind == "" {
		f.Kind, f.Detail = s.source.Explain(err)
	}
	return f
}

func readQuestion(c net.Conn, within time.Duration) (q question, err error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return q, err
	}
	kind, body, err := readFrame(c, maxQuestion, nil)
	switch {
	case err != nil:
		return q, fmt.Errorf("read the question: %w", err)
	case kind != frameQuestion:
		return q, fmt.Errorf("this is no question: a frame of kind %q", kind)
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return q, fmt.Errorf("read the question: %w", err)
	}
	if q.Version != version {
		return q, fmt.Errorf("%w: it speaks version %d, asked was in version %d", ErrVersion, version, q.Version)
	}
	return q, c.SetReadDeadline(time.Time{})
}

// Who writes goes first: after so many bytes the server rests, as the registrar
// does after each chunk of a checkpoint.
const (
	restAfter = 256 << 10
	rest      = 2 * time.Millisecond
)

// patient is a connection whose reader has a while for each piece, and gets them
// no faster than that.
type patient struct {
	net.Conn
	take time.Duration
	sent int // since it rested
}

func (p *patient) Write(b []byte) (n int, err error) {
	for piece := range slices.Chunk(b, 64<<10) {
		if err := p.SetWriteDeadline(time.Now().Add(p.take)); err != nil {
			return n, err
		}
		m, err := p.Conn.Write(piece)
		if n += m; err != nil {
			return n, err
		}
		if p.sent += m; p.sent >= restAfter {
			p.sent = 0
			time.Sleep(rest)
		}
	}
	return n, nil
}

func (s *Server) answer(ctx context.Context, out *bufio.Writer, q question) error {
	if q.History != (store.HistoryID{}) && q.History != s.source.Identity().History {
		return fmt.Errorf("%w: another was put in the place of the one that was asked before", store.ErrClosed)
	}
	switch q.Ask {
	case askState:
		return s.state(out)
	case askCheckpoint:
		return s.checkpoint(ctx, out, q.AtMost)
	case askRecords:
		return s.records(ctx, out, q.After, q.To)
	case askCheck:
		return s.check(ctx, out)
	}
	return fmt.Errorf("%w: it does not know the question %q", ErrVersion, q.Ask)
}

func (s *Server) state(out *bufio.Writer) error {
	now := time.Now().UTC() // before, so that nothing told is older
	end, about, err := s.source.Describe()
	if err != nil {
		return err
	}
	said := state{
		PID: os.Getpid(), At: now, Identity: s.source.Identity(), End: end, Oldest: s.source.Oldest(),
		Places: s.source.Places(), Condition: toCondition(s.source.Condition()), About: about,
	}
	if err := s.source.Err(); err != nil {
		said.Failed = err.Error()
	}
	return writeJSON(out, frameState, said)
}

func (s *Server) checkpoint(ctx context.Context, out *bufio.Writer, atMost uint64) error {
	mark, chunks, err := s.source.Checkpoint(ctx, atMost)
	if err == nil {
		err = writeFrame(out, frameMark, appendMark(nil, mark))
	}
	if err != nil {
		return err
	}
	for chunk, err := range chunks {
		if err == nil {
			err = writeFrame(out, frameChunk, chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ahead is about how many bytes of records are read before they are sent.
const ahead = 1 << 20

// records sends them piece by piece: what is held of the store while a piece is
// read is let go of before the reader is waited for.
func (s *Server) records(ctx context.Context, out *bufio.Writer, after, to uint64) error {
	var piece bytes.Buffer
	for more := true; more; {
		var err error
		piece.Reset()
		after, more, err = s.piece(ctx, &piece, after, to)
		if _, sent := out.Write(piece.Bytes()); sent != nil {
			return sent
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// piece reads some records, and says whether there may be more.
func (s *Server) piece(ctx context.Context, to *bytes.Buffer, after, last uint64) (at uint64, more bool, err error) {
	var head []byte
	for r, err := range s.source.Records(ctx, after) {
		switch {
		case err != nil:
			return after, false, err
		case r.Seq > last:
			return after, false, nil
		case to.Len() > ahead:
			return after, true, nil
		}
		head = appendRecord(head[:0], r)
		if err := writeFrame(to, frameRecord, head, r.Data); err != nil {
			return after, false, err
		}
		after = r.Seq
	}
	return after, false, nil
}

// check has the store look through itself, for one reader at a time.
func (s *Server) check(ctx context.Context, out *bufio.Writer) error {
	if !s.checking.TryLock() {
		return fmt.Errorf("%w: it is being checked for another already", ErrBusy)
	}
	defer s.checking.Unlock()
	var found []json.RawMessage // the store is not held while they are sent
	if err := s.source.Look(ctx, func(f json.RawMessage) { found = append(found, f) }); err != nil {
		return err
	}
	for _, f := range found {
		if err := writeFrame(out, frameFinding, f); err != nil {
			return err
		}
	}
	return nil
}

// What there is to branch on; test with [errors.Is].
var (
	// ErrNotServed: no process answers on a socket in the directory.
	ErrNotServed = errors.New("no process lets it be read")
	// ErrBusy: the process answers as many readers as it will. Try again.
	ErrBusy = errors.New("too many read it")
	// ErrVersion: the process speaks another version of this; use the regtool of
	// its version.
	ErrVersion = errors.New("the process that has it open is of another version")
	// ErrCut: the process has ended, closed the store, or not waited any longer
	// for who reads. Try again.
	ErrCut = errors.New("the process that has the store open has cut the connection: it has ended or closed the store, or this was too slow to read")
	// ErrSilent: the process is there, and does not answer.
	ErrSilent = errors.New("the process that has it open does not answer")
)
