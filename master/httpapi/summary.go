package httpapi

import (
	"maps"
	"slices"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// counted are the states that /state-summary counts, in its order.
var counted = [...]wire.TaskState{
	wire.TaskStaging, wire.TaskStarting, wire.TaskRunning, wire.TaskKilling, wire.TaskFinished,
	wire.TaskKilled, wire.TaskFailed, wire.TaskLost, wire.TaskError, wire.TaskUnreachable,
}

// tally counts tasks by state.
type tally [len(counted)]int64

func (t *tally) count(s wire.TaskState) {
	if i := slices.Index(counted[:], s); i >= 0 {
		t[i]++
	}
}

// tallyMembers writes a count for each state.
func tallyMembers(b []byte, t *tally) []byte {
	for i, s := range counted {
		b = integer(b, string(s), t[i])
	}
	return b
}

// overview counts the tasks of the frameworks that have not ended, and says
// which framework has tasks on which agent.
type overview struct {
	agents     map[registry.AgentID]*agentOverview
	frameworks map[string]*frameworkOverview
}

type agentOverview struct {
	tally
	frameworks []string // in order
}

type frameworkOverview struct {
	tally
	agents map[registry.AgentID]bool
}

func overviewOf(s *master.State, q *question) overview {
	o := overview{map[registry.AgentID]*agentOverview{}, map[string]*frameworkOverview{}}
	for a := range s.Agents() {
		o.agents[a.Info.ID] = &agentOverview{}
	}
	for f := range s.Frameworks() {
		if !q.seesFramework(&f.Info) {
			continue
		}
		on := &frameworkOverview{agents: map[registry.AgentID]bool{}}
		o.frameworks[f.Info.ID] = on
		for t := range everyTask(f) {
			if !q.view.sees(t.Resources) {
				continue
			}
			on.count(t.State)
			on.agents[t.AgentID] = true
			if a := o.agents[t.AgentID]; a != nil {
				a.add(t)
			}
		}
	}
	return o
}

// add counts a task; tasks of one framework come one after another.
func (a *agentOverview) add(t *wire.Task) {
	a.count(t.State)
	if n := len(a.frameworks); n == 0 || a.frameworks[n-1] != t.FrameworkID {
		a.frameworks = append(a.frameworks, t.FrameworkID)
	}
}

// summaryBody is the answer of /state-summary.
func (a *api) summaryBody(p *page, s *master.State, q *question) error {
	o := overviewOf(s, q)
	b := text(append(p.b, '{'), "hostname", s.Master.Hostname)
	b = optText(b, "cluster", a.about.cluster)
	b = append(key(b, "slaves"), '[')
	for one := range s.Agents() {
		b = appendAgentOverview(next(b), one, o.agents[one.Info.ID], q.view)
	}
	b = append(key(append(b, ']'), "frameworks"), '[')
	for one := range s.Frameworks() {
		if seen := o.frameworks[one.Info.ID]; seen != nil {
			b = appendFrameworkOverview(next(b), one, seen, q.view)
		}
	}
	p.b = append(b, "]}"...)
	return nil
}

func appendAgentOverview(b []byte, a *master.Agent, o *agentOverview, view View) []byte {
	b = agentMembers(append(b, '{'), a, view)
	b = tallyMembers(b, &o.tally)
	return append(texts(b, "framework_ids", o.frameworks), '}')
}

func appendFrameworkOverview(b []byte, f *master.Framework, o *frameworkOverview, view View) []byte {
	b = frameworkSummary(append(b, '{'), f, usedFor(f, view))
	b = tallyMembers(b, &o.tally)
	b = jsonout.List(key(b, "slave_ids"), slices.Sorted(maps.Keys(o.agents)), jsonout.String)
	return append(b, '}')
}
