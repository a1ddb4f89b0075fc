package wire

import (
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

// Which members came is a mask of 64 bits.
func TestObjectsHaveNoMoreMembersThanBits(t *testing.T) {
	f := opt("m", text[string](), same[string])
	fields := make([]field[string], 65)
	for i := range fields {
		fields[i] = f
	}
	object(fields[:64]...)
	defer func() {
		if recover() == nil {
			t.Error("an object of 65 members is taken")
		}
	}()
	object(fields...)
}

// A pool gives what was put into it last to who put it there, if it kept it.
func TestLargeRoomIsNotKept(t *testing.T) {
	call := &Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "h", Payload: make([]byte, 1<<20)}, Version: strings.Repeat("x", 1<<20)}
	record, err := AppendCall(nil, Msgpack, call)
	if err != nil {
		t.Fatal(err)
	}
	if w := writers.Get().(*writer); w.buf.Cap() > pooled {
		t.Errorf("a writer keeps %d bytes, want at most %d", w.buf.Cap(), pooled)
	}
	if _, err := DecodeCall(Msgpack, record); err != nil {
		t.Fatal(err)
	}
	if r := readers.Get().(*reader); cap(r.room) > pooled {
		t.Errorf("a reader keeps %d bytes, want at most %d", cap(r.room), pooled)
	}
}
