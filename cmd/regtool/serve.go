package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/duration"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/master/metrics"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/collector"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

const defaultStopTimeout = 10 * time.Second

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a master: agents register with it, clients of Mesos read its state",
		Long: `Serve runs the master of a cluster on the registry in --dir. It makes one if
there is none, but not the directory above it. With --etcd the registry is in
etcd and any number of masters may run: one leads, the others send clients to
it, keep the registry warm, and one leads when it is gone: see docs/etcd.md.

Agents register with POST /api/v1/agent and are remembered across any crash;
/state and its kind answer as a Mesos master does. It answers 503 until it has
recovered. It listens on the loopback address unless --ip says otherwise:
whoever can reach it can read everything and register agents, unless
--credentials says who may. SIGHUP has it read credentials and certificates
again.

Every flag can also stand in the YAML file that --config names (port: 5051), or
in the environment (REGTOOL_PORT=5051). A flag goes before the environment, that
before the file. Durations are written as Mesos does: 15secs, 10mins, 2weeks.

It stops on SIGTERM or SIGINT: agents stay registered, and connect again to
whoever leads next. It ends by itself, with 1, if the registry can no longer be
written, and says why: nothing that it could not make durable was acknowledged.`,
		Example: `  regtool serve --dir ./data
  regtool serve --dir /var/lib/registry --ip 0.0.0.0 --advertise-ip 10.0.5.220 --hostname master-1
  regtool serve --dir /var/lib/registry --credentials /etc/regtool/credentials.yaml --tls-cert cert.pem --tls-key key.pem
  regtool serve --dir /var/lib/registry --config /etc/regtool.yaml
  regtool serve --etcd http://10.0.0.1:2379,http://10.0.0.2:2379 --ip 10.0.5.220`,
		Args: noArguments,
	}
	f := newServeFlags(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := configure(cmd.Flags(), &f.config, os.Environ(), func(flag string) bool { return flagOf(cmd.Root(), flag) }); err != nil {
			return err
		}
		if err := f.door.settle(cmd.Flags(), f.ip); err != nil {
			return err
		}
		return f.validate()
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log, err := f.logger(cmd)
		if err != nil {
			return err
		}
		d := &daemon{flags: f, log: log}
		return d.run(cmd)
	}
	return cmd
}

// daemon is a master in a process of its own.
type daemon struct {
	flags    *serveFlags
	log      *slog.Logger
	stopping atomic.Bool

	door      *door
	registrar *registrar.Registrar
	master    *master.Master
	made      bool     // the registry: there was none
	standby   *standby // nil without etcd
}

// run listens, recovers, and serves until ctx ends or the master does. It listens
// first: an address that is taken is found out before anything is written, and
// who asks meanwhile is told to come again.
func (d *daemon) run(cmd *cobra.Command) error {
	ip, err := d.flags.reached()
	if err != nil {
		return err
	}
	if d.door, err = openDoor(&d.flags.door, d.log); err != nil {
		return err
	}
	d.door.warn(d.flags.ip)
	reload := make(chan os.Signal, 1) // before there is anything that the signal could end
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	if err := allowFiles(d.flags.maxAgents + d.flags.door.maxConnections); err != nil {
		d.log.Warn("fewer agents and clients than asked for can connect", "agents", d.flags.maxAgents, "clients", d.flags.door.maxConnections, "err", err)
	}
	l, err := net.Listen(d.flags.network(), d.flags.address())
	if err != nil {
		return err
	}
	g := new(gate)
	s := d.server(g)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	info := d.flags.info(ip, uint16(l.Addr().(*net.TCPAddr).Port))
	if err := d.recover(cmd, g, info); err != nil {
		s.Close()
		if errors.Is(err, context.Canceled) {
			d.log.Info("told to stop before it had recovered")
			return nil
		}
		return err
	}
	answers := d.answers(cmd)
	if d.standby != nil {
		answers = d.standby.whileLeading(answers)
	}
	g.open(answers)
	d.log.Info("agents may come in", "they_need", d.flags.door.agentsNeed())
	d.greet(cmd, net.JoinHostPort(info.IP, strconv.Itoa(int(info.Port))))
	return d.end(s, d.wait(cmd.Context(), reload, served))
}

// wait returns when serving is over: nil if it was told to stop, or why else.
func (d *daemon) wait(ctx context.Context, reload <-chan os.Signal, served <-chan error) error {
	over := make(chan struct{})
	defer close(over)
	go d.reloads(reload, over)
	select {
	case <-ctx.Done():
		d.log.Info("stopping", "at most", duration.Format(time.Duration(d.flags.stopTimeout)))
		return nil
	case <-d.standby.lost():
		return d.standby.over()
	case <-d.master.Done():
		return d.failure()
	case err := <-served:
		return err
	}
}

// reloads reads the files of the door again each time it is told to. Nobody waits
// for it: a file may be on a disk that does not answer.
func (d *daemon) reloads(told <-chan os.Signal, over <-chan struct{}) {
	for {
		select {
		case <-told:
			d.door.reload()
		case <-over:
			return
		}
	}
}

// failure is why the master has ended, and what to do next. The reason is told
// in one line: what a panic adds, the log has.
func (d *daemon) failure() error {
	var missing *master.RecoveryError
	if err := d.master.Err(); errors.As(err, &missing) {
		return fmt.Errorf("the master ended: %w (--recovery-agent-removal-limit)", err)
	}
	cause := d.registrar.Stats().Failed
	if errors.Is(cause, etcdstore.ErrLeadershipOver) || errors.Is(cause, store.ErrFenced) {
		return d.standby.over()
	}
	if errors.Is(cause, wal.ErrMoved) {
		return fmt.Errorf("the registry in %s cannot be written any more: %s; find out who moved it, and put the same directory back before you start again: "+
			"a master that finds none makes a new one, without agents", d.flags.dir, firstLine(cause))
	}
	if cause != nil {
		return fmt.Errorf("the registry in %s cannot be written any more: %s; mend that and start again, nothing acknowledged is lost; "+
			"if it does not open then, regtool check %s says why", d.flags.place(), firstLine(cause), d.flags.arguments())
	}
	return fmt.Errorf("the master ended: %s; start again, nothing acknowledged is lost; if this comes again, report it with the log",
		firstLine(d.master.Err()))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// end ends everything, and returns why, or else the first thing that closing
// met. What failed before says so again when it is closed.
func (d *daemon) end(s *httpapi.Server, why error) error {
	for _, err := range []error{d.stop(s), d.registrar.Close()} {
		if why == nil {
			why = err
		}
	}
	return why
}

// recover opens the registry, or makes it, and starts the master on it.
func (d *daemon) recover(cmd *cobra.Command, g *gate, info registry.Master) error {
	ctx := cmd.Context()
	s, follower, err := d.open(cmd, g, info)
	if err != nil {
		return err
	}
	stores := metrics.NewTimer(24 * time.Hour)
	o := d.registrarOptions()
	o.Master, o.Stored, o.Follower = &info, stores.Observe, follower
	d.registrar, err = registrar.Open(ctx, s, o)
	if err != nil {
		return advise(d.flags.place(), fmt.Errorf("recover the registry in %s: %w", d.flags.place(), err))
	}
	mo := d.flags.options()
	mo.MasterInfo, mo.Logger, mo.StoreTimes = info, d.log, stores
	if d.master, err = master.Start(ctx, d.registrar, mo); err != nil {
		d.registrar.Close() // says the same again, or nothing that matters now
		return err
	}
	return nil
}

// open opens what the registry is kept in: a directory at once, etcd when this
// master leads; then it has been followed until now.
func (d *daemon) open(cmd *cobra.Command, g *gate, info registry.Master) (store.Store, *registrar.Follower, error) {
	if d.flags.etcd.given() {
		var err error
		if d.standby, err = newStandby(d, info); err != nil {
			return nil, nil, err
		}
		return d.standby.wait(cmd.Context(), cmd, g)
	}
	o := d.flags.storage(d.log)
	l, err := wal.Open(d.flags.dir, o)
	if errors.Is(err, wal.ErrNotExist) {
		l, err = d.make(o)
	}
	if err != nil {
		return nil, nil, advise(d.flags.dir, err)
	}
	return l, nil, nil
}

func (d *daemon) registrarOptions() registrar.Options {
	o := registrar.Options{Logger: d.log, SlowAfter: time.Duration(d.flags.storeSlow), HungAfter: time.Duration(d.flags.storeTimeout)}
	if d.flags.etcd.given() {
		o.MaxBatchBytes = etcdstore.BatchBytes
	}
	return o
}

// make makes the registry, and says so: --dir may be misspelt.
func (d *daemon) make(o wal.Options) (*wal.Log, error) {
	if err := parentThere(d.flags.dir); err != nil {
		return nil, err
	}
	l, err := wal.Create(d.flags.dir, o)
	if err == nil {
		d.made = true
		d.log.Warn("made a new registry: no agents are known", "dir", d.flags.dir)
	}
	return l, err
}

// answers is what there is to ask a master that has recovered.
func (d *daemon) answers(cmd *cobra.Command) http.Handler {
	return httpapi.New(d.master, httpapi.Options{
		Build: thisBuild(), Flags: d.flags.values(cmd.Flags()), Cluster: d.flags.cluster, Logger: d.log, Ready: d.ready, Health: d.registrar.Health,
		Agents: httpapi.AgentStream(d.master, httpapi.AgentStreamOptions{MaxStreams: d.flags.maxAgents, Logger: d.log}), Pods: d.master,
		Gate: d.door.gate, Debug: d.door.debug(), StateCacheBytes: d.flags.stateCacheBytes,
		Metrics: d.master.Metrics(), MetricsRate: (*master.Rate)(&d.flags.metricsRate), Collectors: []prometheus.Collector{collector.New(d.registrar)},
	})
}

func (d *daemon) server(h http.Handler) *httpapi.Server {
	return httpapi.NewServer(h, httpapi.ServerOptions{MaxConnections: d.door.flags.maxConnections, TLS: d.door.tls(), Logger: d.log})
}

// thisBuild is that of this program.
func thisBuild() httpapi.Build {
	info, _ := debug.ReadBuildInfo()
	return mesosBuild(info)
}

// mesosBuild is what /version says: the Mesos whose answers these are, and the
// source that this program was built of. Info may be nil.
func mesosBuild(info *debug.BuildInfo) httpapi.Build {
	b := httpapi.Build{Version: mesosVersion}
	if info == nil {
		return b
	}
	if v := info.Main.Version; !strings.ContainsAny(v, "-+(") { // what is not of a tag has one of these
		b.GitTag = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.GitSHA = s.Value
		case "vcs.time":
			b.Time, _ = time.Parse(time.RFC3339, s.Value)
		}
	}
	return b
}

// ready says why the master is not to be asked, or nil.
func (d *daemon) ready() error {
	if d.stopping.Load() {
		return errors.New("the master is stopping")
	}
	return cmp.Or(d.master.Err(), d.registrar.Stats().Failed)
}

// greet says on stdout where the master can be reached, and what it remembers.
func (d *daemon) greet(cmd *cobra.Command, address string) {
	if d.made {
		fmt.Fprintf(cmd.OutOrStdout(), "serving %s://%s: made a new registry in %s: no agents are known\n", d.door.scheme(), address, d.flags.place())
		return
	}
	reg, found := d.registrar.Snapshot(), d.registrar.Recovery()
	fmt.Fprintf(cmd.OutOrStdout(), "serving %s://%s: %s recovered from %s in %v\n",
		d.door.scheme(), address, counted(reg.Len(registry.Admitted), "agent"), d.flags.place(), short(found.Took))
}

// stop ends the streams of agents, then waits for the answers under way.
func (d *daemon) stop(s *httpapi.Server) error {
	d.stopping.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(d.flags.stopTimeout))
	defer cancel()
	err := d.master.Close()
	if s.Shutdown(ctx) != nil {
		d.log.Warn("answers were cut off that took too long", "after", duration.Format(time.Duration(d.flags.stopTimeout)))
		s.Close() // what is cut off is no news
	}
	return err
}
