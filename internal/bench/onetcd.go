package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/registrar"
)

// OnEtcd is the benchmark [Registrar] on an etcd in place of a disk: the storms,
// beside what etcd takes for the same bytes in puts of 1 MiB, and for one put for
// each agent.
type OnEtcd struct {
	// Agents, Rounds and AgentBytes are those of [Registrar].
	Agents     []int
	Rounds     int
	AgentBytes int
	// Client asks the etcd. The benchmark keeps to a prefix of its own, which it
	// removes.
	Client *clientv3.Client
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// etcdClients are how many put one agent at a time.
const etcdClients = 64

// Phases is how many phases Run goes through in all.
func (b OnEtcd) Phases() int { return len(b.Agents) * (b.Rounds + 1) * (len(stormsBefore) + 2) }

// Validate says what is wrong with the parameters, or nothing.
func (b OnEtcd) Validate() error {
	return Registrar{Agents: b.Agents, Rounds: b.Rounds, AgentBytes: b.AgentBytes}.Validate()
}

// Run measures every number of agents in turn. Ending ctx ends it with an error.
func (b OnEtcd) Run(ctx context.Context) (Report, error) {
	report := Report{
		Benchmark: "registrar", Host: thisHost(),
		Params: Params{Agents: b.Agents, Rounds: b.Rounds, AgentBytes: b.AgentBytes, Etcd: b.Client.Endpoints()},
	}
	for _, agents := range b.Agents {
		var counted [][]sample
		for repetition := range b.Rounds + 1 {
			samples, err := b.round(ctx, agents, uint64(repetition))
			if err != nil {
				return Report{}, fmt.Errorf("measure %d agents, repetition %d: %w", agents, repetition, err)
			}
			if repetition > 0 {
				counted = append(counted, samples)
			}
		}
		report.Results = append(report.Results, rows(agents, counted)...)
	}
	return report, nil
}

// round is one repetition: every storm on a registry of its own, and after each
// what etcd takes for its bytes.
func (b OnEtcd) round(ctx context.Context, agents int, seed uint64) (samples []sample, err error) {
	prefix := "/regtool-bench-" + strings.ToLower(rand.Text()[:8]) + "/"
	defer func() { err = errors.Join(err, b.remove(prefix)) }()
	w, err := newWorkload(agents, b.AgentBytes, seed)
	if err != nil {
		return nil, err
	}
	s, err := etcdstore.Create(ctx, b.Client, etcdstore.Options{Prefix: prefix + "registry/", Logger: quiet})
	if err != nil {
		return nil, err
	}
	o := engineOptions(agents)
	o.MaxBatchBytes = etcdstore.BatchBytes
	r, err := registrar.Open(ctx, s, o)
	if err != nil {
		return nil, err
	}
	e := &engine{Registrar: r}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := e.begun(ctx); err != nil {
		return nil, err
	}
	for i, storm := range append(stormsBefore[:len(stormsBefore):len(stormsBefore)], removal) {
		m, err := storm.run(ctx, e, w)
		if err != nil {
			return nil, err
		}
		if m.bytes > 0 {
			if m.bulk, err = b.bulk(ctx, prefix+"bulk/", int(m.bytes)); err != nil {
				return nil, err
			}
		}
		b.progress()
		if i == 0 {
			if m.put, err = b.puts(ctx, prefix+"put/", agents, int(m.bytes)/agents); err != nil {
				return nil, err
			}
			b.progress()
		}
		samples = append(samples, m)
		w.shuffle()
	}
	return samples, nil
}

func (b OnEtcd) progress() {
	if b.Progress != nil {
		b.Progress()
	}
}

// bulk is how long etcd takes for so many bytes, 1 MiB after another.
func (b OnEtcd) bulk(ctx context.Context, prefix string, bytes int) (seconds float64, err error) {
	value := strings.Repeat("v", 1<<20)
	start := time.Now()
	for n := 0; bytes > 0; n++ {
		if _, err := b.Client.Put(ctx, prefix+strconv.Itoa(n), value[:min(bytes, len(value))]); err != nil {
			return 0, err
		}
		bytes -= len(value)
	}
	return time.Since(start).Seconds(), nil
}

// puts is how long etcd takes for n values of so many bytes, put by clients that
// each wait for one before the next.
func (b OnEtcd) puts(ctx context.Context, prefix string, n, bytes int) (seconds float64, err error) {
	value := strings.Repeat("v", bytes)
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for client := range etcdClients {
		g.Go(func() error {
			for i := client; i < n; i += etcdClients {
				if _, err := b.Client.Put(ctx, prefix+strconv.Itoa(i), value); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	return time.Since(start).Seconds(), err
}

// remove takes away what the benchmark put, and has etcd forget it.
func (b OnEtcd) remove(prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	gone, err := b.Client.Delete(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	_, err = b.Client.Compact(ctx, gone.Header.Revision)
	return err
}

// EtcdTable is the report on etcd for people.
func (r Report) EtcdTable() Table {
	t := Table{Header: []string{"phase", "agents", "ms", "ops/s", "batches", "MB", "1 MiB puts ms", "x 1 MiB puts", "a put each ms", "times faster", "us cpu/op"}}
	for _, row := range r.Results {
		t.Rows = append(t.Rows, []string{
			row.Phase, strconv.Itoa(row.Agents), milli(row.Seconds), fmt.Sprintf("%.0f", row.OpsPerSecond), strconv.FormatUint(row.Batches, 10),
			mega(row.Bytes), milli(row.EtcdBulkSeconds), times(row.RatioToEtcdBulk), milli(row.EtcdPutSeconds), times(row.FasterThanEtcdPut),
			fmt.Sprintf("%.2f", row.CPUMicrosPerOp),
		})
	}
	return t
}
