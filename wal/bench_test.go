package wal_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/wal"
)

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ size, flight int }{{600, 1}, {600, 64}, {192 << 10, 1}, {192 << 10, 4}} {
		b.Run(fmt.Sprintf("size=%d/inflight=%d", c.size, c.flight), func(b *testing.B) {
			l, err := wal.Create(filepath.Join(b.TempDir(), "store"), wal.Options{Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			r := storetest.Rec(1, 1, c.size)
			var flying []func() error
			var took []time.Duration
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				durable, err := l.Append(r)
				if err != nil {
					b.Fatal(err)
				}
				flying = append(flying, durable)
				if len(flying) == c.flight {
					for _, f := range flying {
						if err := f(); err != nil {
							b.Fatal(err)
						}
					}
					flying = flying[:0]
				}
				took = append(took, time.Since(start))
				r.Seq, r.First, r.Revision = r.Seq+1, r.First+1, r.Revision+1
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkOpen opens a store of 10,000 agents' worth, as a crash left it and
// after a clean close, and reads it through.
func BenchmarkOpen(b *testing.B) {
	const records, size = 30, 192 << 10
	dir := b.TempDir()
	live, clean := filepath.Join(dir, "live"), filepath.Join(dir, "clean")
	l, err := wal.Create(live, wal.Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	for seq := range uint64(records) {
		durable, err := l.Append(storetest.Rec(seq+1, 1, size))
		if err == nil {
			err = durable()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	crashed := func() string {
		to := filepath.Join(b.TempDir(), "crashed")
		copyDir(b, live, to)
		return to
	}
	b.Run("after=crash", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			to := crashed()
			b.StartTimer()
			openAndRead(b, to, records)
		}
	})
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	copyDir(b, live, clean)
	b.Run("after=close", func(b *testing.B) {
		for b.Loop() {
			openAndRead(b, clean, records)
		}
	})
}

func openAndRead(b *testing.B, dir string, want int) {
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, err := range l.Records(context.Background(), 0) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != want {
		b.Fatalf("got %d records, want %d", n, want)
	}
	b.StopTimer()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}
