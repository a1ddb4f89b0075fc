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
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/duration"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

const defaultStopTimeout = 10 * time.Second

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a master: agents register with it, clients of Mesos read its state",
		Long: `Serve runs the master of a cluster on the registry in --dir, which is made if it
is not there. Agents register with POST /api/v1/agent and are remembered across
any crash; /state and its kind answer as a Mesos master does. It listens once it
has recovered, on the loopback address unless --ip says otherwise: whoever can
reach it can read everything and register agents.

Every flag can also stand in the YAML file that --config names (port: 5051), or
in the environment (REGTOOL_PORT=5051). A flag goes before the environment, that
before the file. Durations are written as Mesos does: 15secs, 10mins, 2weeks.

It stops on SIGTERM or SIGINT: agents stay registered, and connect again to
whoever leads next. It ends by itself, with 1, if the registry can no longer be
written: nothing that it could not make durable was acknowledged.`,
		Example: `  regtool serve --dir ./data
  regtool serve --dir /var/lib/registry --ip 0.0.0.0 --advertise-ip 10.0.5.220 --hostname master-1
  regtool serve --dir /var/lib/registry --config /etc/regtool.yaml`,
		Args: noArguments,
	}
	f := newServeFlags(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := configure(cmd.Flags(), &f.config, os.Environ()); err != nil {
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

	registrar *registrar.Registrar
	master    *master.Master
}

// run recovers, listens, and serves until ctx ends or the master does.
func (d *daemon) run(cmd *cobra.Command) (err error) {
	ip, err := d.flags.reached()
	if err != nil {
		return err
	}
	if err := allowFiles(d.flags.maxAgents); err != nil {
		d.log.Warn("fewer agents than asked for can connect", "asked", d.flags.maxAgents, "err", err)
	}
	port, err := freePort(d.flags.address())
	if err != nil {
		return err
	}
	if err := d.recover(cmd.Context(), d.flags.info(ip, port)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	l, err := net.Listen("tcp", net.JoinHostPort(d.flags.ip, fmt.Sprint(port)))
	if err != nil {
		return err
	}
	s := d.server(cmd)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	d.greet(cmd, l.Addr())
	select {
	case <-cmd.Context().Done():
		d.log.Info("stopping", "at most", duration.Format(time.Duration(d.flags.stopTimeout)))
	case <-d.master.Done():
		err = fmt.Errorf("the master ended: %w", d.master.Err())
	case err = <-served:
	}
	return errors.Join(err, d.stop(s))
}

// recover opens the registry, or makes it, and starts the master on it.
func (d *daemon) recover(ctx context.Context, info registry.Master) error {
	o := wal.Options{AcceptLoss: d.flags.acceptLoss, Logger: d.log}
	l, err := wal.Open(d.flags.dir, o)
	if errors.Is(err, wal.ErrNotExist) {
		l, err = wal.Create(d.flags.dir, o)
	}
	if err != nil {
		return advise(d.flags.dir, err)
	}
	d.registrar, err = registrar.Open(ctx, l, registrar.Options{Master: &info, Logger: d.log})
	if err != nil {
		return advise(d.flags.dir, fmt.Errorf("recover the registry in %s: %w", d.flags.dir, err))
	}
	mo := d.flags.options()
	mo.MasterInfo, mo.Logger = info, d.log
	if d.master, err = master.Start(ctx, d.registrar, mo); err != nil {
		return errors.Join(err, d.registrar.Close())
	}
	return nil
}

func (d *daemon) server(cmd *cobra.Command) *http.Server {
	return &http.Server{
		Handler: httpapi.New(d.master, httpapi.Options{
			Build: mesosBuild(), Flags: d.flags.values(cmd.Flags()), Cluster: d.flags.cluster, Logger: d.log, Ready: d.ready,
			Agents: httpapi.AgentStream(d.master, httpapi.AgentStreamOptions{MaxStreams: d.flags.maxAgents, Logger: d.log}),
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug), // what clients do wrong
	}
}

// mesosBuild is what /version says: the Mesos whose answers these are, and the
// source that this program was built of.
func mesosBuild() httpapi.Build {
	b := httpapi.Build{Version: mesosVersion}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.GitSHA = s.Value
			case "vcs.time":
				b.Time, _ = time.Parse(time.RFC3339, s.Value)
			}
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

// greet says on stdout that the master can be reached, and what it remembers.
func (d *daemon) greet(cmd *cobra.Command, address net.Addr) {
	reg, found := d.registrar.Snapshot(), d.registrar.Recovery()
	fmt.Fprintf(cmd.OutOrStdout(), "serving http://%s: %s recovered from %s in %v\n",
		address, counted(reg.Len(registry.Admitted), "agent"), d.flags.dir, short(found.Took))
}

// stop ends the streams of agents, then waits for the answers under way.
func (d *daemon) stop(s *http.Server) error {
	d.stopping.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(d.flags.stopTimeout))
	defer cancel()
	err := d.master.Close()
	if s.Shutdown(ctx) != nil {
		d.log.Warn("answers were cut off that took too long", "after", duration.Format(time.Duration(d.flags.stopTimeout)))
		err = errors.Join(err, s.Close())
	}
	return err
}

func (d *daemon) close() error {
	return errors.Join(d.master.Close(), d.registrar.Close())
}

// freePort is the port of the address, or a free one for port 0. It fails if
// somebody listens there, before anything is written.
func freePort(address string) (uint16, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port), nil
}
