package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// Candidate is who wants to lead.
type Candidate struct {
	// Name is what all others are told of the leader ([Leaders]): where it can be
	// reached, say.
	Name string
	// Lease is for how long a leader that is not heard of goes on leading; 0 means
	// 10 s. It is rounded up to seconds, and etcd takes no less than one and a half
	// of its election timeouts: 2 s by default.
	Lease time.Duration
}

// Leadership is the right to write, which one process has at a time. It ends by
// itself when its lease has not been renewed: each renewal is a round to etcd that
// a quorum of its members took part in. Its methods may be called from any number
// of goroutines.
type Leadership struct {
	client   *clientv3.Client
	election *concurrency.Election
	lease    clientv3.LeaseID
	lasts    time.Duration
	key      string       // whole
	revision atomic.Int64 // that made the key; 0 while it does not lead

	proven   atomic.Int64 // when the last renewal was begun, as time since started
	started  time.Time
	lifetime context.Context
	stop     context.CancelFunc
	renewed  chan struct{} // closed when nothing renews it any more
	lost     chan struct{}
	once     sync.Once
	err      error // set before lost is closed
}

// Campaign waits until this process leads the registry below prefix. Its errors
// are etcd's, or the end of ctx.
func Campaign(ctx context.Context, client *clientv3.Client, prefix string, c Candidate) (*Leadership, error) {
	l, err := stand(ctx, client, prefix, c)
	if err != nil {
		return nil, fmt.Errorf("campaign for %s: %w", prefix, err)
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	defer context.AfterFunc(l.lifetime, enough)() // its lease ended while it waited
	err = l.election.Campaign(waiting, c.Name)
	if err == nil {
		l.revision.Store(l.election.Rev())
		err = l.prove(ctx)
	}
	if err != nil {
		l.Resign()
		select {
		case <-l.lost:
			err = l.err
		default:
		}
		return nil, fmt.Errorf("campaign for %s: %w", prefix, explain(err))
	}
	return l, nil
}

// lead takes the leadership if nobody has it, and fails with ErrLed if somebody
// does.
func lead(ctx context.Context, client *clientv3.Client, prefix string, c Candidate) (*Leadership, error) {
	l, err := stand(ctx, client, prefix, c)
	if err != nil {
		return nil, err
	}
	free := clientv3.Compare(clientv3.CreateRevision(prefix+underLeader), "=", 0).WithPrefix()
	resp, err := client.Txn(ctx).If(free).
		Then(clientv3.OpPut(l.key, c.Name, clientv3.WithLease(l.lease))).
		Else(clientv3.OpGet(prefix+underLeader, clientv3.WithFirstCreate()...)).Commit()
	switch {
	case err != nil:
		err = explain(err)
	case !resp.Succeeded:
		leader := resp.Responses[0].GetResponseRange().Kvs[0]
		err = fmt.Errorf("%w: %q (key %s)", ErrLed, leader.Value, leader.Key)
	default:
		l.revision.Store(resp.Header.Revision)
		return l, nil
	}
	l.Resign()
	return nil, err
}

// stand makes a candidate with a lease that is renewed from now on.
func stand(ctx context.Context, client *clientv3.Client, prefix string, c Candidate) (*Leadership, error) {
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	begun := time.Now()
	granted, err := client.Grant(ctx, int64((c.Lease+time.Second-1)/time.Second))
	if err != nil {
		return nil, explain(err)
	}
	// The session would renew the lease as long as one member answers, even if
	// the disk of etcd hangs: it is only there for the election to know the lease.
	session, err := concurrency.NewSession(client, concurrency.WithLease(granted.ID))
	if err != nil {
		return nil, explain(err)
	}
	session.Orphan()
	l := &Leadership{
		client: client, lease: granted.ID, lasts: time.Duration(granted.TTL) * time.Second,
		election: concurrency.NewElection(session, prefix+underLeader[:len(underLeader)-1]),
		key:      fmt.Sprintf("%s%s%x", prefix, underLeader, granted.ID), // as the election names it
		started:  begun, renewed: make(chan struct{}), lost: make(chan struct{}),
	}
	l.lifetime, l.stop = context.WithCancel(context.Background())
	go l.renew()
	return l, nil
}

// renew renews the lease three times as often as it has to be.
func (l *Leadership) renew() {
	defer close(l.renewed)
	for {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(l.lifetime, l.lasts/3)
		err := l.renewOnce(ctx)
		cancel()
		switch {
		case l.lifetime.Err() != nil:
			return
		case err == nil:
			l.proven.Store(int64(begun.Sub(l.started)))
		case errors.Is(err, rpctypes.ErrLeaseNotFound) || errors.Is(err, ErrLeadershipOver):
			l.end(err)
			return
		}
		left := l.left()
		if left <= 0 {
			l.end(fmt.Errorf("etcd has not confirmed it for %v: %w", l.lasts, explain(err)))
			return
		}
		select {
		case <-time.After(min(left, time.Until(begun.Add(l.lasts/3)))):
		case <-l.lifetime.Done():
			return
		}
	}
}

// renewOnce renews the lease and has a quorum confirm it.
func (l *Leadership) renewOnce(ctx context.Context) error {
	if _, err := l.client.KeepAliveOnce(ctx, l.lease); err != nil {
		return err
	}
	return l.prove(ctx)
}

// prove reads with a quorum that the key is still the one this process leads by.
func (l *Leadership) prove(ctx context.Context) error {
	resp, err := l.client.Get(ctx, l.key, clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	if revision := l.revision.Load(); revision != 0 && (len(resp.Kvs) == 0 || resp.Kvs[0].CreateRevision != revision) {
		return fmt.Errorf("%w: its key is gone", ErrLeadershipOver)
	}
	return nil
}

// left is for how long the leadership is sure to last.
func (l *Leadership) left() time.Duration {
	return time.Until(l.started.Add(time.Duration(l.proven.Load()) + l.lasts))
}

// Leads reports whether this process leads now. It asks the clock only: what was
// confirmed lasts as long as the lease, counted from before etcd was asked. A
// process that was stopped for longer leads no more when it wakes up.
func (l *Leadership) Leads() bool {
	select {
	case <-l.lost:
		return false
	default:
		return l.left() > 0
	}
}

// Lost is closed when this process leads no more; then Err says why.
func (l *Leadership) Lost() <-chan struct{} { return l.lost }

// Err is [ErrLeadershipOver] with the reason once Lost is closed.
func (l *Leadership) Err() error { return l.err }

func (l *Leadership) end(why error) {
	l.once.Do(func() {
		if errors.Is(why, rpctypes.ErrLeaseNotFound) {
			why = errors.New("its lease ran out")
		}
		l.err = why
		if !errors.Is(why, ErrLeadershipOver) {
			l.err = fmt.Errorf("%w: %w", ErrLeadershipOver, why)
		}
		l.stop()
		close(l.lost)
	})
}

// Resign gives the leadership back, so that another can lead at once. It is safe
// to call more than once. If etcd does not answer, the lease runs out by itself.
func (l *Leadership) Resign() {
	l.end(errors.New("it was given back"))
	<-l.renewed
	ctx, cancel := context.WithTimeout(context.Background(), min(l.lasts, 2*time.Second))
	defer cancel()
	_, _ = l.client.Revoke(ctx, l.lease)
}

// Leaders tells who leads, and again each time that changes: the name of the
// candidate, or "" while nobody does. It ends with ctx; trouble with etcd is not
// told, since who leads does not change by that.
func Leaders(ctx context.Context, client *clientv3.Client, prefix string) <-chan string {
	told := make(chan string)
	go func() {
		defer close(told)
		last, first := "", true
		for wait := time.Duration(0); ctx.Err() == nil; wait = time.Second {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			follow(ctx, client, prefix+underLeader, func(leader *mvccpb.KeyValue) {
				name := string(leader.GetValue())
				if name == last && !first {
					return
				}
				select {
				case told <- name:
					last, first = name, false
				case <-ctx.Done():
				}
			})
		}
	}()
	return told
}

// follow calls f with the first key below a prefix that was made, or nil, now and
// after each change there, until etcd fails or ctx ends.
func follow(ctx context.Context, client *clientv3.Client, under string, f func(*mvccpb.KeyValue)) {
	for {
		resp, err := client.Get(ctx, under, clientv3.WithFirstCreate()...)
		if err != nil {
			return
		}
		var leader *mvccpb.KeyValue
		if len(resp.Kvs) > 0 {
			leader = resp.Kvs[0]
		}
		f(leader)
		if !changed(ctx, client, resp.Header.Revision, under, clientv3.WithPrefix()) {
			return
		}
	}
}

// changed waits until a key changes after a revision; false if that cannot be
// said.
func changed(ctx context.Context, client *clientv3.Client, after int64, key string, o ...clientv3.OpOption) bool {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	change, ok := <-client.Watch(ctx, key, append(o, clientv3.WithRev(after+1))...)
	return ok && change.Err() == nil
}
