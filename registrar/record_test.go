package registrar

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/internal/pack"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

var (
	ours    = store.HistoryID{0: 1, 15: 0xff}
	decided = time.Date(2026, 1, 2, 15, 4, 5, 678, time.UTC)
)

// recordOf is a record whose one operation and whose rows are these bytes.
func recordOf(operation, rows []byte) []byte {
	w := newRecordWriter()
	w.n, w.ops.Bytes = 1, operation
	return bytes.Clone(w.finish(ours, 1, decided, rows))
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	w := newRecordWriter()
	for range 2 { // the second time with the buffers of the first
		w.reset()
		want := []told{
			{rows: 1},
			{rows: 2, by: provenance{requestID: "r"}},
			{rows: 300, by: provenance{reason: "new rack"}},
			{rows: 0, by: provenance{"r", "operator@example.com", "größer"}},
			{by: provenance{requestID: "s"}, refusal: refusal{"no", 0}},
			{by: provenance{"t", "p", "x"}, refusal: refusal{"agent is gone", 3}},
		}
		for _, o := range want {
			w.operation(o)
		}
		got, err := parseRecord(new(pack.Reader), w.finish(ours, math.MaxUint64, decided, []byte("rows")))
		if err != nil || got.history != ours || got.epoch != math.MaxUint64 || !got.stamp.Equal(decided) ||
			got.changed != 3 || !got.named || string(got.rows) != "rows" {
			t.Errorf("record is %+v, %v", got, err)
		}
		if ops := slices.Collect(got.operations()); !slices.Equal(ops, want) {
			t.Errorf("it tells of %+v, want %+v", ops, want)
		}
	}
}

func TestEmptyValuesAtTheEndOfAnOperationAreLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		o    told
		want []byte
	}{
		"nobody":     {told{rows: 1}, []byte{1}},
		"request ID": {told{rows: 1, by: provenance{requestID: "r"}}, []byte{0x92, 1, 0xa1, 'r'}},
		"principal":  {told{rows: 1, by: provenance{principal: "p"}}, []byte{0x93, 1, 0xa0, 0xa1, 'p'}},
		"reason":     {told{rows: 1, by: provenance{reason: "x"}}, []byte{0x94, 1, 0xa0, 0xa0, 0xa1, 'x'}},
		"refused": {told{by: provenance{requestID: "r"}, refusal: refusal{"no", 0}},
			[]byte{0x95, 0, 0xa1, 'r', 0xa0, 0xa0, 0xa2, 'n', 'o'}},
		"for a reason": {told{by: provenance{requestID: "r"}, refusal: refusal{"no", 1}},
			[]byte{0x96, 0, 0xa1, 'r', 0xa0, 0xa0, 0xa2, 'n', 'o', 1}},
	} {
		w := newRecordWriter()
		if w.operation(c.o); !bytes.Equal(w.ops.Bytes, c.want) {
			t.Errorf("%s: operation is %x, want %x", name, w.ops.Bytes, c.want)
		}
	}
}

func TestBrokenRecordIsRefused(t *testing.T) {
	whole := recordOf([]byte{1}, nil)
	start := len(whole) - 3 // of the operation
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":               {nil, "at byte 0: the bytes end too early"},
		"no version":            {[]byte{0xc0}, "at byte 0: want a number from 0, have code 0xc0"},
		"short history":         {[]byte{1, 0xc4, 1, 7}, "at byte 4: a history of 1 bytes"},
		"history 4 GiB long":    {[]byte{1, 0xc6, 0xff, 0xff, 0xff, 0xff}, "at byte 6: 4294967295 bytes announced, 0 left"},
		"4 Gi operations":       {append(whole[:start-1:start-1], 0xdd, 0xff, 0xff, 0xff, 0xff), "at byte 34: an array of 4294967295 items is too long here"},
		"an empty operation":    {recordOf([]byte{0x90, 1}, nil), "at byte 31: an operation without the number of its rows"},
		"an operation too long": {recordOf([]byte{0x97, 1, 0xa0, 0xa0, 0xa0, 0xa0, 0, 0}, nil), "at byte 31: an array of 7 items is too long here"},
		"refused, and has rows": {recordOf([]byte{0x95, 1, 0xa1, 'r', 0xa0, 0xa0, 0xa2, 'n', 'o'}, nil), "at byte 39: a refused operation that has rows"},
		"a principal of bytes":  {recordOf([]byte{0x93, 1, 0xa0, 0xc4, 0}, nil), "at byte 33: want a string, have code 0xc4"},
		"trailing bytes":        {append(whole[:len(whole):len(whole)], 0), "at byte 33: 1 bytes too many"},
	} {
		_, err := parseRecord(new(pack.Reader), c.data)
		if err == nil || err.Error() != c.want || errors.Is(err, registry.ErrVersion) {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
	}
}

// FuzzParseRecord reads any bytes: rows are a view of them, and no more
// operations are counted than they have bytes.
func FuzzParseRecord(f *testing.F) {
	w := newRecordWriter()
	w.operation(told{rows: 1})
	w.operation(told{rows: 300, by: provenance{"r", "operator@example.com", "new rack"}})
	f.Add(bytes.Clone(w.finish(ours, 7, decided, []byte("rows"))))
	f.Add(recordOf([]byte{0x95, 0, 0xa1, 'r', 0xa0, 0xa0, 0xa2, 'n', 'o'}, nil))
	f.Add(recordOf([]byte{0x90, 1}, nil))
	f.Add([]byte{2})
	whole := recordOf(nil, nil)
	for _, bomb := range [][]byte{{0xdd, 0xff, 0xff, 0xff, 0xff}, {0xc6, 0xff, 0xff, 0xff, 0xff}} {
		f.Add(bomb)
		f.Add(append([]byte{1}, bomb...))
		f.Add(append(whole[:len(whole)-3:len(whole)-3], bomb...))
		f.Add(append(whole[:len(whole)-2:len(whole)-2], bomb...))
		f.Add(recordOf(bomb, nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r pack.Reader
		rec, err := parseRecord(&r, data)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(data, rec.rows) || cap(rec.rows) != len(rec.rows) {
			t.Errorf("rows are %x with room for %d, want the end of %x", rec.rows, cap(rec.rows), data)
		}
		if rec.changed > uint64(len(data)) {
			t.Errorf("%d operations in %d bytes", rec.changed, len(data))
		}
		n := 0
		for range rec.operations() {
			n++
		}
		if n != rec.n {
			t.Errorf("it tells of %d operations, and has %d", n, rec.n)
		}
		again, err := parseRecord(&r, data)
		if err != nil || again.changed != rec.changed || again.epoch != rec.epoch || again.history != rec.history {
			t.Errorf("read again it is %+v, %v; was %+v", again, err, rec)
		}
	})
}
