package master

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/metrics"
)

// tally is how many tasks a framework has in each state, and how many of it ended.
// The loop counts in it, and publishing shows it: so a metric is never behind or
// before the State.
type tally struct {
	active [len(activeStates)]int64
	ended  [len(endedStates)]int64
}

// activeStates are those of tasks that have not ended, endedStates the others.
var (
	activeStates = [6]wire.TaskState{wire.TaskStaging, wire.TaskStarting, wire.TaskRunning, wire.TaskKilling, wire.TaskUnreachable, wire.TaskUnknown}
	endedStates  = [8]wire.TaskState{wire.TaskFinished, wire.TaskFailed, wire.TaskKilled, wire.TaskLost, wire.TaskError,
		wire.TaskDropped, wire.TaskGone, wire.TaskGoneByOperator}
)

// count counts a task of a framework in a state, or no more. What newer agents
// tell of counts as unknown.
func (l *loop) count(w *working, s wire.TaskState, n int64) {
	if i := slices.Index(endedStates[:], s); i >= 0 {
		w.counts.ended[i] += n
		return
	}
	switch s {
	case wire.TaskStaging:
		l.stats.TasksStaging += int(n)
	case wire.TaskStarting:
		l.stats.TasksStarting += int(n)
	case wire.TaskRunning:
		l.stats.TasksRunning += int(n)
	case wire.TaskKilling:
		l.stats.TasksKilling += int(n)
	case wire.TaskUnreachable:
		l.stats.TasksAway += int(n)
	default:
		s = wire.TaskUnknown
	}
	w.counts.active[slices.Index(activeStates[:], s)] += n
}

// shownMetrics are the metrics of a framework as they stand in the table.
type shownMetrics struct {
	block           *metrics.Block // nil if there is none
	shape           *usedShape
	prefix, roles   string
	principal       string
	principalShared bool
}

// showMetrics publishes what is counted of a framework. One that goes by another
// name now, or has other roles, has other metrics.
func (l *loop) showMetrics(w *working) {
	l.countPrincipal(w)
	if l.o.HideFrameworkMetrics {
		return
	}
	prefix, roles := metricsPrefix(&w.info), strings.Join(rolesOf(&w.info), "\n")
	if s := &w.shown; s.block == nil || s.prefix != prefix || s.roles != roles {
		l.hideBlock(w)
		labels := fmt.Sprintf(`framework="%s",framework_name="%s"`, metrics.EscapeLabel(w.info.ID), metrics.EscapeLabel(w.info.Name))
		shape := l.shapes.take(roles)
		block, err := l.o.Metrics.Block(prefix, labels, shape.Shape)
		if err != nil { // IDs have no slash, see package wire
			l.shapes.release(roles)
			l.log.Error("a framework is not counted", "framework", cut(w.info.ID), "err", err)
			return
		}
		s.block, s.shape, s.prefix, s.roles = block, shape, prefix, roles
	}
	for i, n := range w.counts.active {
		set(w.shown.block, w.shown.shape.active[i], n)
	}
	for i, n := range w.counts.ended {
		set(w.shown.block, w.shown.shape.ended[i], n)
	}
}

// set leaves a value alone that is right, so that it need not be rendered again.
func set(b *metrics.Block, i int, v int64) {
	if b.Value(i) != v {
		b.Set(i, v)
	}
}

// hideMetrics takes out what was counted of a framework that is forgotten.
func (l *loop) hideMetrics(w *working) {
	l.hideBlock(w)
	w.info.Principal = ""
	l.countPrincipal(w)
}

func (l *loop) hideBlock(w *working) {
	if w.shown.block == nil {
		return
	}
	l.o.Metrics.Remove(w.shown.prefix) // it is there
	l.shapes.release(w.shown.roles)
	w.shown.block = nil
}

// countPrincipal has the two counters of a principal there as long as one of its
// frameworks is. No framework sends messages to this master.
func (l *loop) countPrincipal(w *working) {
	old, now := w.shown.principal, w.info.Principal
	if old == now {
		return
	}
	w.shown.principal = now
	for _, end := range []string{"/messages_processed", "/messages_received"} {
		if w.shown.principalShared {
			l.o.Metrics.Release("frameworks/" + old + end)
		}
	}
	w.shown.principalShared = now != ""
	for _, end := range []string{"/messages_processed", "/messages_received"} {
		if now != "" {
			if _, err := l.o.Metrics.Shared("frameworks/" + now + end); err != nil {
				l.log.Error("the messages of a principal are not counted", "principal", cut(now), "err", err)
				w.shown.principalShared = false
			}
		}
	}
}

// metricsPrefix is how the names of a framework's metrics begin.
func metricsPrefix(info *wire.FrameworkInfo) string {
	return "master/frameworks/" + metrics.Escape(info.Name) + "/" + info.ID + "/"
}

// rolesOf are the roles of a framework, in order.
func rolesOf(info *wire.FrameworkInfo) []string {
	if len(info.Roles) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(info.Roles)))
	}
	if slices.Contains(info.Capabilities, "MULTI_ROLE") {
		return nil
	}
	if info.Role == "" {
		return []string{"*"}
	}
	return []string{info.Role}
}

// shapes are those of frameworks that have the same roles, each as long as there
// is one.
type shapes map[string]*usedShape

type usedShape struct {
	*metrics.Shape
	active [len(activeStates)]int // where a block has what the loop counts
	ended  [len(endedStates)]int
	users  int
}

func newUsedShape(roles []string) *usedShape {
	s := &usedShape{Shape: newFrameworkShape(roles)}
	for i, state := range activeStates {
		s.active[i] = s.Index("tasks/active/" + lowered(state))
	}
	for i, state := range endedStates {
		s.ended[i] = s.Index("tasks/terminal/" + lowered(state))
	}
	return s
}

func (s *shapes) take(roles string) *usedShape {
	if *s == nil {
		*s = shapes{}
	}
	used := (*s)[roles]
	if used == nil {
		used = newUsedShape(strings.Split(roles, "\n"))
		(*s)[roles] = used
	}
	used.users++
	return used
}

func (s shapes) release(roles string) {
	if s[roles].users--; s[roles].users == 0 {
		delete(s, roles)
	}
}

// What Mesos counts of frameworks. Their calls, events, offers and operations are
// none: frameworks do not connect to this master.
var (
	frameworkCalls = strings.Fields(`subscribe teardown accept decline accept_inverse_offers decline_inverse_offers
		revive kill shutdown acknowledge acknowledge_operation_status reconcile reconcile_operations message request
		suppress update_framework`)
	frameworkEvents = strings.Fields(`subscribed offers inverse_offers rescind rescind_inverse_offer update
		update_operation_status message failure error heartbeat`)
	frameworkOffers     = strings.Fields(`sent accepted declined rescinded`)
	frameworkOperations = strings.Fields(`launch launch_group reserve unreserve create destroy grow_volume shrink_volume
		create_disk destroy_disk`)
)

// The families of Prometheus for frameworks. The sums (calls, events, operations)
// are left to those who ask.
var frameworkFamilies = []metrics.Family{
	{Name: "mesos_framework_subscribed", Help: "Whether the framework is connected to this master."},
	{Name: "mesos_framework_calls_total", Help: "Calls of the framework.", Counter: true, Label: "call"},
	{Name: "mesos_framework_events_total", Help: "Events sent to the framework.", Counter: true, Label: "event"},
	{Name: "mesos_framework_offers_total", Help: "Offers to the framework, by what became of them.", Counter: true, Label: "outcome"},
	{Name: "mesos_framework_tasks", Help: "Tasks of the framework that have not ended.", Label: "state"},
	{Name: "mesos_framework_tasks_ended_total", Help: "Tasks of the framework that have ended.", Counter: true, Label: "state"},
	{Name: "mesos_framework_operations_total", Help: "Operations of the framework.", Counter: true, Label: "operation"},
	{Name: "mesos_framework_suppressed", Help: "Whether the framework wants no offers for a role.", Label: "role"},
}

func newFrameworkShape(roles []string) *metrics.Shape {
	all := []metrics.Member{{Name: "subscribed", Family: 0}, {Name: "calls", Family: -1}, {Name: "events", Family: -1}, {Name: "operations", Family: -1}}
	group := func(prefix string, family int, names []string) {
		for _, name := range names {
			all = append(all, metrics.Member{Name: prefix + name, Family: family, Value: name})
		}
	}
	group("calls/", 1, frameworkCalls)
	group("events/", 2, frameworkEvents)
	group("offers/", 3, frameworkOffers)
	for _, state := range activeStates {
		group("tasks/active/", 4, []string{lowered(state)})
	}
	for _, state := range endedStates {
		group("tasks/terminal/", 5, []string{lowered(state)})
	}
	group("operations/", 6, frameworkOperations)
	for _, role := range roles {
		if role != "" {
			all = append(all, metrics.Member{Name: "roles/" + role + "/suppressed", Family: 7, Value: role})
		}
	}
	return metrics.NewShape(frameworkFamilies, all)
}

func lowered(s wire.TaskState) string { return strings.ToLower(string(s)) }
