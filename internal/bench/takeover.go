package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

// Takeover measures how long a cluster is without a leader: several masters on one
// etcd, of which the leader is killed while agents are connected and clients write.
type Takeover struct {
	// Agents are how many agents, each size in turn; Masters how many masters.
	Agents  []int
	Masters int
	// Lease is for how long a leader leads that is not heard of.
	Lease time.Duration
	// Rounds is how often each size is measured, at least 1; medians are reported.
	Rounds int
	// Client asks the etcd. The benchmark keeps to a prefix of its own, which it
	// removes.
	Client *clientv3.Client
	// Master is the command of a master on the registry below prefix, which prints
	// one line once it answers at the port, and another once it leads.
	Master func(ctx context.Context, prefix string, port int) *exec.Cmd
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// TakeoverReport is what was found, in the form of its JSON.
type TakeoverReport struct {
	Benchmark string         `json:"benchmark"`
	Host      Host           `json:"host"`
	Params    TakeoverParams `json:"params"`
	Results   []TakeoverRow  `json:"results"`
}

// TakeoverParams is how it was called.
type TakeoverParams struct {
	Agents  []int `json:"agents"`
	Masters int   `json:"masters"`
	Rounds  int   `json:"rounds"`
	Writers int   `json:"writers"`
}

// TakeoverRow is one size: medians over the rounds, but sums of what must not be.
type TakeoverRow struct {
	Agents       int     `json:"agents"`
	LeaseSeconds float64 `json:"lease_seconds"`
	// TakeoverSeconds is from the end of the dead leader's lease until the next one
	// has acknowledged a write; WithoutSeconds from its death until then.
	TakeoverSeconds float64 `json:"takeover_seconds"`
	WithoutSeconds  float64 `json:"without_leader_seconds"`
	// ReregisteredSeconds is from then until the last agent is a member again.
	ReregisteredSeconds float64 `json:"reregistered_seconds"`
	// Writes were acknowledged. Lost are those that are not in the registry,
	// DoubleWrites those that are twice in its log.
	Writes       int `json:"writes"`
	Lost         int `json:"lost"`
	DoubleWrites int `json:"double_writes"`
}

// takeoverWriters are how many clients write, each waiting for one answer before
// the next.
const takeoverWriters = 8

// Phases is how many phases Run goes through in all.
func (b Takeover) Phases() int { return len(b.Agents) * b.Rounds }

// Validate says what is wrong with the parameters, or nothing.
func (b Takeover) Validate() error {
	if err := (Failover{Agents: b.Agents, Frameworks: 1, Rounds: b.Rounds}).Validate(); err != nil {
		return err
	}
	if b.Masters < 2 || b.Masters > 16 {
		return fmt.Errorf("%d masters: from 2 to 16 can be measured", b.Masters)
	}
	return nil
}

// Run measures every size in turn. Ending ctx ends it with an error.
func (b Takeover) Run(ctx context.Context) (TakeoverReport, error) {
	report := TakeoverReport{Benchmark: "takeover", Host: thisHost(), Params: TakeoverParams{b.Agents, b.Masters, b.Rounds, takeoverWriters}}
	for _, agents := range b.Agents {
		var rounds []TakeoverRow
		for range b.Rounds {
			row, err := b.round(ctx, agents)
			if err != nil {
				return report, fmt.Errorf("measure the takeover of %d agents: %w", agents, err)
			}
			rounds = append(rounds, row)
			if b.Progress != nil {
				b.Progress()
			}
		}
		report.Results = append(report.Results, b.row(agents, rounds))
	}
	return report, nil
}

func (b Takeover) row(agents int, rounds []TakeoverRow) TakeoverRow {
	out := TakeoverRow{Agents: agents, LeaseSeconds: b.Lease.Seconds()}
	var took, without, back []float64
	for _, r := range rounds {
		took, without, back = append(took, r.TakeoverSeconds), append(without, r.WithoutSeconds), append(back, r.ReregisteredSeconds)
		out.Writes += r.Writes
		out.Lost += r.Lost
		out.DoubleWrites += r.DoubleWrites
	}
	out.TakeoverSeconds, out.WithoutSeconds, out.ReregisteredSeconds = median(took), median(without), median(back)
	return out
}

// round kills one leader.
func (b Takeover) round(ctx context.Context, agents int) (row TakeoverRow, err error) {
	prefix := "/regtool-bench-" + strings.ToLower(rand.Text()[:8]) + "/"
	defer func() { err = errors.Join(err, OnEtcd{Client: b.Client}.remove(prefix)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	masters, err := b.start(ctx, prefix)
	defer func() {
		for _, m := range masters {
			err = errors.Join(err, m.kill())
		}
	}()
	if err != nil {
		return row, err
	}
	leaders := etcdstore.Leaders(ctx, b.Client, prefix)
	first, err := leader(leaders, masters, "")
	if err != nil {
		return row, err
	}
	crowd := newCrowd(fleet{Agents: agents, Frameworks: 1, Tasks: 1}, false)
	defer func() { err = errors.Join(err, crowd.stop()) }()
	if err := crowd.start(ctx); err != nil {
		return row, err
	}
	if err := crowd.comeIn(ctx, first.address); err != nil {
		return row, err
	}
	crowd.door.close()
	w := newWriters(masters)
	defer w.end()
	if err := w.another(ctx); err != nil {
		return row, err
	}
	killed := time.Now()
	if err := first.kill(); err != nil {
		return row, err
	}
	next, err := leader(leaders, masters, first.url)
	leaseEnd := time.Now()
	if err != nil {
		return row, err
	}
	w.since(killed)
	if err := w.another(ctx); err != nil {
		return row, err
	}
	wrote := time.Now()
	if err := crowd.comeIn(ctx, next.address); err != nil {
		return row, err
	}
	row.TakeoverSeconds, row.WithoutSeconds, row.ReregisteredSeconds = wrote.Sub(leaseEnd).Seconds(), wrote.Sub(killed).Seconds(), time.Since(wrote).Seconds()
	acked := w.end()
	row.Writes = len(acked)
	row.Lost, row.DoubleWrites, err = b.compare(ctx, prefix, acked)
	return row, err
}

// candidate is a master in a process of its own.
type candidate struct {
	*child
	url, address string
}

func (b Takeover) start(ctx context.Context, prefix string) (masters []*candidate, err error) {
	for range b.Masters {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return masters, err
		}
		address := l.Addr().(*net.TCPAddr)
		if err := l.Close(); err != nil {
			return masters, err
		}
		c, _, err := startChild(b.Master(ctx, prefix, address.Port))
		if err != nil {
			return masters, err
		}
		masters = append(masters, &candidate{c, fmt.Sprintf("http://localhost:%d", address.Port), address.String()})
	}
	return masters, nil
}

// leader waits until another master leads than before.
func leader(told <-chan string, masters []*candidate, before string) (*candidate, error) {
	for url := range told {
		for _, m := range masters {
			if m.url == url && url != before {
				return m, nil
			}
		}
	}
	return nil, errors.New("nobody leads")
}

// writers define pods, as fast as they are answered, at whichever master takes them.
type writers struct {
	masters []*candidate
	client  *http.Client
	stop    context.CancelFunc
	working sync.WaitGroup

	mu     sync.Mutex
	acked  []string
	after  time.Time // acknowledgements of requests sent before are no news
	signal chan struct{}
}

func newWriters(masters []*candidate) *writers {
	ctx, cancel := context.WithCancel(context.Background())
	w := &writers{masters: masters, client: &http.Client{Timeout: 2 * time.Second}, stop: cancel, signal: make(chan struct{}, 1)}
	for i := range takeoverWriters {
		w.working.Go(func() { w.write(ctx, i) })
	}
	return w
}

func (w *writers) write(ctx context.Context, i int) {
	at := 0
	for n := 0; ctx.Err() == nil; n++ {
		id, sent := fmt.Sprintf("/bench/%d-%d", i, n), time.Now()
		body, _ := json.Marshal(map[string]any{"id": id, "containers": []any{map[string]any{"name": "c", "resources": map[string]any{"cpus": 0.1, "mem": 32}}}})
		resp, err := w.client.Post(w.masters[at].url+"/v2/pods", "application/json", bytes.NewReader(body))
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusCreated {
			w.done(id, sent)
			continue
		}
		at = (at + 1) % len(w.masters)
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (w *writers) done(id string, sent time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked = append(w.acked, id)
	if sent.After(w.after) {
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}

// since leaves out what was sent before.
func (w *writers) since(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = t
	select {
	case <-w.signal:
	default:
	}
}

// another waits for one more acknowledgement.
func (w *writers) another(ctx context.Context) error {
	select {
	case <-w.signal:
		return nil
	case <-time.After(time.Minute):
		return errors.New("no write was acknowledged for a minute")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends the writers; what they were told is theirs.
func (w *writers) end() []string {
	w.stop()
	w.working.Wait()
	return w.acked
}

// compare looks for writes that were acknowledged, in the registry and in its log.
func (b Takeover) compare(ctx context.Context, prefix string, acked []string) (lost, double int, err error) {
	s, err := etcdstore.Open(ctx, b.Client, etcdstore.Options{Prefix: prefix, ReadOnly: true, Logger: quiet})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	r, _, err := registrar.Load(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	for _, id := range acked {
		if _, ok := r.Pod(id); !ok {
			lost++
		}
	}
	defined := map[string]bool{}
	for o, err := range registrar.Log(ctx, s, 0) {
		if err != nil {
			return lost, double, err
		}
		for c, err := range registry.Changes(o.Rows) {
			if err != nil {
				return lost, double, err
			}
			if pod, ok := c.Pod(); ok {
				if defined[pod.ID] {
					double++
				}
				defined[pod.ID] = true
			}
		}
	}
	return lost, double, nil
}

// Table is the report for people.
func (r TakeoverReport) Table() Table {
	t := Table{Header: []string{"AGENTS", "LEASE", "TAKEOVER", "WITHOUT A LEADER", "ALL BACK", "WRITES", "LOST", "TWICE"}}
	for _, row := range r.Results {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(row.Agents), fmt.Sprintf("%.0f s", row.LeaseSeconds), fmt.Sprintf("%.3f s", row.TakeoverSeconds), fmt.Sprintf("%.3f s", row.WithoutSeconds),
			fmt.Sprintf("%.3f s", row.ReregisteredSeconds), fmt.Sprint(row.Writes), fmt.Sprint(row.Lost), fmt.Sprint(row.DoubleWrites),
		})
	}
	return t
}
