package metrics

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

func BenchmarkCounterInc(b *testing.B) {
	var c Counter
	for b.Loop() {
		c.Inc()
	}
}

// BenchmarkCounterIncFrom16 is what one costs while others do the same.
func BenchmarkCounterIncFrom16(b *testing.B) {
	var c Counter
	b.SetParallelism(8)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			c.Inc()
		}
	})
}

func BenchmarkBlockAdd(b *testing.B) {
	block := newBlock("a/", "", shapeOf(58))
	for b.Loop() {
		block.Add(7, 1)
	}
}

func BenchmarkAddAndRemove100000(b *testing.B) {
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("metrics/%s/%06d", strings.Repeat("x", 80), i*7919%len(names))
	}
	for b.Loop() {
		var t Table
		for _, name := range names {
			if _, err := t.Counter(name); err != nil {
				b.Fatal(err)
			}
		}
		for _, name := range names {
			if err := t.Remove(name); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*len(names)), "ns/each")
}

// BenchmarkWrite is one answer. That of 20,000 blocks is larger than any cache.
func BenchmarkWrite(b *testing.B) {
	shape := shapeOf(58)
	for _, many := range []int{1000, 20_000} {
		var t Table
		var blocks []*Block
		for i := range many {
			block, err := t.Block(fmt.Sprintf("master/frameworks/default/20261203-000000-000000-00000-%06d/", i), fmt.Sprintf(`id="%d"`, i), shape)
			if err != nil {
				b.Fatal(err)
			}
			blocks = append(blocks, block)
		}
		for f, name := range []string{"v0", "v1_json", "v1_protobuf", "prometheus"} {
			for _, changed := range []int{0, 1, shape.Len()} {
				b.Run(fmt.Sprintf("blocks=%d/form=%s/changed=%d", many, name, changed), func(b *testing.B) {
					t.Snapshot(context.Background()).Write(io.Discard, Form(f)) // what is remembered is made
					for b.Loop() {
						for _, block := range blocks {
							for i := range changed {
								block.Add(i, 1)
							}
						}
						t.Snapshot(context.Background()).Write(io.Discard, Form(f))
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(blocks)), "ns/block")
				})
			}
			t.Forget()
		}
	}
}
