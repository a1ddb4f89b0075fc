package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/wal"
)

// stateCluster is a master that answers over loopback HTTP, on a registry on
// disk, with agents that call it directly: what is measured is reading, and
// their connections would only share the processors with it. Its server also
// answers with bytes that it was given, at the paths below [staticPath].
type stateCluster struct {
	fleet     clusterFleet
	static    map[string][]byte // by the path behind staticPath
	dir       string
	registrar *registrar.Registrar
	master    *master.Master
	agents    []*stateAgent
	random    *rand.Rand
	moment    int // of the last change

	mux     *http.ServeMux
	server  *httpapi.Server
	address string
	served  chan error
}

// clusterFleet is the agents of a cluster, and what runs on them.
type clusterFleet interface {
	size() int    // how many agents
	running() int // how many tasks run in all
	subscribe(agent int) *wire.Subscribe
	// update says something new of one of the tasks that run, counted over all
	// agents. No two have the same moment.
	update(task, moment int) (agent int, _ *wire.Update)
}

// staticPath is before the paths of bytes that are in memory already.
const staticPath = "/static"

// guardedPath is before the paths of a master that asks who one is.
const guardedPath = "/guarded"

// startStateCluster returns when all agents are members. The static answers
// must not change any more.
func startStateCluster(ctx context.Context, dir string, f clusterFleet, static map[string][]byte) (c *stateCluster, err error) {
	c = &stateCluster{fleet: f, static: static, agents: make([]*stateAgent, f.size()), random: rand.New(rand.NewPCG(1, 2)), served: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if c.dir, err = os.MkdirTemp(dir, "regtool-bench-"); err != nil {
		return c, err
	}
	log, err := wal.Create(filepath.Join(c.dir, "store"), wal.Options{Logger: quiet})
	if err != nil {
		return c, err
	}
	if c.registrar, err = registrar.Open(ctx, log, registrar.Options{Logger: quiet}); err != nil {
		return c, err
	}
	// Agents say nothing unless they have something to say, and are not to be
	// taken for dead.
	if c.master, err = master.Start(ctx, c.registrar, master.Options{PingTimeout: time.Hour, Logger: quiet}); err != nil {
		return c, err
	}
	if err = c.comeIn(ctx); err != nil {
		return c, err
	}
	return c, c.serve()
}

func (c *stateCluster) comeIn(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(256) // share syncs of the registry
	for i := range c.agents {
		g.Go(func() error {
			call, err := received(c.fleet.subscribe(i))
			if err != nil {
				return err
			}
			a := &stateAgent{sequence: call.Sequence, woken: make(chan struct{}, 1)}
			if a.stream, err = c.master.Subscribe(ctx, call, "127.0.0.1:"+strconv.Itoa(1+i%65535), a.wake); err != nil {
				return fmt.Errorf("register agent %d: %w", i, err)
			}
			c.agents[i] = a
			return a.acknowledged(ctx)
		})
	}
	return g.Wait()
}

func (c *stateCluster) serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.address = l.Addr().String()
	c.mux = http.NewServeMux()
	c.mux.Handle("/", httpapi.New(c.master, httpapi.Options{Logger: quiet, Pods: c.master, Metrics: c.master.Metrics(), MetricsRate: &master.Rate{}}))
	c.mux.Handle(staticPath+"/", http.StripPrefix(staticPath, http.HandlerFunc(c.writeStatic)))
	c.server = httpapi.NewServer(c.mux, httpapi.ServerOptions{Logger: quiet}) // as serve has it
	go func() { c.served <- c.server.Serve(l) }()
	return nil
}

// guard serves all that the master answers behind a gate, too.
func (c *stateCluster) guard(gate *httpapi.Gate) {
	c.mux.Handle(guardedPath+"/", http.StripPrefix(guardedPath, httpapi.New(c.master, httpapi.Options{Gate: gate, Logger: quiet})))
}

// writeStatic is the least that an answer costs: the same server and client, and
// bytes that are there.
func (c *stateCluster) writeStatic(w http.ResponseWriter, r *http.Request) {
	b, ok := c.static[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Write(b)
}

// kept is how many tasks that have ended the master shows.
func (c *stateCluster) kept() (n int) {
	for f := range c.master.State().Frameworks() {
		for range f.CompletedTasks() {
			n++
		}
	}
	return n
}

func (c *stateCluster) close() error {
	var errs []error
	if c.server != nil {
		errs = append(errs, c.server.Close(), ended(<-c.served))
	}
	if c.master != nil {
		errs = append(errs, c.master.Close())
	}
	if c.registrar != nil {
		errs = append(errs, c.registrar.Close())
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// stateAgent is an agent without a connection. One goroutine has it.
type stateAgent struct {
	stream   *master.Stream
	sequence uint64
	woken    chan struct{}
}

func (a *stateAgent) wake() {
	select {
	case a.woken <- struct{}{}:
	default:
	}
}

func (a *stateAgent) say(u *wire.Update) error {
	a.sequence++
	u.Sequence = a.sequence
	return a.stream.Receive(u)
}

// acknowledged waits until all that the agent said can be seen.
func (a *stateAgent) acknowledged(ctx context.Context) error {
	for {
		for e, ok := a.stream.Next(); ok; e, ok = a.stream.Next() {
			if ack, is := e.(*wire.Ack); is && ack.Sequence == a.sequence {
				return nil
			}
		}
		select {
		case <-a.woken:
		case <-a.stream.Ended():
			return errors.New("the master ended the stream of an agent")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stateChange is a status of a task that its agent is to tell of.
type stateChange struct {
	agent  *stateAgent
	update *wire.Update
}

// changes makes a change of each of n tasks, which are random.
func (c *stateCluster) changes(n int) ([]stateChange, error) {
	var all []stateChange
	for _, task := range c.someTasks(n) {
		c.moment++
		agent, call := c.fleet.update(task, c.moment)
		u, err := received(call)
		if err != nil {
			return nil, err
		}
		all = append(all, stateChange{c.agents[agent], u})
	}
	return all, nil
}

// someTasks is n of those that run, none of them twice, in random order.
func (c *stateCluster) someTasks(n int) []int {
	picked := make(map[int]bool, n)
	var all []int
	for len(all) < n {
		if task := c.random.IntN(c.fleet.running()); !picked[task] {
			picked[task] = true
			all = append(all, task)
		}
	}
	return all
}

// publish has agents tell of changes, all at once, and returns how long it took
// until each could be seen.
func publish(ctx context.Context, all []stateChange) (time.Duration, error) {
	begun := time.Now()
	var last []*stateAgent
	waits := map[*stateAgent]bool{}
	for _, c := range all {
		if err := c.agent.say(c.update); err != nil {
			return 0, err
		}
		if !waits[c.agent] {
			waits[c.agent] = true
			last = append(last, c.agent)
		}
	}
	for _, a := range last {
		if err := a.acknowledged(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}

// changeGroup is how many changes come at once while a master is asked.
const changeGroup = 10

// keepChanging publishes so many changes a second, in groups, until ctx ends, and
// returns how many it were. It makes up for groups that came late.
func (c *stateCluster) keepChanging(ctx context.Context, perSecond int) (n int, err error) {
	every := time.Duration(float64(time.Second) * changeGroup / float64(perSecond))
	due := time.NewTimer(0)
	defer due.Stop()
	for next := time.Now(); ; {
		select {
		case <-due.C:
		case <-ctx.Done():
			return n, nil
		}
		group, err := c.changes(min(changeGroup, c.fleet.running()))
		if err == nil {
			_, err = publish(ctx, group)
		}
		if ctx.Err() != nil {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += len(group)
		next = next.Add(every)
		due.Reset(time.Until(next))
	}
}
