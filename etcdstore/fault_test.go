package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/etcdtest"
	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
)

// between stands between a client and etcd: it sees each transaction.
type between struct {
	mu     sync.Mutex
	before func(n int) error // of the nth; an error is told instead of sending it
	after  func(n int) error // an error is told in place of the answer
	n      int
}

func (b *between) client(t *testing.T, s *etcdtest.Server) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.URL}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if method != "/etcdserverpb.KV/Txn" {
				return invoke(ctx, method, req, reply, cc, opts...)
			}
			b.mu.Lock()
			b.n++
			n, before, after := b.n, b.before, b.after
			b.mu.Unlock()
			if before != nil {
				if err := before(n); err != nil {
					return err
				}
			}
			err := invoke(ctx, method, req, reply, cc, opts...)
			if err == nil && after != nil {
				err = after(n)
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

// from has what is done to the transactions from now on, the next being number 1.
func (b *between) from(before, after func(n int) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before, b.after, b.n = before, after, 0
}

func create(t *testing.T, client *clientv3.Client, o etcdstore.Options) *etcdstore.Store {
	t.Helper()
	o.Logger = quiet
	s, err := etcdstore.Create(t.Context(), client, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func appended(t *testing.T, s store.Store, seq uint64) func() error {
	t.Helper()
	durable, err := s.Append(storetest.Rec(seq, 1, int(seq%300)))
	if err != nil {
		t.Fatal(err)
	}
	return durable
}

// holds checks that a registry has the records 1 to last, each once.
func holds(t *testing.T, client *clientv3.Client, prefix string, last uint64) {
	t.Helper()
	s, err := etcdstore.Open(t.Context(), client, etcdstore.Options{Prefix: prefix, ReadOnly: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := storetest.Collect(s.Records(t.Context(), 0))
	if err != nil || uint64(len(got)) != last {
		t.Fatalf("there are %d records, error %v; want %d", len(got), err, last)
	}
	for i, r := range got {
		if err := storetest.SameRecord(r, storetest.Rec(uint64(i+1), 1, (i+1)%300)); err != nil {
			t.Error(err)
		}
	}
}

func TestASecondWriterIsRefusedAndToldWhoLeads(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix := fresh()
	lead, err := etcdstore.Campaign(t.Context(), etcd.Client(t), prefix, etcdstore.Candidate{Name: "the first"})
	if err != nil {
		t.Fatal(err)
	}
	s := create(t, etcd.Client(t), etcdstore.Options{Prefix: prefix, Leadership: lead})
	_, err = etcdstore.Open(t.Context(), etcd.Client(t), etcdstore.Options{Prefix: prefix, Logger: quiet})
	if !errors.Is(err, etcdstore.ErrLed) || !strings.Contains(err.Error(), `"the first"`) {
		t.Fatalf("the second writer: %v; want %v and who leads", err, etcdstore.ErrLed)
	}
	if err := appended(t, s, 1)(); err != nil {
		t.Fatalf("the first after it: %v", err)
	}
	s.Close()
	next, err := etcdstore.Open(t.Context(), etcd.Client(t), etcdstore.Options{Prefix: prefix, Logger: quiet})
	if err != nil {
		t.Fatalf("after the first has closed: %v", err)
	}
	next.Close()
}

// A leader whose lease was taken away, as by a pause longer than it, cannot write
// any more, though it is told nothing before it tries.
func TestWhoLeadsNoMoreIsFenced(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix, admin := fresh(), etcd.Client(t)
	old := create(t, etcd.Client(t), etcdstore.Options{Prefix: prefix})
	if err := appended(t, old, 1)(); err != nil {
		t.Fatal(err)
	}
	takeAway(t, admin, prefix)
	young, err := etcdstore.Open(t.Context(), etcd.Client(t), etcdstore.Options{Prefix: prefix, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer young.Close()
	late := storetest.Rec(2, 1, 10)
	durable, err := old.Append(late)
	if err == nil {
		err = durable()
	}
	if !errors.Is(err, store.ErrFenced) && !errors.Is(err, etcdstore.ErrLeadershipOver) {
		t.Fatalf("the old leader: %v; want %v", err, store.ErrFenced)
	}
	<-old.Failed()
	if _, err := old.Append(late); err == nil {
		t.Error("it may try again")
	}
	if err := appended(t, young, 2)(); err != nil {
		t.Errorf("the new leader: %v", err)
	}
	holds(t, admin, prefix, 2)
	if err := old.Compact(t.Context(), storetest.MarkAt(1, 1), slices.Values(storetest.Chunks(2)), 0); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a checkpoint of the old leader: %v; want %v", err, store.ErrFenced)
	}
}

// takeAway ends the leader's lease behind its back.
func takeAway(t *testing.T, client *clientv3.Client, prefix string) {
	t.Helper()
	leaders, err := client.Get(t.Context(), prefix+"leader/", clientv3.WithFirstCreate()...)
	if err != nil || len(leaders.Kvs) != 1 {
		t.Fatal("no leader", err)
	}
	if _, err := client.Revoke(t.Context(), clientv3.LeaseID(leaders.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
}

// etcd carries a transaction out and its answer is lost: the record is sent again,
// and found to be there.
func TestARecordWhoseAnswerIsLostIsWrittenOnce(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix, b := fresh(), new(between)
	s := create(t, b.client(t, etcd), etcdstore.Options{Prefix: prefix})
	for name, code := range map[string]codes.Code{"unavailable": codes.Unavailable, "too late": codes.DeadlineExceeded, "cut off": codes.Canceled} {
		t.Run(name, func(t *testing.T) {
			first := s.Identity().Epoch == 0
			b.from(nil, func(n int) error {
				if n == 1 {
					return status.Error(code, "lost")
				}
				return nil
			})
			seq := uint64(1)
			if !first {
				seq = lastOf(t, etcd, prefix) + 1
			}
			if err := appended(t, s, seq)(); err != nil {
				t.Error(err)
			}
			holds(t, etcd.Client(t), prefix, seq)
			if b.n != 2 {
				t.Errorf("it was sent %d times, want 2", b.n)
			}
		})
	}
}

func lastOf(t *testing.T, etcd *etcdtest.Server, prefix string) uint64 {
	t.Helper()
	s, err := etcdstore.Open(t.Context(), etcd.Client(t), etcdstore.Options{Prefix: prefix, ReadOnly: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := uint64(0)
	for r, err := range s.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		n = r.Seq
	}
	return n
}

// While one transaction is on its way, what is appended waits, and goes together in
// the next.
func TestWhatIsAppendedMeanwhileGoesTogether(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix, b := fresh(), new(between)
	s := create(t, b.client(t, etcd), etcdstore.Options{Prefix: prefix})
	sent, appendedAll := make(chan struct{}), make(chan struct{})
	b.from(func(n int) error {
		if n == 1 {
			close(sent)
			<-appendedAll
		}
		return nil
	}, nil)
	durable := []func() error{appended(t, s, 1)}
	<-sent
	for seq := uint64(2); seq <= 200; seq++ {
		durable = append(durable, appended(t, s, seq))
	}
	close(appendedAll)
	for i, f := range durable {
		if err := f(); err != nil {
			t.Errorf("record %d: %v", i+1, err)
		}
	}
	holds(t, etcd.Client(t), prefix, 200)
	if b.n != 3 { // etcd takes 128 operations in one
		t.Errorf("200 records took %d transactions, want 3", b.n)
	}
}

// Nobody says what became of a record: neither does the store, and it is over.
func TestARecordThatEtcdDoesNotAnswerForIsUnknown(t *testing.T) {
	etcd := etcdtest.Shared(t)
	for name, written := range map[string]bool{"written": true, "not written": false} {
		t.Run(name, func(t *testing.T) {
			prefix, b := fresh(), new(between)
			s := create(t, b.client(t, etcd), etcdstore.Options{Prefix: prefix, Timeout: 200 * time.Millisecond})
			away := func(n int) error { return status.Error(codes.Unavailable, "away") }
			if written {
				b.from(nil, away)
			} else {
				b.from(away, nil)
			}
			durable := appended(t, s, 1)
			err := durable()
			if err == nil || errors.Is(err, store.ErrNotWritten) || errors.Is(err, store.ErrFenced) {
				t.Errorf("the outcome is %v, want one that leaves it open", err)
			}
			<-s.Failed()
			if _, err := s.Append(storetest.Rec(2, 1, 1)); err == nil {
				t.Error("the store goes on")
			}
			last := uint64(0)
			if written {
				last = 1
			}
			holds(t, etcd.Client(t), prefix, last)
		})
	}
}

// What waits behind a record of unknown outcome is surely not written: it was never
// sent.
func TestWhatFollowsARecordThatFailedIsNotWritten(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix, b := fresh(), new(between)
	s := create(t, b.client(t, etcd), etcdstore.Options{Prefix: prefix, Timeout: 300 * time.Millisecond})
	sent := make(chan struct{})
	b.from(func(n int) error {
		if n == 1 {
			close(sent)
		}
		return status.Error(codes.Unavailable, "away")
	}, nil)
	first := appended(t, s, 1)
	<-sent
	second := appended(t, s, 2)
	if err := second(); !errors.Is(err, store.ErrNotWritten) || errors.Is(err, store.ErrFenced) {
		t.Errorf("the second: %v; want %v", err, store.ErrNotWritten)
	}
	if err := first(); err == nil || errors.Is(err, store.ErrNotWritten) {
		t.Errorf("the first: %v; want an open outcome", err)
	}
	holds(t, etcd.Client(t), prefix, 0)
}

// etcd hangs, and then dies, with records under way: all of them are durable in
// the end, once.
func TestRecordsSurviveAnEtcdThatHangsAndDies(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes etcd some seconds to come back")
	}
	t.Parallel()
	etcd := etcdtest.Start(t)
	prefix := fresh()
	lead, err := etcdstore.Campaign(t.Context(), etcd.Client(t), prefix, etcdstore.Candidate{Name: "a", Lease: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := create(t, etcd.Client(t), etcdstore.Options{Prefix: prefix, Leadership: lead, Timeout: 25 * time.Second})
	if err := appended(t, s, 1)(); err != nil {
		t.Fatal(err)
	}
	etcd.Pause()
	hung := []func() error{appended(t, s, 2), appended(t, s, 3)}
	etcd.Resume()
	for i, durable := range hung {
		if err := durable(); err != nil {
			t.Errorf("record %d: %v", i+2, err)
		}
	}
	under := []func() error{appended(t, s, 4), appended(t, s, 5), appended(t, s, 6)}
	etcd.Restart(t)
	for i, durable := range under {
		if err := durable(); err != nil {
			t.Errorf("record %d: %v", i+4, err)
		}
	}
	holds(t, etcd.Client(t), prefix, 6)
}

// A leader that etcd has not confirmed for the time of its lease does not wait to be
// told that another leads.
func TestALeaderThatIsCutOffLeadsNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a lease of etcd's, two seconds at least")
	}
	t.Parallel()
	etcd := etcdtest.Start(t)
	lead, err := etcdstore.Campaign(t.Context(), etcd.Client(t), "/cut/", etcdstore.Candidate{Name: "a", Lease: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := create(t, etcd.Client(t), etcdstore.Options{Prefix: "/cut/", Leadership: lead})
	if !lead.Leads() {
		t.Fatal("it does not lead at first")
	}
	etcd.Pause()
	<-lead.Lost()
	if lead.Leads() || !errors.Is(lead.Err(), etcdstore.ErrLeadershipOver) {
		t.Errorf("it leads: %v, %v; want %v", lead.Leads(), lead.Err(), etcdstore.ErrLeadershipOver)
	}
	<-s.Failed()
	if _, err := s.Append(storetest.Rec(1, 1, 1)); !errors.Is(err, etcdstore.ErrLeadershipOver) {
		t.Errorf("a record after it: %v; want %v", err, etcdstore.ErrLeadershipOver)
	}
	etcd.Resume()
}

// With its quota used up etcd takes nothing. The store says so before, so that
// there is room for what makes the registry smaller.
func TestAFullEtcdIsADiskThatIsFull(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills an etcd of its own")
	}
	t.Parallel()
	const quota = 32 << 20
	etcd := etcdtest.Start(t, fmt.Sprint("--quota-backend-bytes=", quota))
	client := etcd.Client(t)
	s := create(t, client, etcdstore.Options{Prefix: "/full/", Quota: quota})
	if c := s.Condition(); c.Full != nil || c.Low != nil {
		t.Errorf("at first: %+v", c)
	}
	var failure error
	for i := 0; failure == nil; i++ {
		_, failure = client.Put(t.Context(), fmt.Sprint("ballast", i), strings.Repeat("x", 1<<20))
	}
	err := appended(t, s, 1)()
	if !errors.Is(err, store.ErrNotWritten) || !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("a record when etcd is full: %v; want %v, and %v", err, store.ErrNotWritten, store.ErrDiskFull)
	}
	s.LookAtSpace(t.Context())
	if err := s.Room(); !errors.Is(err, store.ErrDiskFull) || !strings.Contains(err.Error(), "alarm disarm") {
		t.Errorf("there is room: %v; want %v, and what to do", err, store.ErrDiskFull)
	}
}

func TestTheRegistryStopsToGrowBeforeEtcdIsFull(t *testing.T) {
	s := create(t, etcdtest.Shared(t).Client(t), etcdstore.Options{Prefix: fresh()})
	const quota = 100 << 20
	for _, c := range []struct {
		size      uint64
		alarm     bool
		full, low bool
	}{
		{79 << 20, false, false, false}, {81 << 20, false, false, true}, {91 << 20, false, true, false},
		{81 << 20, false, true, false}, {79 << 20, false, false, false}, {1 << 20, true, true, false}, {200 << 20, false, true, false},
	} {
		s.SettleSpace(c.size, quota, c.alarm)
		got := s.Condition()
		if (got.Full != nil) != c.full || (got.Low != nil) != c.low || (s.Room() != nil) != c.full {
			t.Errorf("%d MiB, alarm %v: %+v", c.size>>20, c.alarm, got)
		}
		if got.Full != nil && !errors.Is(got.Full, store.ErrDiskFull) {
			t.Errorf("full is %v, want %v", got.Full, store.ErrDiskFull)
		}
	}
}
