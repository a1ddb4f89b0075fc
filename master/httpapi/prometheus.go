package httpapi

import (
	"bytes"
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
// fast.
func (m *metricsDoor) prometheus(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtText)
	form := metrics.Prometheus
	if format.FormatType() == expfmt.TypeOpenMetrics {
		form = metrics.OpenMetrics
	}
	s := m.take(r.Context(), nil)
	mine := prometheus.NewRegistry()
	mine.MustRegister(&tableCollector{s})
	families, err := prometheus.Gatherers{mine, m.process}.Gather()
	if err != nil {
		m.log.Error("cannot gather all metrics", "err", err)
	}
	var head bytes.Buffer
	e := expfmt.NewEncoder(&head, format)
	for _, f := range families {
		if err := e.Encode(f); err != nil {
			m.log.Error("cannot show a metric", "name", f.GetName(), "err", err)
		}
	}
	m.send(w, r, string(format), -1, func(w io.Writer) {
		w.Write(head.Bytes())
		s.Write(w, form)
		if form == metrics.OpenMetrics {
			io.WriteString(w, "# EOF\n")
		}
	})
}

// tableCollector shows what the definitions of the master have a family for.
type tableCollector struct{ *metrics.Snapshot }

// Describe says nothing, so that nothing is checked before there is a value.
func (tableCollector) Describe(chan<- *prometheus.Desc) {}

var (
	byName = func() map[string]master.Definition {
		all := map[string]master.Definition{}
		for _, d := range master.Definitions() {
			all[d.Name] = d
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
			at := strings.LastIndexByte(rest, '/')
			ch <- prometheus.MustNewConstMetric(principalDesc, prometheus.CounterValue, v, strings.ToValidUTF8(rest[:at], "�"), strings.TrimPrefix(rest[at+1:], "messages_"))
			continue
		}
		if rest, is := strings.CutPrefix(name, "master/task_"); is {
			if part := strings.Split(rest, "/"); len(part) == 3 {
				ch <- prometheus.MustNewConstMetric(reasonDesc, prometheus.CounterValue, v,
					"task_"+part[0], part[1], part[2])
			}
			continue
		}
		if d, ok := byName[name]; ok && d.Family != "" {
			ch <- constMetric(&d, v)
		}
	}
}

func constMetric(d *master.Definition, v float64) prometheus.Metric {
	kind := prometheus.GaugeValue
	if d.Counter {
		kind = prometheus.CounterValue
	}
	if d.Scale != 0 {
		v *= d.Scale
	}
	if d.Label == "" {
		return prometheus.MustNewConstMetric(prometheus.NewDesc(d.Family, d.Help, nil, nil), kind, v)
	}
	return prometheus.MustNewConstMetric(prometheus.NewDesc(d.Family, d.FamilyHelp(), []string{d.Label}, nil), kind, v, d.Value)
}
