package live

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/eaba02dc/registrar/registrar/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plenty is a store with more records than anybody takes.
type plenty struct {
	reading chan struct{} // has room for one; told that records are read
}

func (plenty) Identity() store.Identity   { return store.Identity{Epoch: 7} }
func (plenty) Oldest() store.Mark         { return store.Mark{} }
func (plenty) Places() []store.Place      { return nil }
func (plenty) Condition() store.Condition { return store.Condition{Free: 5, Full: store.ErrDiskFull} }
func (plenty) Err() error                 { return errors.New("the disk broke") }

func (plenty) Describe() (store.Mark, json.RawMessage, error) {
	return store.Mark{Seq: 1 << 40, Revision: 9}, json.RawMessage(`{"a":1}`), nil
}

func (plenty) Checkpoint(context.Context, uint64) (store.Mark, iter.Seq2[[]byte, error], error) {
	panic("of the storage engine")
}

func (p plenty) Records(_ context.Context, after uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		select {
		case p.reading <- struct{}{}:
		default:
		}
		for seq := after + 1; yield(store.Record{Mark: store.Mark{Seq: seq}, Data: make([]byte, 1<<16)}, nil); seq++ {
		}
	}
}

var errOdd = errors.New("odd")

func (plenty) Look(context.Context, func(json.RawMessage)) error { return errOdd }

func (plenty) Explain(err error) (string, json.RawMessage) {
	if errors.Is(err, errOdd) {
		return "odd", json.RawMessage(`"detail"`)
	}
	return "", nil
}

func explained(kind string, detail json.RawMessage) error {
	if kind == "odd" && string(detail) == `"detail"` {
		return errOdd
	}
	return nil
}

var patientTest = patience{ask: 10 * time.Second, take: 10 * time.Second, answer: time.Minute}

func served(t *testing.T, dir string, p patience) (*Server, plenty) {
	t.Helper()
	from := plenty{make(chan struct{}, 1)}
	s, err := serve(dir, from, slog.New(slog.DiscardHandler), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, from
}

func opened(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, explained)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func connect(t *testing.T, dir string) net.Conn {
	t.Helper()
	c, err := dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // a test that fails ends
	return c
}

// says is the error that the server answers with.
func says(t *testing.T, c net.Conn) string {
	t.Helper()
	kind, body, err := readFrame(c, maxFrame, nil)
	if err != nil || kind != frameError {
		t.Fatalf("the answer is %q %q, %v", kind, body, err)
	}
	var f failure
	if err := json.Unmarshal(body, &f); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("then: %v", err)
	}
	return f.Text
}

func TestTheStateAndErrorsArriveAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	before := time.Now()
	served(t, dir, patientTest)
	s := opened(t, dir)
	seen := s.Seen()
	if seen.PID != os.Getpid() || seen.End.Revision != 9 || seen.At.Before(before.Add(-time.Millisecond)) || seen.At.After(time.Now()) {
		t.Errorf("it is seen as %+v", seen)
	}
	if c := s.Condition(); c.Free != 5 || !errors.Is(c.Full, store.ErrDiskFull) || c.Low != nil {
		t.Errorf("its condition is %+v", c)
	}
	if err := s.Err(); err == nil || err.Error() != "the disk broke" {
		t.Errorf("it failed with %v", err)
	}
	if s.Identity().Epoch != 7 || string(s.About()) != `{"a":1}` {
		t.Errorf("identity %+v, about %s", s.Identity(), s.About())
	}
	if err := s.Look(t.Context(), nil); !errors.Is(err, errOdd) {
		t.Errorf("an error that the source explains arrives as %v", err)
	}
}

func TestWhatIsNoQuestionIsRefused(t *testing.T) {
	dir := t.TempDir()
	served(t, dir, patientTest)
	frame := func(kind byte, body string) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body))), body...)
	}
	for _, c := range []struct {
		name, want string
		sent       []byte
	}{
		{"too long", "more than 4096", frame('q', strings.Repeat("x", 4097))[:100]},
		{"longest length", "more than 4096", []byte{'q', 255, 255, 255, 255}},
		{"another kind", "no question", frame('r', "{}")},
		{"no JSON", "read the question", frame('q', "{")},
		{"another version", "speaks version 1, asked was in version 2", frame('q', `{"version":2}`)},
		{"unknown", `does not know the question "all"`, frame('q', `{"version":1,"ask":"all"}`)},
		{"HTTP", "more than 4096", []byte("GET / HTTP/1.1\r\n\r\n")},
	} {
		conn := connect(t, dir)
		if _, err := conn.Write(c.sent); err != nil {
			t.Fatal(err)
		}
		if got := says(t, conn); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	opened(t, dir)
}

func TestAPanicEndsOneAnswer(t *testing.T) {
	dir := t.TempDir()
	served(t, dir, patientTest)
	s := opened(t, dir)
	if _, _, err := s.Checkpoint(t.Context(), 1); !errors.Is(err, ErrCut) {
		t.Errorf("the answer is %v", err)
	}
	opened(t, dir)
}

func TestNoMoreAreAnsweredThanAllowed(t *testing.T) {
	dir := t.TempDir()
	s, _ := served(t, dir, patientTest)
	for range MaxReaders {
		connect(t, dir) // and ask nothing
	}
	if _, err := Open(t.Context(), dir, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("one more is told %v", err)
	}
	if err := s.Close(); err != nil { // though they are still there
		t.Error(err)
	}
}

func TestWhoAsksNothingIsLetGo(t *testing.T) {
	dir := t.TempDir()
	served(t, dir, patience{ask: 10 * time.Millisecond, take: time.Minute, answer: time.Minute})
	c := connect(t, dir)
	if got := says(t, c); !strings.Contains(got, "read the question") {
		t.Errorf("it is told %q", got)
	}
}

// TestWhoDoesNotTakeTheAnswerIsCutOff: the connection is closed, and the place is
// another's.
func TestWhoDoesNotTakeTheAnswerIsCutOff(t *testing.T) {
	dir := t.TempDir()
	s, from := served(t, dir, patience{ask: time.Minute, take: 20 * time.Millisecond, answer: time.Minute})
	for range MaxReaders {
		if err := writeJSON(connect(t, dir), frameQuestion, question{Version: version, Ask: askRecords, To: 1 << 40}); err != nil {
			t.Fatal(err)
		}
	}
	<-from.reading
	for range MaxReaders {
		s.readers <- struct{}{} // each is free again
	}
}

// taking is a connection that takes all.
type taking struct{ net.Conn }

func (taking) Write(b []byte) (int, error)        { return len(b), nil }
func (taking) SetWriteDeadline(t time.Time) error { return nil }

// TestTheServerRestsWhileItSends so that who writes to the store goes first.
func TestTheServerRestsWhileItSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := &patient{Conn: taking{}, take: time.Second}
		for range 10 {
			if n, err := p.Write(make([]byte, 100<<10)); n != 100<<10 || err != nil {
				t.Fatal(n, err)
			}
		}
		if took := time.Since(start); took != 3*rest {
			t.Errorf("1000 KiB take %v, want %v", took, 3*rest)
		}
	})
}

func TestCloseCutsOffWhoReads(t *testing.T) {
	dir := t.TempDir()
	s, _ := served(t, dir, patientTest)
	r := opened(t, dir)
	n := 0
	var last error
	for _, err := range r.Records(t.Context(), 0) {
		if n++; n == 3 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		last = err
	}
	if !errors.Is(last, ErrCut) {
		t.Errorf("after %d records: %v", n, last)
	}
	if _, err := Open(t.Context(), dir, nil); !errors.Is(err, ErrNotServed) {
		t.Errorf("later ones are told %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, SocketName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestTheReadersContextEndsReading(t *testing.T) {
	dir := t.TempDir()
	served(t, dir, patientTest)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	var last error
	for _, err := range opened(t, dir).Records(ctx, 0) {
		cancel(why)
		last = err
	}
	if !errors.Is(last, why) {
		t.Errorf("it ends with %v", last)
	}
}

// TestALongPathIsReached: a socket's path has 108 bytes, a directory's 4,096.
func TestALongPathIsReached(t *testing.T) {
	dir := t.TempDir()
	for len(dir) < 300 {
		dir = filepath.Join(dir, strings.Repeat("long", 20))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, nil); !errors.Is(err, ErrNotServed) {
		t.Errorf("without a socket: %v", err)
	}
	s, _ := served(t, dir, patientTest)
	opened(t, dir)
	if i, err := os.Lstat(filepath.Join(dir, SocketName)); err != nil || i.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", i, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestASocketThatWasLeftIsTakenOver: of a killed process, half made or whole.
func TestASocketThatWasLeftIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{SocketName, socketNew} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	if _, err := Open(t.Context(), dir, nil); !errors.Is(err, ErrNotServed) {
		t.Errorf("a socket that nobody listens on: %v", err)
	}
	served(t, dir, patientTest)
	opened(t, dir)
}

// TestCloseLeavesAnothersSocket: the directory was replaced meanwhile.
func TestCloseLeavesAnothersSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	moved := dir + "-moved"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, _ := served(t, dir, patientTest)
	if err := errors.Join(os.Rename(dir, moved), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	served(t, dir, patientTest)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	opened(t, dir)
}

// FuzzAnswer: what a process sends is read, or an error, and no panic.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte{'r', 80, 0, 0, 0})
	f.Add([]byte{'e', 2, 0, 0, 0, '{', '}'})
	f.Add([]byte{'r', 255, 255, 255, 3, 1})
	f.Fuzz(func(t *testing.T, sent []byte) {
		kind, body, err := readFrame(strings.NewReader(string(sent)), maxFrame, nil)
		if err != nil {
			return
		}
		if len(body)+frameHeaderLen > len(sent) || kind != sent[0] {
			t.Fatalf("a frame of kind %q with %d bytes out of %d", kind, len(body), len(sent))
		}
		r, err := getRecord(body)
		if err == nil && string(append(appendRecord(nil, r), r.Data...)) != string(body) {
			t.Fatalf("%x is read as %+v", body, r)
		}
	})
}

func TestAFileByTheNameOfAHalfMadeSocketIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, socketNew)
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Serve(dir, plenty{}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "SOCKET.new is there, and no socket") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// told is a store of three records that tells of those in records.
type told struct {
	plenty
	history store.HistoryID
	records []store.Mark
}

func (s told) Identity() store.Identity { return store.Identity{History: s.history} }

func (told) Describe() (store.Mark, json.RawMessage, error) {
	return store.Mark{Seq: 3, Revision: 9}, nil, nil
}

func (s told) Records(context.Context, uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for _, m := range s.records {
			if !yield(store.Record{Mark: m}, nil) {
				return
			}
		}
	}
}

func TestRecordsThatAreNotTheStoresAreNoticed(t *testing.T) {
	mark := func(seq, revision uint64) store.Mark { return store.Mark{Seq: seq, Revision: revision} }
	for _, c := range []struct {
		name    string
		records []store.Mark
		taken   int
		want    string
	}{
		{"all", []store.Mark{mark(1, 7), mark(2, 8), mark(3, 9)}, 3, ""},
		{"one is left out", []store.Mark{mark(1, 7), mark(3, 9)}, 1, "record 3 after record 1"},
		{"one comes twice", []store.Mark{mark(1, 7), mark(1, 7)}, 1, "record 1 after record 1"},
		{"another end", []store.Mark{mark(1, 7), mark(2, 8), mark(3, 8)}, 2, "record 3 after record 2"},
		{"too few", []store.Mark{mark(1, 7)}, 1, "no record after record 1, where there were 3"},
	} {
		dir := t.TempDir()
		server, err := Serve(dir, told{records: c.records}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		taken, got := 0, ""
		for _, err := range opened(t, dir).Records(t.Context(), 0) {
			if err != nil {
				got = err.Error()
				break
			}
			taken++
		}
		if taken != c.taken || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d taken, then %q; want %d, then %q", c.name, taken, got, c.taken, c.want)
		}
		server.Close()
	}
}

func TestAnotherStoreInThePlaceOfTheFirstIsNoticed(t *testing.T) {
	dir := t.TempDir()
	var s *Store
	for _, history := range []store.HistoryID{{1}, {2}} {
		server, err := Serve(dir, told{history: history}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if s == nil {
			s = opened(t, dir)
			server.Close()
		}
	}
	if err := s.Look(t.Context(), nil); !errors.Is(err, store.ErrClosed) || !strings.Contains(err.Error(), "another was put in the place") {
		t.Errorf("got %v", err)
	}
}
