package httpapi

import (
	"slices"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
)

// frameworksBody is the answer of /frameworks.
func frameworksBody(p *page, s *master.State, q *question) error {
	p.b = append(p.b, '{')
	frameworkLists(p, s, q)
	p.b = append(p.b, `,"unregistered_frameworks":[]}`...)
	return nil
}

// frameworkLists are the frameworks and those that have ended, all or the one
// that the question asks for.
func frameworkLists(p *page, s *master.State, q *question) {
	p.b = append(key(p.b, "frameworks"), '[')
	for f := range s.Frameworks() {
		addFramework(p, f, q)
	}
	p.b = append(key(append(p.b, ']'), "completed_frameworks"), '[')
	for f := range s.CompletedFrameworks() {
		addFramework(p, f, q)
	}
	p.b = append(p.b, ']')
}

// seesFramework reports whether a framework is in a view: one of its roles is.
func (q *question) seesFramework(info *wire.FrameworkInfo) bool {
	return q.view.Roles == nil || slices.ContainsFunc(rolesOf(info), q.view.Sees)
}

// addFramework adds a framework with all that runs for it.
func addFramework(p *page, f *master.Framework, q *question) {
	info := &f.Info
	if !q.asksFor("framework_id", info.ID) || !q.seesFramework(info) {
		return
	}
	used := usedFor(f, q.view)
	p.b = frameworkSummary(append(next(p.b), '{'), f, used)
	p.b = text(p.b, "user", info.User)
	p.b = double(p.b, "failover_timeout", info.FailoverTimeout)
	p.b = boolean(p.b, "checkpoint", info.Checkpoint)
	p.b = seconds(p.b, "registered_time", f.Registered)
	p.b = seconds(p.b, "unregistered_time", f.Unregistered)
	p.b = optText(p.b, "principal", info.Principal)
	p.b = appendTotals(key(p.b, "resources"), used) // and what is offered, which is nothing
	p.b = frameworkRoles(p.b, info, q.view)
	p.b = append(key(p.b, "tasks"), '[')
	addTasks(p, f.TaskLeaves(), q.view)
	p.b = append(key(append(p.b, ']'), "unreachable_tasks"), '[')
	addPast(p, f.UnreachableLeaves(), q.view)
	p.b = append(key(append(p.b, ']'), "completed_tasks"), '[')
	addPast(p, f.CompletedLeaves(), q.view)
	p.b = append(append(p.b, ']'), `,"offers":[],"executors":[`...)
	addLeaves(p, f.ExecutorLeaves(), executorsInState, q.view, func(e *master.Executor, looks []byte) {
		if q.view.sees(e.Info.Resources) {
			p.add(part{bytes: looks})
		}
	})
	p.b = labels(append(p.b, ']'), info.Labels)
	p.b = append(p.b, `,"offer_constraints":{}}`...)
}

// frameworkSummary begins a framework: all that /state-summary shows of it but
// counts.
func frameworkSummary(b []byte, f *master.Framework, used *totals) []byte {
	info := &f.Info
	b = text(b, "id", info.ID)
	b = text(b, "name", info.Name)
	b = appendTotals(key(b, "used_resources"), used)
	b = append(key(b, "offered_resources"), nothing...)
	b = texts(b, "capabilities", info.Capabilities)
	b = text(b, "hostname", info.Hostname)
	b = text(b, "webui_url", info.WebUIURL)
	b = boolean(b, "active", false)
	b = boolean(b, "connected", false)
	// Known from agents alone is what Mesos calls recovered.
	return boolean(b, "recovered", f.Unregistered.IsZero())
}

// usedFor is what a framework uses on all agents, as far as it is seen.
func usedFor(f *master.Framework, view View) *totals {
	if u := f.Used(); u.Others == 0 && view.Roles == nil {
		return totalsOf(&u)
	}
	var t totals
	for l := range f.TaskLeaves() {
		if n := tasksInState.noteOf(l); view.seesAll(n.roles) {
			t.addAll(&n.used)
			continue
		}
		for _, task := range l.Values() {
			if view.sees(task.Resources) {
				t.task(task)
			}
		}
	}
	for l := range f.ExecutorLeaves() {
		if n := executorsInState.noteOf(l); view.seesAll(n.roles) {
			t.addAll(&n.used)
			continue
		}
		for _, e := range l.Values() {
			if view.sees(e.Info.Resources) {
				t.use(e.AgentID, e.Info.Resources)
			}
		}
	}
	return &t
}

// rolesOf are the roles that a framework may be offered something for.
func rolesOf(info *wire.FrameworkInfo) []string {
	switch {
	case hasManyRoles(info):
		return info.Roles
	case info.Role == "":
		return []string{anyRole}
	default:
		return []string{info.Role}
	}
}

func hasManyRoles(info *wire.FrameworkInfo) bool {
	return len(info.Roles) > 0 || slices.Contains(info.Capabilities, "MULTI_ROLE")
}

// frameworkRoles writes the roles of a framework that are in a view.
func frameworkRoles(b []byte, info *wire.FrameworkInfo, view View) []byte {
	roles := rolesOf(info)
	if !hasManyRoles(info) {
		return text(b, "role", roles[0]) // or the framework were not seen
	}
	if !view.seesAll(roles) {
		roles = slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return !view.Sees(role) })
	}
	return texts(b, "roles", roles)
}
