package httpapi

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/metrics"
)

// prometheus answers /metrics: what the table has of the master and the process
// goes through client_golang, frameworks past it, which is a hundred times as
// fast. They are sent while the rest is gathered: to ask the system about the
// process takes a millisecond.
func (m *metricsDoor) prometheus(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtText)
	form := metrics.Prometheus
	if format.FormatType() == expfmt.TypeOpenMetrics {
		form = metrics.OpenMetrics
	}
	s := m.take(r.Context(), nil)
	general := make(chan []byte, 1)
	go func() { general <- m.general(s, format) }()
	m.send(w, r, string(format), -1, func(w io.Writer) {
		s.Write(w, form)
		w.Write(<-general)
	})
}

// general is what is not of frameworks, up to the end.
func (m *metricsDoor) general(s *metrics.Snapshot, format expfmt.Format) []byte {
	mine := prometheus.NewRegistry()
	mine.MustRegister(&tableCollector{s})
	families, err := prometheus.Gatherers{mine, m.process}.Gather()
	if err != nil {
		m.log.Error("cannot gather all metrics", "err", err)
	}
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, format)
	for _, f := range families {
		if err := e.Encode(f); err != nil {
			m.log.Error("cannot show a metric", "name", f.GetName(), "err", err)
		}
	}
	if end, ok := e.(expfmt.Closer); ok {
		end.Close() // # EOF, in OpenMetrics
	}
	return b.Bytes()
}

// tableCollector shows what the definitions of the master have a family for.
type tableCollector struct{ *metrics.Snapshot }

// Describe says nothing, so that nothing is checked before there is a value.
func (tableCollector) Describe(chan<- *prometheus.Desc) {}

var (
	byName = func() map[string]shownAs {
		all := map[string]shownAs{}
		for _, d := range master.Definitions() {
			if d.Family != "" {
				all[d.Name] = newShownAs(&d)
			}
		}
		return all
	}()
	reasonDesc    = prometheus.NewDesc("mesos_master_tasks_ended_by_reason_total", "Tasks that ended, by why.", []string{"state", "source", "reason"}, nil)
	principalDesc = prometheus.NewDesc("mesos_master_principal_messages_total", "Messages of frameworks, by their principal.", []string{"principal", "stage"}, nil)
	hitsDesc      = prometheus.NewDesc("mesos_master_http_cache_hits_total", "Questions that were answered with what another one was answered.", nil, nil)
)

// Collect implements [prometheus.Collector].
func (c *tableCollector) Collect(ch chan<- prometheus.Metric) {
	for name, v := range c.Each {
		if name == "master/http_cache_hits" {
			ch <- prometheus.MustNewConstMetric(hitsDesc, prometheus.CounterValue, v)
			continue
		}
		if rest, is := strings.CutPrefix(name, "frameworks/"); is {
			if at := strings.LastIndex(rest, "/messages_"); at >= 0 {
				ch <- prometheus.MustNewConstMetric(principalDesc, prometheus.CounterValue, v, strings.ToValidUTF8(rest[:at], "�"), rest[at+len("/messages_"):])
			}
			continue
		}
		if rest, is := strings.CutPrefix(name, "master/task_"); is {
			if part := strings.Split(rest, "/"); len(part) == 3 {
				ch <- prometheus.MustNewConstMetric(reasonDesc, prometheus.CounterValue, v,
					"task_"+part[0], part[1], part[2])
			}
			continue
		}
		if as, ok := byName[name]; ok {
			ch <- prometheus.MustNewConstMetric(as.desc, as.kind, v*as.scale, as.values...)
		}
	}
}

// shownAs is what a metric of the master is for Prometheus.
type shownAs struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	scale  float64
	values []string // of the label, if there is one
}

func newShownAs(d *master.Definition) shownAs {
	as := shownAs{kind: prometheus.GaugeValue, scale: cmp.Or(d.Scale, 1)}
	if d.Counter {
		as.kind = prometheus.CounterValue
	}
	var labels []string
	if d.Label != "" {
		labels, as.values = []string{d.Label}, []string{d.Value}
	}
	as.desc = prometheus.NewDesc(d.Family, d.FamilyHelp(), labels, nil)
	return as
}
