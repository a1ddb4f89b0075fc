package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// FuzzReader reads a stream whole and in small pieces: the records are the same,
// within the limit, and written they are the stream again, but for zeros before
// a length.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"", "3\nabc", "0\n0\n1\nx", "00000000000000000001\nx", "18446744073709551616\n", "99\n" + strings.Repeat("x", 99), "-1\n", "5\nabc",
		strings.Repeat("98\n"+strings.Repeat("0123456789", 9)+"abcdefgh", 20)} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		const limit = 100
		piece = 1 + piece&15
		whole, err := readAll(wire.NewReader(bytes.NewReader(stream), limit))
		inPieces, err2 := readAll(wire.NewReader(pieces{bytes.NewReader(stream), piece}, limit))
		if diff := cmp.Diff(whole, inPieces); diff != "" || err.Error() != err2.Error() {
			t.Fatalf("%v whole, %v in pieces of %d\n%s", err, err2, piece, diff)
		}
		var again bytes.Buffer
		for _, record := range whole {
			again.WriteString(framed(record))
		}
		if err != io.EOF {
			return
		}
		back, err := readAll(wire.NewReader(&again, limit))
		if diff := cmp.Diff(whole, back); diff != "" || err != io.EOF {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

func FuzzDecodeCall(f *testing.F) {
	seedFrom(f, true)
	f.Fuzz(func(t *testing.T, packed bool, record []byte) {
		call, err := wire.DecodeCall(encodingOf(packed), record)
		if agreesOnJSON(t, packed, record, err); err == nil {
			saidAgain(t, sample{call: call})
		}
	})
}

func FuzzDecodeEvent(f *testing.F) {
	seedFrom(f, false)
	f.Fuzz(func(t *testing.T, packed bool, record []byte) {
		event, err := wire.DecodeEvent(encodingOf(packed), record)
		if agreesOnJSON(t, packed, record, err); err == nil {
			saidAgain(t, sample{event: event})
		}
	})
}

func encodingOf(packed bool) wire.Encoding {
	if packed {
		return wire.Msgpack
	}
	return wire.JSON
}

func seedFrom(f *testing.F, up bool) {
	// In small pieces: a fuzzer takes long to make large ones small.
	pieces := []sample{
		{call: &wire.Subscribe{Sequence: 1, Agent: fullAgent, Version: "1", Capabilities: []string{"C"}, Supersedes: "b"}},
		{call: &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "h"}, Version: "1", AgentID: "a", CompletedFrameworks: []wire.CompletedFramework{{Info: fullFramework}}}},
		{call: &wire.Update{Sequence: 2, Tasks: []wire.Task{fullTask}}},
		{call: &wire.Update{Sequence: 2, Executors: []wire.ExecutorInfo{{ID: "e", FrameworkID: "f", Command: `{"a":[1,null]}`}}}},
	}
	for _, s := range slices.Concat(pieces, samples) {
		if (s.call != nil) != up || s.name == "subscribe-back" || s.name == "update" {
			continue
		}
		for _, packed := range []bool{false, true} {
			record, err := s.append(nil, encodingOf(packed))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(packed, record)
		}
	}
	for _, s := range []string{
		"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff",
		"\x82\xa4type\xa9HEARTBEAT\xa1x\xdd\xff\xff\xff\xff", "\x82\xa4type\xa9HEARTBEAT\xa1x\xd4\x01\x00",
		`{"x":"\ud83d\ude00","type":"HEARTBEAT"}`, `{"x":[1.5e3,-0,[[]]],"type":"SING"}`,
	} {
		f.Add(s[0] != '{', []byte(s))
	}
}

// agreesOnJSON holds what we take for JSON against encoding/json.
func agreesOnJSON(t *testing.T, packed bool, record []byte, err error) {
	t.Helper()
	if err == nil && !packed && !(json.Valid(record) && utf8.Valid(record)) {
		t.Fatalf("%q is taken", record)
	}
}

// saidAgain encodes what was decoded, in both encodings, and decodes it.
func saidAgain(t *testing.T, s sample) {
	t.Helper()
	for _, e := range encodings {
		record, err := s.append(nil, e)
		if err != nil {
			t.Fatalf("%v of %+v: %v", e, s.value(), err)
		}
		got, err := s.decode(e, record)
		if err != nil {
			t.Fatalf("%v: %v\n%q", e, err, record)
		}
		if diff := cmp.Diff(s.value(), got); diff != "" {
			t.Fatalf("%v (-said +understood)\n%s", e, diff)
		}
	}
}
