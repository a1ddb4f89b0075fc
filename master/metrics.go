package master

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/metrics"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

// Metrics is what the master counts, and whatever else was put there
// ([Options].Metrics).
func (m *Master) Metrics() *metrics.Table { return m.o.Metrics }

// addMetrics adds what is read from the State and the Stats when somebody asks.
func (m *Master) addMetrics() error {
	t := m.o.Metrics
	c := &collector{m: m}
	var names []string
	for i := range definitions {
		names = append(names, definitions[i].Name)
	}
	if err := t.Pull(names, c.read); err != nil {
		return fmt.Errorf("the metrics of the master: %w", err)
	}
	if m.o.StoreTimes == nil {
		return nil
	}
	return t.Timer("registrar/state_store", m.o.StoreTimes)
}

// collector reads what the master has, one time after another.
type collector struct {
	m *Master
	// agents is what was summed up of the agents of the last State.
	agents map[*Agent]agentSums
}

// seen is what metrics are taken from.
type seen struct {
	m         *Master
	now       time.Time
	state     *State
	stats     Stats
	registrar registrar.Stats
	system    system
	agentSums
	frameworks int
}

func (c *collector) read(values []float64) {
	// The State first: what its Stats count it shows.
	s := seen{m: c.m, now: time.Now(), state: c.m.State(), stats: c.m.Stats(), registrar: c.m.registrar.Stats(), system: readSystem()}
	s.agentSums = c.sumAgents(s.state)
	s.frameworks = s.state.frameworks.Len()
	for i := range definitions {
		if d := &definitions[i]; d.value != nil {
			values[i] = d.value(&s)
		}
	}
}

// agentSums is what agents have and what is used there.
type agentSums struct {
	connected, active int
	total, used       resources
}

// resources are amounts of what Mesos counts, in thousandths, which is how exact
// Mesos is: so sums are exact.
type resources [len(counted)]int64

// counted are the resources that have metrics, those that can be taken back last.
var counted = [...]string{"cpus", "gpus", "mem", "disk", "cpus_revocable", "gpus_revocable", "mem_revocable", "disk_revocable"}

func (r *resources) add(name string, v *registry.Value, revocable bool) {
	if v.Kind != registry.KindScalar || math.Abs(v.Scalar) > 1e12 {
		return
	}
	for i, c := range counted[:4] {
		if c == name {
			if revocable {
				i += 4
			}
			r[i] += int64(math.Round(v.Scalar * 1000))
			return
		}
	}
}

func (r *resources) plus(other *resources) {
	for i := range r {
		r[i] += other[i]
	}
}

// sumAgents adds up the agents. Of those that have not changed since the last time
// the sums are known.
func (c *collector) sumAgents(s *State) (all agentSums) {
	known := make(map[*Agent]agentSums, s.AgentsLen())
	for a := range s.Agents() {
		sums, ok := c.agents[a]
		if !ok {
			sums = a.sums()
		}
		known[a] = sums
		all.connected += sums.connected
		all.active += sums.active
		all.total.plus(&sums.total)
		all.used.plus(&sums.used)
	}
	c.agents = known
	return all
}

func (a *Agent) sums() (s agentSums) {
	if a.Connected {
		s.connected = 1
	}
	if a.Active() {
		s.active = 1
	}
	for i := range a.Resources {
		s.total.add(a.Resources[i].Name, &a.Resources[i].Value, false)
	}
	for t := range a.Tasks() {
		s.used.use(t.Resources)
	}
	for e := range a.Executors() {
		s.used.use(e.Resources)
	}
	return s
}

func (r *resources) use(list []wire.Resource) {
	for i := range list {
		one := &list[i]
		r.add(one.Name, &one.Value, one.Special != nil && len(one.Special.Revocable) > 0)
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
