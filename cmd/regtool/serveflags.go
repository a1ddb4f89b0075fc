package main

import (
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/duration"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

const configFlag = "config"

// serveFlags is how serve was called.
type serveFlags struct {
	dir, config         string
	ip, hostname        string
	port                uint16
	advertiseIP         string
	advertisePort       uint16
	cluster             string
	acceptLoss, socket  bool
	logLevel, logFormat string
	maxAgents           int
	stateCacheBytes     int64
	diskFullBelow       int64 // 0 does not watch
	diskLowBelow        int64
	storeTimeout        duration.Value
	storeSlow           duration.Value
	stopTimeout         duration.Value
	door                doorFlags
	etcd                etcdFlags
	etcdLease           duration.Value
	metricsRate         rateValue
	frameworkMetrics    bool
	master              master.Options
}

// newServeFlags gives cmd its flags. Those that Mesos has, have its names and
// its defaults.
func newServeFlags(cmd *cobra.Command) *serveFlags {
	s := &serveFlags{master: master.Options{}.WithDefaults(), stopTimeout: duration.Value(defaultStopTimeout)}
	f := cmd.Flags()
	f.SetNormalizeFunc(underscores)
	f.StringVar(&s.dir, "dir", "", "directory of the registry; this or --etcd is required")
	cmd.MarkFlagDirname("dir")
	s.etcd.add(f)
	s.etcdLease = duration.Value(10 * time.Second)
	f.Var(&s.etcdLease, "etcd-lease", "for how long a master leads that is not heard of; another leads then")
	cmd.MarkFlagsOneRequired("dir", "etcd")
	cmd.MarkFlagsMutuallyExclusive("dir", "etcd")
	acceptLossFlagTo(cmd, &s.acceptLoss)
	f.BoolVar(&s.socket, "socket", true, "let regtool read the registry meanwhile, through the Unix socket SOCKET in --dir, for this user alone")
	f.StringVar(&s.config, configFlag, "", "YAML file with settings: names of these flags, and values")
	f.StringVar(&s.ip, "ip", "127.0.0.1", "address to listen on")
	f.Uint16Var(&s.port, "port", 5050, "port to listen on; 0 takes a free one")
	f.StringVar(&s.hostname, "hostname", "", "name under which clients reach this master (default: localhost on a loopback address, else that of the machine)")
	f.StringVar(&s.advertiseIP, "advertise-ip", "", "address that is told to clients (default: that of --ip)")
	f.Uint16Var(&s.advertisePort, "advertise-port", 0, "port that is told to clients (default: that of --port)")
	f.StringVar(&s.cluster, "cluster", "", "name of the cluster, for people")
	f.IntVar(&s.maxAgents, "max-agents", 20_000, "how many agents may connect; the limit on open files is raised for them")
	f.Int64Var(&s.stateCacheBytes, "state-cache-bytes", 1<<30, "how many bytes of answers may be kept, so that who asks again is answered by copying")
	f.Int64Var(&s.diskFullBelow, "disk-full-below-bytes", 64<<20, "below so many free bytes nothing is added to the registry, what removes is still done; 0 does not watch")
	f.Int64Var(&s.diskLowBelow, "disk-low-below-bytes", 128<<20, "below so many /ready and metrics warn, and from so many on a disk that was full no longer is")
	s.storeTimeout, s.storeSlow = duration.Value(20*time.Second), duration.Value(time.Second)
	f.Var(&s.storeTimeout, "registry-store-timeout", "how long the disk may take for a record before the master ends")
	f.Var(&s.storeSlow, "registry-slow-after", "how long a batch may take before it is logged, and /ready and metrics warn")
	f.Var(&s.stopTimeout, "stop-timeout", "how long to wait for answers under way when told to stop")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&s.frameworkMetrics, "publish-per-framework-metrics", true, "show some 60 metrics of each framework")
	s.metricsRate = rateValue{Count: 2, Per: time.Second}
	f.Var(&s.metricsRate, "metrics-snapshot-rate-limit", "how often /metrics/snapshot answers, who asks sooner waits; \"\" is no limit")
	s.door.add(f)
	s.masterFlags(f)
	return s
}

func (s *serveFlags) masterFlags(f *pflag.FlagSet) {
	o := &s.master
	f.Var((*duration.Value)(&o.PingTimeout), "agent-ping-timeout", "how often agent and master say that they are there")
	f.IntVar(&o.MaxPingTimeouts, "max-agent-ping-timeouts", o.MaxPingTimeouts, "how many of those may stay out before an agent is marked unreachable")
	f.Var((*duration.Value)(&o.AgentReregisterTimeout), "agent-reregister-timeout", "how long an agent may stay away, after it lost its master or the master failed over, before it is marked unreachable")
	f.Var((*duration.Value)(&o.RegistryGCInterval), "registry-gc-interval", "how often unreachable and gone agents that are too old or too many are forgotten")
	f.Var((*duration.Value)(&o.RegistryMaxAgentAge), "registry-max-agent-age", "how long an unreachable or gone agent is remembered")
	f.IntVar(&o.RegistryMaxAgentCount, "registry-max-agent-count", o.RegistryMaxAgentCount, "how many unreachable, and how many gone agents are remembered")
	f.IntVar(&o.MaxAgents, "max-admitted-agents", o.MaxAgents, "how many agents may be members of the cluster; a new one beyond that is refused")
	f.IntVar(&o.MaxPods, "max-pods", o.MaxPods, "how many pods may be defined; a new one beyond that is refused")
	f.Var((*rateValue)(&o.AgentRemovalRateLimit), "agent-removal-rate-limit", "how many agents may be marked unreachable in which time, as in 1/10mins (default: no limit)")
	f.Var((*percentValue)(&o.RecoveryAgentRemovalLimit), "recovery-agent-removal-limit", "end rather than mark more than this share of the agents unreachable that did not come back after a failover")
	f.Var((*percentValue)(&o.RemovalBudget.Share), "removal-budget", "mark no more than this share of all agents unreachable within an hour, then wait for an operator or their return")
	f.Var((*percentValue)(&o.RemovalBudget.DomainShare), "removal-budget-per-domain", "the same for each fault domain; 100% is no bound")
	f.IntVar(&o.MaxCompletedFrameworks, "max-completed-frameworks", o.MaxCompletedFrameworks, "how many frameworks that have ended are shown")
	f.IntVar(&o.MaxCompletedTasksPerFramework, "max-completed-tasks-per-framework", o.MaxCompletedTasksPerFramework, "how many tasks that have ended are shown of a framework")
	f.IntVar(&o.MaxUnreachableTasksPerFramework, "max-unreachable-tasks-per-framework", o.MaxUnreachableTasksPerFramework, "how many tasks on unreachable agents are shown of a framework")
}

// validate refuses what no flag alone can: it says so before anything is
// written.
func (s *serveFlags) validate() error {
	o := &s.master
	for name, d := range map[string]time.Duration{
		"agent-ping-timeout": o.PingTimeout, "agent-reregister-timeout": o.AgentReregisterTimeout,
		"registry-gc-interval": o.RegistryGCInterval, "registry-max-agent-age": o.RegistryMaxAgentAge,
		"stop-timeout": time.Duration(s.stopTimeout), "registry-store-timeout": time.Duration(s.storeTimeout), "registry-slow-after": time.Duration(s.storeSlow),
	} {
		if d <= 0 {
			return usagef("--%s %s: more than 0 is needed", name, duration.Format(d))
		}
	}
	for name, n := range map[string]int{
		"max-agents": s.maxAgents, "max-admitted-agents": o.MaxAgents, "max-pods": o.MaxPods, "max-agent-ping-timeouts": o.MaxPingTimeouts, "registry-max-agent-count": o.RegistryMaxAgentCount,
	} {
		if n < 1 {
			return usagef("--%s %d: at least 1 is needed", name, n)
		}
	}
	if s.stateCacheBytes < 1 {
		return usagef("--state-cache-bytes %d: at least 1 is needed", s.stateCacheBytes)
	}
	if s.diskFullBelow < 0 || s.diskLowBelow < s.diskFullBelow {
		return usagef("--disk-full-below-bytes %d and --disk-low-below-bytes %d: the second cannot be less than the first, or that less than 0", s.diskFullBelow, s.diskLowBelow)
	}
	for name, n := range map[string]int{
		"max-completed-frameworks": o.MaxCompletedFrameworks, "max-completed-tasks-per-framework": o.MaxCompletedTasksPerFramework,
		"max-unreachable-tasks-per-framework": o.MaxUnreachableTasksPerFramework,
	} {
		if n < 0 {
			return usagef("--%s %d: cannot be less than 0", name, n)
		}
	}
	if o.PingTimeout > wire.MaxHeartbeat {
		return usagef("--agent-ping-timeout %s: agents can be told of %s at most", duration.Format(o.PingTimeout), duration.Format(wire.MaxHeartbeat))
	}
	if uint64(o.MaxPingTimeouts) > math.MaxUint32 {
		return usagef("--max-agent-ping-timeouts %d: agents can be told of %d at most", o.MaxPingTimeouts, uint32(math.MaxUint32))
	}
	if err := s.etcd.validate(); err != nil {
		return err
	}
	if s.etcd.given() && s.acceptLoss {
		return usagef("--accept-loss is for a registry in --dir: what etcd holds is never opened in part")
	}
	if time.Duration(s.etcdLease) < 2*time.Second {
		return usagef("--etcd-lease %s: 2secs are needed at least, since etcd takes no less", duration.Format(time.Duration(s.etcdLease)))
	}
	_, err := s.reached()
	return err
}

// place names the registry for people, arguments how other commands find it.
func (s *serveFlags) place() string {
	if s.etcd.given() {
		return s.etcd.place()
	}
	return s.dir
}

func (s *serveFlags) arguments() string {
	if s.etcd.given() {
		return s.etcd.arguments()
	}
	return "--dir " + s.dir
}

// options are the master's, which means none by less than 0 where a flag says 0.
func (s *serveFlags) options() master.Options {
	o := s.master
	o.HideFrameworkMetrics = !s.frameworkMetrics
	for _, n := range []*int{&o.MaxCompletedFrameworks, &o.MaxCompletedTasksPerFramework, &o.MaxUnreachableTasksPerFramework} {
		if *n == 0 {
			*n = -1
		}
	}
	return o
}

// storage are the options of the log, which means not to watch by less than 0
// where a flag says 0.
func (s *serveFlags) storage(log *slog.Logger) wal.Options {
	o := wal.Options{AcceptLoss: s.acceptLoss, FullBelow: s.diskFullBelow, LowBelow: s.diskLowBelow, NoSocket: !s.socket, Logger: log}
	if o.FullBelow == 0 {
		o.FullBelow = -1
	}
	return o
}

// values are the settings by the names that Mesos writes, for /flags.
func (s *serveFlags) values(f *pflag.FlagSet) map[string]string {
	values := map[string]string{}
	f.VisitAll(func(f *pflag.Flag) {
		if v := f.Value.String(); v != "" && f.Name != "help" {
			values[strings.ReplaceAll(f.Name, "-", "_")] = v
		}
	})
	return values
}

// reached is the address at which clients reach this master.
func (s *serveFlags) reached() (netip.Addr, error) {
	ip, err := netip.ParseAddr(s.ip)
	if err != nil {
		return ip, usagef("--ip %q: use an address as 127.0.0.1", s.ip)
	}
	if s.advertiseIP != "" {
		if ip, err = netip.ParseAddr(s.advertiseIP); err != nil {
			return ip, usagef("--advertise-ip %q: use an address as 10.0.5.220", s.advertiseIP)
		}
		if ip.IsUnspecified() {
			return ip, usagef("--advertise-ip %s is every address: say which of them clients are to use", ip)
		}
	}
	if ip.IsUnspecified() {
		return ip, usagef("--ip %s listens on every address: say with --advertise-ip which of them clients are to use", s.ip)
	}
	return ip, nil
}

// info is who the master says it is when it is reached here and listens on this
// port.
func (s *serveFlags) info(ip netip.Addr, port uint16) registry.Master {
	if s.advertisePort != 0 {
		port = s.advertisePort
	}
	return registry.Master{
		ID: uuid.NewString(), IP: ip.String(), Port: port, PID: "master@" + netip.AddrPortFrom(ip, port).String(),
		Hostname: s.hostnameFor(ip), Version: mesosVersion,
		Capabilities: []string{"AGENT_UPDATE", "AGENT_DRAINING"},
	}
}

func (s *serveFlags) hostnameFor(ip netip.Addr) string {
	if s.hostname != "" {
		return s.hostname
	}
	if name, err := os.Hostname(); err == nil && !ip.IsLoopback() {
		return name
	}
	if ip.IsLoopback() {
		return "localhost"
	}
	return ip.String()
}

func (s *serveFlags) address() string {
	return net.JoinHostPort(s.ip, strconv.Itoa(int(s.port)))
}

// network keeps 0.0.0.0 to IPv4: of itself it would be every address of IPv6 too.
func (s *serveFlags) network() string {
	if ip, err := netip.ParseAddr(s.ip); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// logger writes what the log flags ask for.
func (s *serveFlags) logger(cmd *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, usagef("--log-level: %q is none of debug, info, warn, error", s.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), o)), nil
	}
	return nil, usagef("--log-format: %q is neither text nor json", s.logFormat)
}

// mesosVersion is the version of Mesos whose answers these are, and which
// clients branch on.
const mesosVersion = "1.12.0"
