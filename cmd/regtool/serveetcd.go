package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/duration"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// standby is a master on etcd before it leads, and its right to lead then.
type standby struct {
	d      *daemon
	client *clientv3.Client
	o      etcdstore.Options
	me     string // the URL at which clients reach this master
	leader atomic.Pointer[string]
	lead   *etcdstore.Leadership
}

func newStandby(d *daemon, info registry.Master) (*standby, error) {
	client, err := d.flags.etcd.dial()
	if err != nil {
		return nil, err
	}
	host := net.JoinHostPort(info.Hostname, strconv.Itoa(int(info.Port)))
	s := &standby{d: d, client: client, me: d.door.scheme() + "://" + host}
	s.o = etcdstore.Options{Prefix: d.flags.etcd.prefix, Make: true, Timeout: time.Duration(d.flags.storeTimeout) * 3 / 4, Logger: d.log}
	s.leader.Store(new(string))
	return s, nil
}

// wait answers as one that does not lead, keeps the registry warm, and returns once
// this master leads: the store to write to, and what was read of it.
func (s *standby) wait(ctx context.Context, cmd *cobra.Command, g *gate) (store.Store, *registrar.Follower, error) {
	g.open(s.answers(cmd))
	fmt.Fprintf(cmd.OutOrStdout(), "standing by at %s: it leads when no other master does\n", s.me)
	defer g.close() // until it has recovered
	following, stop := context.WithCancel(ctx)
	followed := make(chan *registrar.Follower, 1)
	go s.tellLeaders(following)
	go func() { followed <- s.follow(following) }()
	s.d.log.Info("campaigning", "etcd", s.d.flags.etcd.place(), "as", s.me)
	lead, err := s.campaign(ctx)
	stop()
	follower := <-followed
	if err != nil {
		return nil, nil, err
	}
	s.d.log.Info("leading", "etcd", s.d.flags.etcd.place(), "lease", duration.Format(time.Duration(s.d.flags.etcdLease)))
	s.lead, s.o.Leadership = lead, lead
	st, err := etcdstore.Open(ctx, s.client, s.o)
	if err != nil {
		return nil, nil, err
	}
	if s.d.made = st.Identity().Epoch == 0; s.d.made { // --etcd-prefix may be misspelt
		s.d.log.Warn("made a new registry: no agents are known", "etcd", s.d.flags.etcd.place())
	}
	return st, follower, nil
}

// campaign tries until it leads, as long as nobody says stop: an etcd that is away
// may come back.
func (s *standby) campaign(ctx context.Context) (*etcdstore.Leadership, error) {
	told := false
	for {
		lead, err := etcdstore.Campaign(ctx, s.client, s.o.Prefix, etcdstore.Candidate{Name: s.me, Lease: time.Duration(s.d.flags.etcdLease)})
		if err == nil || ctx.Err() != nil {
			return lead, err
		}
		if !told {
			s.d.log.Warn("cannot campaign; trying again", "err", err)
			told = true
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// follow keeps the registry warm until ctx ends. It returns nil if it has none: then
// all of it is read when this master leads.
func (s *standby) follow(ctx context.Context) (f *registrar.Follower) {
	for wait := time.Duration(0); ; wait = time.Second {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return f
		}
		newer, err := s.followOnce(ctx)
		f = cmp.Or(newer, f) // who takes over proves that it still holds
		if ctx.Err() == nil && !errors.Is(err, etcdstore.ErrNotExist) {
			s.d.log.Warn("cannot follow the registry; trying again", "err", err)
		}
	}
}

// followOnce follows until it fails, or ctx ends; what it has read is good all the
// same.
func (s *standby) followOnce(ctx context.Context) (*registrar.Follower, error) {
	o := s.o
	o.ReadOnly = true
	st, err := etcdstore.Open(ctx, s.client, o)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	f, err := registrar.Follow(ctx, st, s.d.registrarOptions())
	if err != nil {
		return nil, err
	}
	reg := f.Snapshot()
	s.d.log.Info("following the registry", "revision", reg.Revision(), "agents", reg.Len(registry.Admitted))
	for err == nil {
		if err = st.Changed(ctx); err == nil {
			err = f.CatchUp(ctx)
		}
	}
	return f, err
}

func (s *standby) tellLeaders(ctx context.Context) {
	for leader := range etcdstore.Leaders(ctx, s.client, s.o.Prefix) {
		s.leader.Store(&leader)
		if leader != s.me {
			s.d.log.Info("another master leads", "leader", leader)
		}
	}
}

// answers is what a master that does not lead has to say.
func (s *standby) answers(cmd *cobra.Command) http.Handler {
	return httpapi.NewFollower(func() string {
		if leader := *s.leader.Load(); leader != s.me {
			return leader
		}
		return "" // this one, which has not recovered yet
	}, httpapi.Options{
		Build: thisBuild(), Flags: s.d.flags.values(cmd.Flags()), Cluster: s.d.flags.cluster, Logger: s.d.log,
		Gate: s.d.door.gate, Debug: s.d.door.debug(), MetricsRate: (*master.Rate)(&s.d.flags.metricsRate),
	})
}

// whileLeading answers 503 once this process cannot be sure any more that it leads:
// it may have been stopped, and another lead since.
func (s *standby) whileLeading(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.lead.Leads() {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		httpapi.RefuseEarly(w, r, http.StatusServiceUnavailable, "This master leads no more.")
	})
}

// lost is closed when this master leads no more; nil if it needs nobody's leave.
func (s *standby) lost() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.lead.Lost()
}

// over is why the leadership ended, for the person who finds the process gone.
func (s *standby) over() error {
	return fmt.Errorf("%w; this master ends, and another leads or will: start it again, so that it follows", s.lead.Err())
}
