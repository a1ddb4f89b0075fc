package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/metrics"
	"github.com/eaba02dc/registrar/registrar"
)

// Source is where the cluster is read from; a [*master.Master] is one.
type Source interface {
	State() *master.State
}

// Options says what a master cannot say itself. The zero value is good.
type Options struct {
	// Build is what program this is.
	Build Build
	// Flags are shown by /flags and /state, name to value. They must not hold
	// secrets. A log_dir or external_log_file is shown at the top of /state too.
	Flags map[string]string
	// Cluster is the name of the cluster; "" is none.
	Cluster string
	// Ready says why this master cannot serve now; /ready answers 503 with the
	// error's text. Nil, and a nil error, mean that it can. 200 says in its body
	// whether marking agents unreachable is frozen, and what Health says.
	Ready func() error
	// Health says how the registry is: [registrar.Registrar.Health]. Nil means that
	// it is well.
	Health func() registrar.Health
	// Agents serves POST /api/v1/agent; see [AgentStream]. Nil means that agents
	// cannot connect here.
	Agents http.Handler
	// Pods has those define pods who are let into the realm readwrite: a
	// [*master.Master]. Nil means that they can only be read.
	Pods PodKeeper
	// Metrics are served by /metrics/snapshot, GET_METRICS and /metrics; nil means
	// that there are none.
	Metrics *metrics.Table
	// MetricsRate is how often /metrics/snapshot answers; who asks sooner waits for
	// his turn. Nil means 2 a second, as Mesos does; its zero value has no bound.
	MetricsRate *master.Rate
	// Collectors are shown by /metrics too.
	Collectors []prometheus.Collector
	// StateCacheBytes bounds what is kept of answers, so that who asks again is
	// answered by copying; 0 means 1 GiB. It is dropped when nobody asks for five
	// minutes.
	StateCacheBytes int64
	// Gate asks who comes in; nil means that everybody does.
	Gate *Gate
	// Debug serves /debug/ to those in the realm readwrite, profiles of the process
	// for example; nil means that nothing is there.
	Debug http.Handler
	// MaxBody is the most bytes of the body of a request that is not of an agent; 0
	// means 64 KiB.
	MaxBody int
	// BodyTimeout is how long it may take to come; 0 means 10 s.
	BodyTimeout time.Duration
	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
}

// Build says what program answers.
type Build struct {
	// Version is that of the Mesos whose answers are given, for clients that
	// look at it; "" means 1.12.0.
	Version string
	// Time is when the program was built.
	Time time.Time
	// GitSHA and GitTag name its source; one that is "" is left out.
	GitSHA, GitTag string
}

func (o Options) withDefaults() Options {
	o.Build.Version = cmp.Or(o.Build.Version, "1.12.0")
	o.StateCacheBytes = cmp.Or(o.StateCacheBytes, 1<<30)
	o.MaxBody = cmp.Or(o.MaxBody, 64<<10)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Metrics = cmp.Or(o.Metrics, &metrics.Table{})
	o.MetricsRate = cmp.Or(o.MetricsRate, &master.Rate{Count: 2, Per: time.Second})
	if o.Agents == nil {
		o.Agents = http.HandlerFunc(notFound)
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Health == nil {
		o.Health = func() registrar.Health { return registrar.Health{State: registrar.Healthy} }
	}
	return o
}

// Handler answers requests about a cluster. Make one with [New].
type Handler struct {
	http.Handler
	api *api
}

// CacheHits is how many answers were not made, but found: somebody had asked the
// same about the same state. Mesos calls it master/http_cache_hits (MESOS-9224).
func (h *Handler) CacheHits() uint64 { return h.api.shared.hits.Load() }

// New answers requests about the cluster that source has.
func New(source Source, o Options) *Handler {
	o = o.withDefaults()
	a := &api{source: source, about: newAbout(o), ready: o.Ready, health: o.Health, agents: o.Agents, log: o.Logger,
		turns: newTurns(), cacheBytes: o.StateCacheBytes, sendTimeout: 10 * time.Second}
	a.metrics = newMetricsDoor(a, &o)
	mux := http.NewServeMux()
	for _, r := range a.routes() {
		h := r.entered(&o)
		for _, path := range r.paths() {
			mux.Handle(path, h)
			mux.Handle(path+"/{$}", h)
		}
	}
	if o.Debug != nil {
		mux.Handle("/debug/", o.Gate.guard(Readwrite, o.bounded(o.Debug)))
	}
	mux.Handle("/", o.bounded(http.HandlerFunc(notFound)))
	return &Handler{a.timely(besides(a.pods(&o), onlyPlainPaths(mux))), a}
}

// api is what the handlers share.
type api struct {
	source Source
	about  *about
	ready  func() error
	health func() registrar.Health
	agents http.Handler
	log    *slog.Logger

	shared      shared
	podLists    podLists
	turns       turns
	cacheBytes  int64
	sendTimeout time.Duration // of a piece of an answer
	metrics     *metricsDoor
}
