package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/wal"
)

// failover registers the fleet with a master, kills that, starts another on the
// same registry, and measures until all have come back.
func (b Failover) failover(ctx context.Context, f fleet, dir string) (s failoverSample, err error) {
	master, address, err := startMaster(ctx, b.Master, dir)
	if err != nil {
		return s, err
	}
	agents := newCrowd(f, b.Msgpack)
	defer func() { err = errors.Join(err, agents.stop()) }()
	if err := agents.start(ctx); err != nil {
		return s, errors.Join(err, master.kill())
	}
	err = agents.comeIn(ctx, address)
	agents.door.close()
	if err = errors.Join(err, master.kill()); err != nil {
		return s, err
	}
	before, err := records(dir)
	if err != nil {
		return s, err
	}
	started := time.Now()
	if master, address, err = startMaster(ctx, b.Master, dir); err != nil {
		return s, err
	}
	ready := time.Now()
	err = agents.comeIn(ctx, address)
	s.seconds, s.recover = time.Since(ready).Seconds(), ready.Sub(started).Seconds()
	if err = errors.Join(err, master.kill()); err != nil {
		return s, err
	}
	after, err := records(dir)
	s.writes = int(after - before)
	return s, err
}

// startMaster starts a master on a port of its own: the system remembers the
// connections of one that was killed for a minute, and may drop attempts to make
// the like of them, which are repeated a second later.
func startMaster(ctx context.Context, command func(context.Context, string, int) *exec.Cmd, dir string) (*child, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		return nil, "", err
	}
	c, _, err := startChild(command(ctx, dir, address.Port))
	return c, address.String(), err
}

// records is the number of the last record in the registry of a master that was
// killed.
func records(dir string) (uint64, error) {
	l, err := wal.Open(dir, wal.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	info, err := l.Info()
	return info.Last.Seq, errors.Join(err, l.Close())
}

// crowd is the agents of a fleet at work. They wait at the door before each
// connection, so that none of them tries while there is no master: what is
// measured begins when there is one.
type crowd struct {
	fleet   fleet
	msgpack bool
	door    door
	inside  chan struct{} // one for each that has become a member
	ended   chan error
	stop    func() error
}

func newCrowd(f fleet, msgpack bool) *crowd {
	c := &crowd{fleet: f, msgpack: msgpack, inside: make(chan struct{}, f.Agents), ended: make(chan error, f.Agents)}
	c.door.close()
	c.stop = func() error { return nil }
	return c
}

// start begins all agents, with all their tasks.
func (c *crowd) start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	c.stop = func() error { cancel(); running.Wait(); return nil }
	for i := range c.fleet.Agents {
		a, err := c.agent(i)
		if err != nil {
			return err
		}
		running.Go(func() {
			if err := a.Run(ctx); ctx.Err() == nil {
				c.ended <- err
			}
		})
	}
	return nil
}

// agent is one that says what the fleet's subscribe says.
func (c *crowd) agent(i int) (*agent.Agent, error) {
	says := c.fleet.subscribe(i, "")
	a, err := agent.New(agent.Options{
		Masters: []string{"http://behind-the-door"}, Info: says.Agent, Version: says.Version, BootID: "boot-1",
		Backoff: -1, Msgpack: c.msgpack, Dial: c.door.dial,
		Subscribed: func(*wire.Subscribed) { c.inside <- struct{}{} },
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	for _, framework := range says.Frameworks {
		err = errors.Join(err, a.SetFramework(framework))
	}
	for _, task := range says.Tasks {
		err = errors.Join(err, a.SetTask(task))
	}
	return a, err
}

// comeIn opens the door to a master and waits until all agents are members.
func (c *crowd) comeIn(ctx context.Context, master string) error {
	c.door.open(master)
	for range c.fleet.Agents {
		select {
		case <-c.inside:
		case err := <-c.ended:
			return fmt.Errorf("an agent ended: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// door is where agents wait before they connect, while it is closed.
type door struct {
	mu  sync.Mutex
	way chan struct{} // closed while the door is open
	to  string        // the address behind it
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.way = make(chan struct{})
}

func (d *door) open(to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
	close(d.way)
}

func (d *door) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	d.mu.Lock()
	way := d.way
	d.mu.Unlock()
	select {
	case <-way:
		d.mu.Lock()
		to := d.to
		d.mu.Unlock()
		return dial(ctx, network, to)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// arriving bounds how many connections are made that nothing was read from yet.
// Beyond what the system queues for a listener (4096, often less) it drops
// attempts, which are repeated a second later: that second would be measured.
var arriving = make(chan struct{}, 1024)

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	select {
	case arriving <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c, err := dialer().DialContext(ctx, network, address)
	if err != nil {
		<-arriving
		return nil, err
	}
	return &arrival{Conn: c}, nil
}

// arrival is a connection that has arrived once something was read from it.
type arrival struct {
	net.Conn
	once sync.Once
}

func (a *arrival) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	a.once.Do(func() { <-arriving })
	return n, err
}

func (a *arrival) Close() error {
	a.once.Do(func() { <-arriving })
	return a.Conn.Close()
}
