package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/agent/wire"
)

// framed is a record as it stands in a stream.
func framed(record string) string { return fmt.Sprintf("%d\n%s", len(record), record) }

// readAll reads records until there is an error.
func readAll(r *wire.Reader) (records []string, err error) {
	for {
		record, err := r.Next()
		if err != nil {
			return records, err
		}
		records = append(records, string(record))
		_ = append(record, "which must not run into the next"...)
	}
}

func TestStreamsAreTakenApart(t *testing.T) {
	const limit = 10
	for stream, want := range map[string]struct {
		records []string
		err     string
	}{
		"":                        {nil, "EOF"},
		"0\n":                     {[]string{""}, "EOF"},
		"3\nabc":                  {[]string{"abc"}, "EOF"},
		"3\nabc1\nx":              {[]string{"abc", "x"}, "EOF"},
		"003\n1\n2":               {[]string{"1\n2"}, "EOF"},
		"10\n0123456789":          {[]string{"0123456789"}, "EOF"},
		"00000000000000000001\nx": {[]string{"x"}, "EOF"},
		"3":                       {nil, "unexpected EOF"},
		"3\n":                     {nil, "unexpected EOF"},
		"1\nx3\nab":               {[]string{"x"}, "unexpected EOF"},
		"11\n":                    {nil, "record is longer than allowed: 11 bytes announced, at most 10 are taken"},
		"18446744073709551615\n":  {nil, "record is longer than allowed: 18446744073709551615 bytes announced, at most 10 are taken"},
		"18446744073709551617\n":  {nil, "record is longer than allowed: 18446744073709551615 bytes announced, at most 10 are taken"},
		"99999999999999999999\n":  {nil, "record is longer than allowed: 18446744073709551615 bytes announced, at most 10 are taken"},
		"000000000000000000001\n": {nil, "at byte 20: the length of a record has more than 20 digits"},
		"\n":                      {nil, `at byte 0: want a digit of the length of a record, have '\n'`},
		"1\nx\n":                  {[]string{"x"}, `at byte 0: want a digit of the length of a record, have '\n'`},
		"+1\nx":                   {nil, `at byte 0: want a digit of the length of a record, have '+'`},
		"-1\nx":                   {nil, `at byte 0: want a digit of the length of a record, have '-'`},
		" 1\nx":                   {nil, `at byte 0: want a digit of the length of a record, have ' '`},
		"1\r\nx":                  {nil, `at byte 1: want a digit of the length of a record, have '\r'`},
		"{}":                      {nil, `at byte 0: want a digit of the length of a record, have '{'`},
	} {
		for name, in := range map[string]io.Reader{
			"whole": strings.NewReader(stream), "by bytes": iotest.OneByteReader(strings.NewReader(stream)),
			"data with error": iotest.DataErrReader(strings.NewReader(stream)),
		} {
			r := wire.NewReader(in, limit)
			records, err := readAll(r)
			if diff := cmp.Diff(want.records, records); diff != "" || err.Error() != want.err {
				t.Errorf("%q, %s: %v, want %s\n%s", stream, name, err, want.err, diff)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("%q, %s: error is %v, then %v", stream, name, err, again)
			}
		}
	}
}

func TestErrorsOfTheStreamAreHandedOn(t *testing.T) {
	broken := errors.New("broken")
	for _, stream := range []string{"", "3", "3\n", "3\nab", "3\nabc"} {
		r := wire.NewReader(io.MultiReader(strings.NewReader(stream), iotest.ErrReader(broken)), 10)
		if _, err := readAll(r); err != broken {
			t.Errorf("%q: error is %v, want %v", stream, err, broken)
		}
	}
	// A connection that breaks is not a stream that ends, even between records.
	r := wire.NewReader(io.MultiReader(strings.NewReader("1\nx"), iotest.ErrReader(io.ErrUnexpectedEOF)), 10)
	if _, err := readAll(r); err != io.ErrUnexpectedEOF {
		t.Errorf("error is %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if _, err := wire.NewReader(stalled{}, 10).Next(); err != io.ErrNoProgress {
		t.Errorf("error is %v, want %v", err, io.ErrNoProgress)
	}
	if err := wire.NewWriter(brokenWriter{broken}).Call(wire.JSON, &wire.Heartbeat{}); err != broken {
		t.Errorf("error is %v, want %v", err, broken)
	}
}

func TestPausesOfAStreamAreWaitedOut(t *testing.T) {
	got, err := readAll(wire.NewReader(&pausing{r: strings.NewReader("3\nabc1\nx")}, 10))
	if diff := cmp.Diff([]string{"abc", "x"}, got); diff != "" || err != io.EOF {
		t.Errorf("%v\n%s", err, diff)
	}
}

// pausing gives nothing every other time.
type pausing struct {
	r    io.Reader
	gave bool
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.gave = !p.gave; p.gave {
		return 0, nil
	}
	return p.r.Read(b[:1])
}

// stalled never gives anything.
type stalled struct{}

func (stalled) Read([]byte) (int, error) { return 0, nil }

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWhatIsWrittenIsReadHoweverItComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(400, 40000)), 0, 10).Draw(t, "sizes")
		piece := rapid.OneOf(rapid.IntRange(1, 30), rapid.IntRange(300, 70000)).Draw(t, "piece")
		var stream bytes.Buffer
		var want []string
		for i, n := range sizes {
			want = append(want, strings.Repeat(string(rune('a'+i)), n))
			stream.WriteString(framed(want[i]))
		}
		got, err := readAll(wire.NewReader(pieces{&stream, piece}, 40000))
		if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// pieces gives so many bytes at once at most.
type pieces struct {
	r    io.Reader
	most int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.most)]) }

func TestRecordsAreWrittenInOneCall(t *testing.T) {
	var calls countedWrites
	w := wire.NewWriter(&calls)
	if err := w.Call(wire.JSON, &wire.Heartbeat{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Event(wire.Msgpack, &wire.Ack{Sequence: 7}); err != nil {
		t.Fatal(err)
	}
	want := countedWrites{"20\n{\"type\":\"HEARTBEAT\"}", "25\n\x82\xa4type\xa3ACK\xa3ack\x81\xa8sequence\x07"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// What is not written leaves no trace.
	var field *wire.FieldError
	if err := w.Event(wire.JSON, &wire.Error{Message: "\xff"}); !errors.As(err, &field) {
		t.Errorf("error is %v", err)
	}
	if err := w.Call(wire.JSON, &wire.Subscribe{Version: "\xff"}); !errors.As(err, &field) {
		t.Errorf("error is %v", err)
	}
	if len(calls) != 2 {
		t.Errorf("%d calls of Write, want 2", len(calls))
	}
}

type countedWrites []string

func (w *countedWrites) Write(b []byte) (int, error) {
	*w = append(*w, string(b))
	return len(b), nil
}

// A length is a claim of somebody else's: memory follows the bytes that came.
func TestAnnouncedRecordsCostNoMemory(t *testing.T) {
	const most = 64 << 10
	for _, stream := range []string{"2147483647\n", "2147483647\nabc", "1073741824\n" + strings.Repeat("x", 10000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := wire.NewReader(strings.NewReader(stream), math.MaxInt32).Next()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err != io.ErrUnexpectedEOF || took > most {
			t.Errorf("%.20q takes %d bytes of memory, want at most %d; %v", stream, took, most, err)
		}
	}
}

func TestIdleStreamsTakeLittleMemory(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	stream := &held{data: []byte("1048576\n" + large + strings.Repeat("1\nx", 10))}
	r := wire.NewReader(stream, 1<<20)
	for range 3 { // the large one; one that came with it or not; one after it
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if stream.room > 1024 {
		t.Errorf("a read has room for %d bytes after a large record, want at most 1024", stream.room)
	}
}

func TestLaterRecordsMayHaveAnotherLimit(t *testing.T) {
	r := wire.NewReader(strings.NewReader("3\nabc2\nde3\nfgh"), 3)
	if got, err := r.Next(); string(got) != "abc" || err != nil {
		t.Fatalf("first record is %q, %v", got, err)
	}
	r.SetLimit(2)
	got, err := readAll(r)
	if diff := cmp.Diff([]string{"de"}, got); diff != "" || !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Who asks for the size may wait before the record is read.
func TestSizesAreToldBeforeTheRecord(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	go out.Write([]byte("100000\n"))
	r := wire.NewReader(in, 100000)
	for range 2 {
		if n, err := r.Size(); n != 100000 || err != nil {
			t.Fatalf("size is %d, %v, want 100000", n, err)
		}
	}
	go out.Write([]byte(strings.Repeat("x", 100000) + "100001\n"))
	if record, err := r.Next(); len(record) != 100000 || err != nil {
		t.Fatalf("record has %d bytes, %v, want 100000", len(record), err)
	}
	for range 2 {
		if n, err := r.Size(); n != 0 || !errors.Is(err, wire.ErrTooLong) {
			t.Errorf("size is %d, %v, want %v", n, err, wire.ErrTooLong)
		}
	}
	if _, err := r.Next(); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("error is %v, want %v", err, wire.ErrTooLong)
	}
}

// held gives what is asked for, but nothing behind a large record together with
// it, and remembers how much was asked for last.
type held struct {
	data []byte
	room int
}

func (h *held) Read(b []byte) (int, error) {
	h.room = len(b)
	n := len(b)
	if left := len(h.data) - 30; left > 0 {
		n = min(n, left)
	}
	n = copy(b[:n], h.data)
	h.data = h.data[n:]
	return n, nil
}

func TestFramesOfOneStreamShareTheirMemory(t *testing.T) {
	var stream bytes.Buffer
	w, r := wire.NewWriter(&stream), wire.NewReader(&stream, 1000)
	if n := testing.AllocsPerRun(100, func() {
		if err := w.Event(wire.JSON, &wire.Heartbeat{}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a record takes %v allocations, want 0", n)
	}
}
