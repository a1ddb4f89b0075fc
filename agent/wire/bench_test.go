package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
)

func BenchmarkEncode(b *testing.B) {
	for _, tasks := range []int{0, 100} {
		for _, e := range encodings {
			b.Run(fmt.Sprintf("enc=%v/tasks=%d", e, tasks), func(b *testing.B) {
				call := comeBack(tasks)
				var buf []byte
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if buf, err = wire.AppendCall(buf[:0], e, call); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(buf)), "B/record")
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, tasks := range []int{0, 100} {
		for _, e := range encodings {
			b.Run(fmt.Sprintf("enc=%v/tasks=%d", e, tasks), func(b *testing.B) {
				record, err := wire.AppendCall(nil, e, comeBack(tasks))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := wire.DecodeCall(e, record); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkHeartbeat is what an idle stream costs: a record written and read.
func BenchmarkHeartbeat(b *testing.B) {
	for _, e := range encodings {
		b.Run(fmt.Sprintf("enc=%v", e), func(b *testing.B) {
			var stream bytes.Buffer
			w, r := wire.NewWriter(&stream), wire.NewReader(&stream, 1<<20)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Call(e, &wire.Heartbeat{}); err != nil {
					b.Fatal(err)
				}
				record, err := r.Next()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := wire.DecodeCall(e, record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNext reads records of about the size of an update.
func BenchmarkNext(b *testing.B) {
	var stream bytes.Buffer
	const n = 100
	for range n {
		stream.WriteString(framed(strings.Repeat("x", 1000)))
	}
	b.SetBytes(int64(stream.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r := wire.NewReader(bytes.NewReader(stream.Bytes()), 1<<20)
		for range n {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			b.Fatal(err)
		}
	}
}
