package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/time/rate"

	"github.com/eaba02dc/registrar/internal/duration"
	"github.com/eaba02dc/registrar/master/metrics"
)

// metricsDoor serves metrics.
type metricsDoor struct {
	*api
	table   *metrics.Table
	rate    *rate.Limiter
	process *prometheus.Registry // what is not in the table
	idle    *time.Timer          // drops what the table remembers
}

func newMetricsDoor(a *api, o *Options) *metricsDoor {
	m := &metricsDoor{api: a, table: o.Metrics, rate: rate.NewLimiter(rate.Inf, 1), process: prometheus.NewRegistry()}
	if r := o.MetricsRate; r.Count > 0 && r.Per > 0 {
		m.rate = rate.NewLimiter(rate.Limit(float64(r.Count)/r.Per.Seconds()), 1)
	}
	hits := []string{"master/http_cache_hits"}
	if err := m.table.Pull(hits, func(v []float64) { v[0] = float64(a.shared.hits.Load()) }); err != nil {
		a.log.Warn("answers that were kept are not counted", "err", err)
	}
	m.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.process.MustRegister(o.Collectors...)
	m.idle = time.AfterFunc(maxIdle, m.table.Forget)
	m.idle.Stop()
	return m
}

// snapshot answers /metrics/snapshot. The time that somebody gives does not begin
// before it is his turn.
func (m *metricsDoor) snapshot(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	callback := query.Get("jsonp")
	if query.Has("jsonp") && !isCallback(callback) {
		fail(w, http.StatusBadRequest, "jsonp is not the name of a JavaScript function.")
		return
	}
	var timeout *time.Duration
	if text := query.Get("timeout"); query.Has("timeout") {
		d, err := duration.Parse(text)
		if err != nil {
			fail(w, http.StatusBadRequest, fmt.Sprintf("Invalid timeout '%s': %v", text, err))
			return
		}
		timeout = &d
	}
	if m.rate.Wait(r.Context()) != nil {
		return // the client is gone
	}
	s := m.take(r.Context(), timeout)
	kind := "application/json"
	if callback != "" {
		kind = "text/javascript"
	}
	m.send(w, r, kind, -1, func(w io.Writer) {
		if callback == "" {
			s.Write(w, metrics.V0)
			return
		}
		io.WriteString(w, callback+"(")
		s.Write(w, metrics.V0)
		io.WriteString(w, ")")
	})
}

// take takes a snapshot, within a time if one is given. What it remembers is
// dropped when nobody has asked for a while.
func (m *metricsDoor) take(ctx context.Context, timeout *time.Duration) *metrics.Snapshot {
	m.idle.Reset(maxIdle)
	if timeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *timeout)
		defer cancel()
	}
	return m.table.Snapshot(ctx)
}

// send sends what body writes, packed if the client likes that. Size is how long
// it is, less than 0 if that is not known.
func (m *metricsDoor) send(w http.ResponseWriter, r *http.Request, kind string, size int, body func(io.Writer)) {
	turn, err := m.turns.take(r.Context())
	if err != nil {
		return // the client is gone
	}
	defer turn.end()
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Cache-Control", "no-store")
	header.Add("Vary", "Accept-Encoding")
	gzip := takesGzip(r)
	switch {
	case gzip:
		header.Set("Content-Encoding", "gzip")
	case size >= 0:
		header.Set("Content-Length", fmt.Sprint(size))
	}
	if r.Method == http.MethodHead {
		return
	}
	out := &patient{w, http.NewResponseController(w), m.sendTimeout, turn}
	if !gzip {
		body(out)
		return
	}
	z := packing(out)
	body(z)
	z.Close()
}

// patient is a writer that gives each piece a time: who reads more slowly is cut
// off.
type patient struct {
	w       io.Writer
	control *http.ResponseController
	timeout time.Duration
	turn    *turn
}

func (p *patient) Write(b []byte) (n int, err error) {
	p.control.SetWriteDeadline(time.Now().Add(p.timeout))
	p.turn.piece(func() { n, err = p.w.Write(b) })
	return n, err
}
