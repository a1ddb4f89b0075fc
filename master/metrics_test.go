package master

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/metrics"
)

// metrics are the values that anybody reads now.
func (c *cluster) metrics() (all map[string]float64) {
	c.Helper()
	var b bytes.Buffer
	c.must(c.Metrics().Snapshot(c.Context()).Write(&b, metrics.V0))
	c.must(json.Unmarshal(b.Bytes(), &all))
	return all
}

// checkMetrics holds what is counted against what the State shows.
func (c *cluster) checkMetrics() {
	c.Helper()
	got, want := c.metrics(), map[string]float64{}
	s := c.State()
	shown := slices.Concat(slices.Collect(s.Frameworks()), slices.Collect(s.CompletedFrameworks()))
	for _, name := range []string{"staging", "starting", "running", "killing", "unreachable"} {
		want["master/tasks_"+name] = 0
	}
	blocks := 0
	for _, f := range shown {
		prefix := metricsPrefix(&f.Info)
		for _, state := range activeStates {
			want[prefix+"tasks/active/"+lowered(state)] = 0
		}
		for t := range f.Tasks() {
			state := lowered(t.State)
			if !slices.Contains(activeStates[:], t.State) {
				state = "task_unknown" // of a newer agent
			}
			if want[prefix+"tasks/active/"+state]++; state == "task_unknown" {
				continue
			}
			want["master/tasks_"+strings.TrimPrefix(lowered(t.State), "task_")]++
		}
		n := float64(len(slices.Collect(f.UnreachableTasks())))
		want[prefix+"tasks/active/task_unreachable"] += n
		want["master/tasks_unreachable"] += n
		blocks++
	}
	want["master/frameworks_disconnected"] = float64(s.frameworks.Len())
	for name, v := range want {
		if g, there := got[name]; !there || g != v {
			c.Errorf("%s is %v (%v), and the state shows %v", name, g, there, v)
		}
	}
	for name := range got {
		if strings.HasSuffix(name, "/subscribed") && !strings.HasSuffix(name, "/events/subscribed") && strings.HasPrefix(name, "master/frameworks/") {
			blocks--
		}
	}
	if blocks != 0 {
		c.Errorf("%d more frameworks are shown than are counted", blocks)
	}
}

func TestAFrameworkIsCountedAsLongAsItIsShown(t *testing.T) {
	inCluster(t, Options{MaxCompletedFrameworks: -1}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		info := wire.FrameworkInfo{ID: "f1", Name: "my app", Principal: "p", Roles: []string{"b", "a/x"}}
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{info}, Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning), task("f1", "t2", wire.TaskStaging)}})
		a.update(wire.Update{Tasks: []wire.Task{task("f1", "t2", wire.TaskFinished)}})
		got := c.metrics()
		n := 0
		for name := range got {
			if strings.HasPrefix(name, "master/frameworks/my%20app/f1/") {
				n++
			}
		}
		if n != 60+2 {
			t.Errorf("%d metrics of a framework with two roles, want 62", n)
		}
		for name, want := range map[string]float64{
			"master/frameworks/my%20app/f1/tasks/active/task_running":    1,
			"master/frameworks/my%20app/f1/tasks/terminal/task_finished": 1,
			"master/frameworks/my%20app/f1/roles/a/x/suppressed":         0,
			"frameworks/p/messages_received":                             0,
			"master/tasks_finished":                                      1,
			"master/slaves_active":                                       1,
		} {
			if v, there := got[name]; !there || v != want {
				t.Errorf("%s is %v (%v), want %v", name, v, there, want)
			}
		}
		info.Name = "other"
		a.update(wire.Update{Frameworks: []wire.FrameworkInfo{info}})
		got = c.metrics()
		if v := got["master/frameworks/other/f1/tasks/terminal/task_finished"]; v != 1 {
			t.Errorf("by its new name %v tasks have finished, want 1", v)
		}
		if _, there := got["master/frameworks/my%20app/f1/subscribed"]; there {
			t.Error("it is counted by its old name still")
		}
		a.update(wire.Update{RemovedTasks: []wire.TaskRef{{FrameworkID: "f1", ID: "t1"}}})
		for name := range c.metrics() {
			if strings.HasPrefix(name, "frameworks/") || strings.HasPrefix(name, "master/frameworks/") {
				t.Errorf("the framework is forgotten, and there is %s", name)
			}
		}
	})
}

func TestFrameworksAreNotShownIfTheyAreHidden(t *testing.T) {
	inCluster(t, Options{HideFrameworkMetrics: true}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		a.update(wire.Update{Tasks: []wire.Task{task("f1", "t1", wire.TaskRunning)}})
		for name := range c.metrics() {
			if strings.HasPrefix(name, "master/frameworks/") {
				t.Errorf("there is %s", name)
			}
		}
	})
}

func TestWhyTasksEndedIsCounted(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		for i, reason := range []string{"REASON_COMMAND_EXECUTOR_FAILED", "REASON_COMMAND_EXECUTOR_FAILED", "no/name", ""} {
			failed := task("f1", fmt.Sprint("t", i), wire.TaskFailed)
			failed.Statuses = []wire.TaskStatus{{State: wire.TaskFailed, Source: "SOURCE_EXECUTOR", Reason: reason}}
			a.update(wire.Update{Tasks: []wire.Task{failed}})
		}
		found := map[string]float64{}
		for name, v := range c.metrics() {
			if strings.HasPrefix(name, "master/task_") {
				found[name] = v
			}
		}
		const name = "master/task_failed/source_executor/reason_command_executor_failed"
		if len(found) != 1 || found[name] != 2 {
			t.Errorf("got %v, want %s twice", found, name)
		}
	})
}

func TestMetricsHaveTheirPlaceInTheList(t *testing.T) {
	all := Definitions()
	for i, d := range all {
		if d.Name == "" || d.Help == "" || i > 0 && all[i-1].Name >= d.Name {
			t.Errorf("%q is there twice, or has no help", d.Name)
		}
		if d.Counter && d.Family != "" && !strings.HasSuffix(d.Family, "_total") {
			t.Errorf("%s is a counter, and its family is %s", d.Name, d.Family)
		}
		if d.FamilyHelp() == "" {
			t.Errorf("nothing is said of the family %s", d.Family)
		}
	}
}

func TestTheTimesOfTheStoreAreShown(t *testing.T) {
	timer := metrics.NewTimer(24 * time.Hour)
	inCluster(t, Options{StoreTimes: timer}, func(c *cluster) {
		timer.Observe(3 * time.Millisecond)
		if v := c.metrics()["registrar/state_store_ms"]; v != 3 {
			t.Errorf("registrar/state_store_ms is %v, want 3", v)
		}
	})
}
