package httpapi

import (
	"net/url"
	"slices"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
)

// frameworksBody is the answer of /frameworks.
func frameworksBody(b []byte, s *master.State, query url.Values) ([]byte, error) {
	b = frameworkLists(append(b, '{'), s, query)
	b = append(key(b, "unregistered_frameworks"), "[]"...)
	return append(b, '}'), nil
}

// frameworkLists are the frameworks and those that have ended, all or the one
// that the query asks for.
func frameworkLists(b []byte, s *master.State, query url.Values) []byte {
	b = append(key(b, "frameworks"), '[')
	for f := range s.Frameworks() {
		if asksFor(query, "framework_id", f.Info.ID) {
			b = appendFramework(next(b), f)
		}
	}
	b = append(key(append(b, ']'), "completed_frameworks"), '[')
	for f := range s.CompletedFrameworks() {
		if asksFor(query, "framework_id", f.Info.ID) {
			b = appendFramework(next(b), f)
		}
	}
	return append(b, ']')
}

// appendFramework writes a framework with all that runs for it.
func appendFramework(b []byte, f *master.Framework) []byte {
	info := &f.Info
	used := usedFor(f)
	b = frameworkSummary(append(b, '{'), f, used)
	b = text(b, "user", info.User)
	b = double(b, "failover_timeout", info.FailoverTimeout)
	b = boolean(b, "checkpoint", info.Checkpoint)
	b = seconds(b, "registered_time", f.Registered)
	b = seconds(b, "unregistered_time", f.Unregistered)
	b = optText(b, "principal", info.Principal)
	b = appendTotals(key(b, "resources"), used) // and what is offered, which is nothing
	b = frameworkRoles(b, info)
	b = frameworkTasks(b, f)
	b = append(key(b, "offers"), "[]"...)
	b = append(key(b, "executors"), '[')
	for e := range f.Executors() {
		b = appendExecutor(next(b), e)
	}
	b = labels(append(b, ']'), info.Labels)
	b = append(key(b, "offer_constraints"), "{}"...)
	return append(b, '}')
}

// frameworkSummary begins a framework: all that /state-summary shows of it but
// counts.
func frameworkSummary(b []byte, f *master.Framework, used *totals) []byte {
	info := &f.Info
	b = text(b, "id", info.ID)
	b = text(b, "name", info.Name)
	b = appendTotals(key(b, "used_resources"), used)
	b = appendTotals(key(b, "offered_resources"), &totals{})
	b = texts(b, "capabilities", info.Capabilities)
	b = text(b, "hostname", info.Hostname)
	b = text(b, "webui_url", info.WebUIURL)
	b = boolean(b, "active", false)
	b = boolean(b, "connected", false)
	// Known from agents alone is what Mesos calls recovered.
	return boolean(b, "recovered", f.Unregistered.IsZero())
}

// usedFor is what a framework uses on all agents.
func usedFor(f *master.Framework) *totals {
	var t totals
	for task := range f.Tasks() {
		t.task(task)
	}
	for e := range f.Executors() {
		t.use(e.AgentID, e.Info.Resources)
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

func frameworkRoles(b []byte, info *wire.FrameworkInfo) []byte {
	roles := rolesOf(info)
	if hasManyRoles(info) {
		return texts(b, "roles", roles)
	}
	return text(b, "role", roles[0])
}

func frameworkTasks(b []byte, f *master.Framework) []byte {
	b = append(key(b, "tasks"), '[')
	for t := range f.Tasks() {
		b = appendTask(next(b), t)
	}
	b = append(key(append(b, ']'), "unreachable_tasks"), '[')
	for t := range f.UnreachableTasks() {
		b = appendTask(next(b), t)
	}
	b = append(key(append(b, ']'), "completed_tasks"), '[')
	for t := range f.CompletedTasks() {
		b = appendTask(next(b), t)
	}
	return append(b, ']')
}
