package etcdstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/registrar/store"
)

// lookEvery is the pause between two looks at how full etcd is.
const lookEvery = 5 * time.Second

// space watches how full etcd's database is. With its quota used up etcd takes no
// write at all, not even one that makes the registry smaller: so the registry stops
// to grow earlier.
type space struct {
	s    *Store
	stop context.CancelFunc
	done chan struct{}

	mu sync.Mutex
	at store.Condition
}

func watchSpace(s *Store) *space {
	ctx, stop := context.WithCancel(context.Background())
	w := &space{s: s, stop: stop, done: make(chan struct{})}
	go w.run(ctx)
	return w
}

func (w *space) close() {
	w.stop()
	<-w.done
}

func (w *space) run(ctx context.Context) {
	defer close(w.done)
	for {
		w.look(ctx)
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return
		}
	}
}

// look asks each member: the one with the least room decides.
func (w *space) look(ctx context.Context) {
	var fullest *clientv3.StatusResponse
	alarm := false
	for _, endpoint := range w.s.client.Endpoints() {
		try, cancel := context.WithTimeout(ctx, lookEvery)
		status, err := w.s.client.Status(try, endpoint)
		cancel()
		if err != nil {
			continue // its state is told by those that answer, or not at all
		}
		if fullest == nil || status.DbSize > fullest.DbSize {
			fullest = status
		}
	}
	if fullest == nil {
		return
	}
	if alarms, err := w.s.client.AlarmList(ctx); err == nil {
		for _, a := range alarms.Alarms {
			alarm = alarm || a.Alarm == etcdserverpb.AlarmType_NOSPACE
		}
	}
	quota := fullest.DbSizeQuota
	if quota <= 0 {
		quota = w.s.o.Quota
	}
	w.settle(uint64(fullest.DbSize), uint64(quota), alarm)
}

// settle decides: full with less than a tenth of the quota left, nearly full with
// less than a fifth, and no longer full when it is no longer nearly full.
func (w *space) settle(size, quota uint64, alarm bool) {
	w.mu.Lock()
	was := w.at
	now := store.Condition{Free: quota - min(size, quota), Total: quota}
	why := fmt.Sprintf("etcd's database has %d MiB of a quota of %d MiB: compact and defragment it (etcdctl defrag), or raise --quota-backend-bytes", size>>20, quota>>20)
	if alarm {
		why = "etcd has raised the alarm NOSPACE and takes no writes: make room, then etcdctl alarm disarm"
	}
	if alarm || now.Free < quota/10 || was.Full != nil && now.Free < quota/5 {
		now.Full = fmt.Errorf("%w: %s", store.ErrDiskFull, why)
	}
	if now.Full == nil && now.Free < quota/5 {
		now.Low = fmt.Errorf("etcd is nearly full: %s", why)
	}
	w.at = now
	w.mu.Unlock()
	switch {
	case now.Full != nil && was.Full == nil:
		w.s.o.Logger.Error("etcd is full; nothing is added to the registry", "err", now.Full)
	case now.Full == nil && was.Full != nil:
		w.s.o.Logger.Info("etcd has room again")
	case now.Low != nil && was.Low == nil:
		w.s.o.Logger.Warn("etcd is nearly full", "err", now.Low)
	}
}

// Condition says how full etcd's database is. It asks nobody.
func (s *Store) Condition() store.Condition {
	if s.space == nil {
		return store.Condition{}
	}
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	return s.space.at
}

// Room is nil, or [store.ErrDiskFull] once less than a tenth of etcd's quota is
// left, or it has raised its alarm.
func (s *Store) Room() error { return s.Condition().Full }
