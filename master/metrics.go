package master

import (
	"fmt"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/metrics"
	"github.com/eaba02dc/registrar/registrar"
)

// Metrics is what the master counts, and whatever else was put there
// ([Options].Metrics).
func (m *Master) Metrics() *metrics.Table { return m.o.Metrics }

// addMetrics adds what is read from the State and the Stats when somebody asks.
func (m *Master) addMetrics() error {
	t := m.o.Metrics
	var names []string
	for i := range definitions {
		names = append(names, definitions[i].Name)
	}
	if err := t.Pull(names, m.readMetrics); err != nil {
		return fmt.Errorf("the metrics of the master: %w", err)
	}
	if m.o.StoreTimes == nil {
		return nil
	}
	return t.Timer("registrar/state_store", m.o.StoreTimes)
}

// seen is what metrics are taken from.
type seen struct {
	m         *Master
	now       time.Time
	state     *State
	stats     Stats
	registrar registrar.Stats
	system    system
	sums
	frameworks int
}

// readMetrics reads all of Definitions.
func (m *Master) readMetrics(values []float64) {
	// The State first: what its Stats count it shows.
	s := seen{m: m, now: time.Now(), state: m.State(), stats: m.Stats(), registrar: m.registrar.Stats(), system: readSystem()}
	s.sums = s.state.sums
	s.frameworks = s.state.frameworks.Len()
	for i := range definitions {
		if d := &definitions[i]; d.value != nil {
			values[i] = d.value(&s)
		}
	}
}

// reason is what a task ended for, as its metric is named.
type reason struct {
	state          wire.TaskState
	source, reason string
}

// maxReasons is how many of them are counted: agents say what they are.
const maxReasons = 1000

// countReason counts why a task ended, by the last that was said of it.
func (l *loop) countReason(t *wire.Task) {
	if len(t.Statuses) == 0 {
		return
	}
	last := &t.Statuses[len(t.Statuses)-1]
	if last.State != t.State || last.Reason == "" {
		return
	}
	r := reason{t.State, last.Source, last.Reason}
	c := l.reasons[r]
	if c == nil {
		if len(l.reasons) == maxReasons || !isEnumName(r.source) || !isEnumName(r.reason) {
			return
		}
		var err error
		if c, err = l.o.Metrics.Counter(r.name()); err != nil {
			l.log.Error("the reasons of tasks are not counted", "err", err)
		}
		if l.reasons == nil {
			l.reasons = map[reason]*metrics.Counter{}
		}
		l.reasons[r] = c
	}
	c.Inc()
}

func (r reason) name() string {
	return "master/" + lowered(r.state) + "/" + strings.ToLower(r.source) + "/" + strings.ToLower(r.reason)
}

// isEnumName reports whether a text can be the name of a value in protobuf.
func isEnumName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 100
}
