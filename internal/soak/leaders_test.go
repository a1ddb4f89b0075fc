package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/etcdtest"
	"github.com/eaba02dc/registrar/registrar"
)

// line is a master's way to etcd, which can be cut, or hang as that of a process
// that is stopped.
type line struct {
	mu   sync.Mutex
	bad  string        // "", "cut" or "hangs"
	well chan struct{} // closed when it is no longer bad
}

func (l *line) becomes(bad string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bad != "" {
		close(l.well)
	}
	l.bad, l.well = bad, make(chan struct{})
}

// passes waits, or fails, as the line is.
func (l *line) passes(ctx context.Context) error {
	l.mu.Lock()
	bad, well := l.bad, l.well
	l.mu.Unlock()
	switch bad {
	case "cut":
		return status.Error(codes.Unavailable, "the line is cut")
	case "hangs":
		select {
		case <-well:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// client asks etcd over the line; an answer may be lost as well as a request.
func (l *line) client(t *testing.T, url string) *clientv3.Client {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			err := l.passes(ctx)
			if err == nil {
				err = invoke(ctx, method, req, reply, cc, opts...)
			}
			if err == nil {
				err = l.passes(ctx)
			}
			return err
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// leading is a master at the time that it takes itself for the leader.
type leading struct {
	*registrar.Registrar
	lead *etcdstore.Leadership
}

// standing is a master that leads whenever it can.
type standing struct {
	line   line
	client *clientv3.Client
	now    atomic.Pointer[leading]
}

// serve leads again and again until ctx ends.
func (m *standing) serve(ctx context.Context, prefix string) error {
	for ctx.Err() == nil {
		lead, err := etcdstore.Campaign(ctx, m.client, prefix, etcdstore.Candidate{Name: "m", Lease: 2 * time.Second})
		if err != nil {
			continue // the line is bad, or it is over
		}
		s, err := etcdstore.Open(ctx, m.client, etcdstore.Options{Prefix: prefix, Leadership: lead, Make: true, Timeout: time.Second, Logger: quiet})
		if err != nil {
			if lead.Leads() && ctx.Err() == nil && status.Code(errors.Unwrap(err)) != codes.Unavailable {
				return fmt.Errorf("the leader cannot open: %w", err)
			}
			continue
		}
		r, err := registrar.Open(ctx, s, registrar.Options{Logger: quiet, CheckpointBytes: 1, HistoryRecords: 10})
		if err != nil {
			var mismatch *registrar.MismatchError
			if errors.As(err, &mismatch) {
				return err
			}
			continue
		}
		m.now.Store(&leading{r, lead})
		select {
		case <-lead.Lost():
		case <-s.Failed():
		case <-ctx.Done():
		}
		m.now.Store(nil)
		r.Close()
	}
	return nil
}

// TestLeadersOnEtcdAreLinearizable has three masters on one etcd, whose lines are
// cut and hang, and an etcd that stops, while clients ask whichever master takes
// itself for the leader. There is one order of all that they were told that one
// registry could have gone through: no write of two leaders, none that was lost, no
// reading at a leader that is none.
func TestLeadersOnEtcdAreLinearizable(t *testing.T) {
	t.Parallel()
	if testing.Short() && *soakFor == 0 {
		t.Skip("each fault lasts longer than a lease, which is two seconds at least")
	}
	etcd := etcdtest.Start(t)
	seed, until, rounds := *soakSeed, time.Now().Add(*soakFor), 0
	if seed == 0 {
		seed = rand.Uint64()
	}
	if limit, ok := t.Deadline(); ok && limit.Add(-time.Minute).Before(until) {
		until = limit.Add(-time.Minute)
	}
	for {
		t.Logf("-seed %d", seed)
		leadersLive(t, etcd, seed)
		rounds++
		if t.Failed() || !time.Now().Before(until) {
			t.Logf("%d rounds", rounds)
			return
		}
		seed++
	}
}

func leadersLive(t *testing.T, etcd *etcdtest.Server, seed uint64) {
	const masters, clients, faults = 3, 3, 3
	rng := rand.New(rand.NewPCG(seed, 5))
	prefix := fmt.Sprintf("/leaders-%d/", seed)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	all := make([]*standing, masters)
	var serving, working sync.WaitGroup
	for i := range all {
		all[i] = &standing{}
		all[i].client = all[i].line.client(t, etcd.URL)
		serving.Go(func() {
			if err := all[i].serve(ctx, prefix); err != nil {
				t.Errorf("master %d: %v", i, err)
			}
		})
	}
	h := &history{}
	done := make(chan struct{})
	for i := range clients {
		rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(rng.IntN(20)) * time.Millisecond):
				}
				if m := all[rng.IntN(masters)].now.Load(); m != nil {
					if err := h.ask(m, i, rng); err != nil {
						t.Errorf("client %d: %v", i, err)
					}
				}
			}
		})
	}
	for range faults {
		<-time.After(time.Duration(rng.IntN(400)) * time.Millisecond)
		lasts := time.Duration(rng.IntN(3500)) * time.Millisecond
		switch what := rng.IntN(3); what {
		case 0:
			etcd.Pause()
			<-time.After(lasts)
			etcd.Resume()
		default:
			m := all[rng.IntN(masters)]
			for _, other := range all { // the leader, if there is one
				if other.now.Load() != nil {
					m = other
				}
			}
			m.line.becomes([]string{"cut", "hangs"}[what-1])
			<-time.After(lasts)
			m.line.becomes("")
		}
	}
	h.oneMore(t, all, rng)
	close(done)
	working.Wait()
	end()
	serving.Wait()
	if porcupine.CheckOperationsTimeout(model, h.all, time.Minute) != porcupine.Ok {
		t.Errorf("seed %d: no order of these explains them all:\n%s", seed, h)
	}
	told := map[bool]int{}
	for _, o := range h.all {
		told[o.Output.(answer).unknown]++
	}
	t.Logf("%d answers, %d calls of unknown outcome", told[false], told[true])
}

// oneMore waits until a leader takes a write after all faults: the cluster recovers.
func (h *history) oneMore(t *testing.T, all []*standing, rng *rand.Rand) {
	for begun := time.Now(); time.Since(begun) < 30*time.Second; <-time.After(10 * time.Millisecond) {
		for _, m := range all {
			if now := m.now.Load(); now != nil {
				if err := h.apply(now.Registrar, 100, call{what: "readmit", i: rng.IntN(3)}); err != nil {
					t.Error(err)
				}
				if h.answeredTo(100) {
					return
				}
			}
		}
	}
	t.Error("half a minute after the last fault no master takes a write")
}

// answeredTo reports whether a client was told what became of its last call.
func (h *history) answeredTo(client int) (is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.all {
		if o.ClientId == client {
			is = !o.Output.(answer).unknown
		}
	}
	return is
}

// ask does one call or reading. A reading counts only if the master knew all the
// while that it leads.
func (h *history) ask(m *leading, client int, rng *rand.Rand) error {
	if rng.IntN(3) > 0 {
		c := call{what: calls[rng.IntN(len(calls))], i: rng.IntN(3)}
		c.j = (c.i + 1 + rng.IntN(2)) % 3
		return h.apply(m.Registrar, client, c)
	}
	called := h.clock.Add(1)
	state := stateOf(m.Snapshot())
	if m.lead.Leads() {
		h.add(client, called, call{what: "read"}, answer{state: state})
	}
	return nil
}
