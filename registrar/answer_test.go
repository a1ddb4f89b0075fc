package registrar

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// someAnswers has every kind of answer.
var someAnswers = []*answer{
	{id: "applied", seq: 1, revision: 1, changed: true},
	{id: "unchanged", seq: 2, revision: 1},
	{id: "refused", seq: 3, revision: 1, refusal: refusal{text: "no"}},
	{id: "for a reason", seq: 1 << 40, revision: 1 << 60, refusal: newRefusal(ops.ErrGone)},
}

// same compares answers but for their errors, which follow from the refusals.
func same(a, b *answer) bool {
	return a.id == b.id && a.seq == b.seq && a.revision == b.revision && a.changed == b.changed && a.refusal == b.refusal
}

func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	for _, size := range []int{1, 1 << 20} { // a chunk for each, and one for all
		q, chunks := newRequests(10), 0
		for chunk := range encodeRequests(someAnswers, size) {
			if chunks++; !isRequests(chunk) {
				t.Errorf("chunk %x is not taken for requests", chunk)
			}
			if err := q.decode(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if got := q.upTo(1 << 50); !slices.EqualFunc(got, someAnswers, same) {
			t.Errorf("in %d chunks: read %+v", chunks, got)
		}
		if got := q.upTo(2); !slices.EqualFunc(got, someAnswers[:2], same) {
			t.Errorf("up to record 2 there are %d, want 2", len(got))
		}
	}
	for range encodeRequests(nil, 1) {
		t.Error("no requests make a chunk")
	}
	for chunk := range registry.New().Chunks(1) {
		if isRequests(chunk) {
			t.Error("a chunk of the registry is taken for requests")
		}
	}
}

func TestBrokenRequestsAreRefused(t *testing.T) {
	for name, chunk := range map[string][]byte{
		"no version":     {0xc0},
		"too few fields": {0xc0, 1, 0x92, 0xa1, 'r', 1},
		"too many":       {0xc0, 1, 0x97, 0xa1, 'r', 1, 1, 0xc3, 0xa0, 1, 1},
		"a bomb":         {0xc0, 1, 0xdd, 0xff, 0xff, 0xff, 0xff},
		"cut":            {0xc0, 1, 0x93, 0xa1, 'r', 1},
	} {
		if err := newRequests(1).decode(chunk); err == nil || errors.Is(err, registry.ErrVersion) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if err := newRequests(1).decode([]byte{0xc0, 2}); !errors.Is(err, registry.ErrVersion) {
		t.Errorf("a newer version: %v", err)
	}
}

// FuzzRequests reads any bytes, holds no more answers than fit into them, and
// reads again what it writes of them.
func FuzzRequests(f *testing.F) {
	for chunk := range encodeRequests(someAnswers, 1<<20) {
		f.Add(bytes.Clone(chunk))
	}
	f.Add([]byte{0xc0, 1, 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xc0, 1, 0x93, 0xdb, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, chunk []byte) {
		q := newRequests(1 << 20)
		if !isRequests(chunk) || q.decode(chunk) != nil {
			return
		}
		all := q.upTo(1<<64 - 1)
		if 4*len(all) > len(chunk) {
			t.Errorf("%d answers out of %d bytes", len(all), len(chunk))
		}
		again := newRequests(1 << 20)
		for chunk := range encodeRequests(all, 1) {
			if err := again.decode(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if got := again.upTo(1<<64 - 1); !slices.EqualFunc(got, all, same) {
			t.Errorf("written and read again: %+v, was %+v", got, all)
		}
	})
}

// TestOnlyWhatIsDurableTakesThePlaceOfOlderAnswers: after a crash those under
// way may never have been.
func TestOnlyWhatIsDurableTakesThePlaceOfOlderAnswers(t *testing.T) {
	q := newRequests(3)
	for seq := range uint64(6) {
		q.add(&answer{id: string(rune('a' + seq)), seq: seq + 1})
	}
	for _, c := range []struct {
		durable uint64
		want    string
	}{{3, "abcdef"}, {5, "cdef"}, {6, "def"}} {
		q.settle(c.durable)
		got := ""
		for id := range strings.SplitSeq("abcdef", "") {
			if _, known := q.find(id); known {
				got += id
			}
		}
		if got != c.want {
			t.Errorf("with %d records durable %s are remembered, want %s", c.durable, got, c.want)
		}
	}
}
