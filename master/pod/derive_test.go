package pod

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// at is a time some seconds after the definition of the tests was made.
func at(seconds float64) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// defined is a definition with a version.
func defined(t testing.TB, text string) *Definition {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if d, err = d.At(at(0)); err != nil {
		t.Fatal(err)
	}
	return d
}

const checkedPod = `{"id":"/p","containers":[
	{"name":"a","resources":{"cpus":0.1,"mem":32},"endpoints":[{"name":"web","hostPort":0}],"healthCheck":{"http":{"endpoint":"web"}}},
	{"name":"b","resources":{"cpus":0.1,"mem":32}}]}`

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

func TestInstancesAreDerivedByEachRule(t *testing.T) {
	d := defined(t, checkedPod)
	healthy := Task{Container: "a", Condition: Running, Healthy: yes()}
	is := func(c Condition) []Task { return []Task{healthy, {Container: "b", Condition: c}} }
	alone := func(c Condition) []Task { return []Task{{Container: "b", Condition: c}} }
	for _, row := range []struct {
		rule    string
		goal    Goal
		tasks   []Task
		state   InstanceState
		message string
	}{
		{"without tasks it is unknown, and to be launched", ToRun, nil, InstancePending, ""},
		{"without tasks it is unknown, and has ended", ToStop, nil, InstanceTerminal, ""},
		{"scheduled, to run", ToRun, alone(Scheduled), InstancePending, ""},
		{"scheduled, to stop", ToStop, alone(Scheduled), InstanceTerminal, ""},
		{"provisioned, to run", ToRun, alone(Provisioned), InstancePending, ""},
		{"provisioned, to stop", ToStop, alone(Provisioned), InstanceTerminal, ""},
		{"staging, to run", ToRun, alone(Staging), InstanceStaging, ""},
		{"staging, to stop", ToStop, alone(Staging), InstanceStaging, ""},
		{"starting", ToRun, alone(Starting), InstanceStaging, ""},
		{"error, to run", ToRun, alone(Error), InstancePending, ""},
		{"failed, to run", ToRun, alone(Failed), InstancePending, ""},
		{"error, to stop", ToStop, alone(Error), InstanceTerminal, ""},
		{"failed, to stop", ToStop, alone(Failed), InstanceTerminal, ""},
		{"finished, to stop", ToStop, alone(Finished), InstanceTerminal, ""},
		{"killed, to stop", ToStop, alone(Killed), InstanceTerminal, ""},
		{"gone, to stop", ToStop, alone(Gone), InstanceTerminal, ""},
		{"dropped, to stop", ToStop, alone(Dropped), InstanceTerminal, ""},
		{"unknown, to stop", ToStop, alone(Unknown), InstanceTerminal, ""},
		{"killing, to stop", ToStop, alone(Killing), InstanceTerminal, ""},
		{"killing has not ended, and is terminal also if it is to run", ToRun, alone(Killing), InstanceTerminal, ""},
		{"unreachable", ToRun, alone(Unreachable), InstanceDegraded, "pod instance has become unreachable"},
		{"unreachable for long", ToRun, alone(UnreachableInactive), InstanceDegraded, "pod instance has become unreachable"},
		{"running", ToRun, alone(Running), InstanceStable, ""},
		{"running and healthy", ToRun, is(Running), InstanceStable, ""},
		{"running and not healthy", ToRun, []Task{{Container: "a", Condition: Running, Healthy: no()}}, InstanceDegraded, "at least one container is not healthy"},
		{"running, and health was not reported yet", ToRun, []Task{{Container: "a", Condition: Running}}, InstanceDegraded, "at least one container is not healthy"},
		{"health that nobody asked for", ToRun, []Task{{Container: "b", Condition: Running, Healthy: no()}}, InstanceStable, ""},
		{"a check that only the task has", ToRun, []Task{{Container: "c", Condition: Running, Checked: true}}, InstanceDegraded, "at least one container is not healthy"},
		{"a container that has finished does not count", ToRun, is(Finished), InstanceStable, ""},
		{"nor one that was killed", ToRun, is(Killed), InstanceStable, ""},
		{"one that has failed does", ToStop, is(Failed), InstanceTerminal, ""},
		{"one that is staged, too", ToRun, is(Staging), InstanceStaging, ""},
		{"what makes no sense", ToRun, []Task{{Container: "b", Condition: Killed + 1}}, InstanceDegraded, `the instance cannot be shown: container "b" is in condition 15, which there is not`},
	} {
		t.Run(row.rule, func(t *testing.T) {
			s := Show(d, &Instance{ID: "p.instance-1", Goal: row.goal, Tasks: row.tasks, At: at(1)}, nil)
			if s.State != row.state || s.Message != row.message {
				t.Errorf("got %s %q, want %s %q", s.State, s.Message, row.state, row.message)
			}
		})
	}
}

func TestAnInstanceIsInTheConditionThatCountsFirst(t *testing.T) {
	order := []Condition{Error, Failed, Gone, Dropped, Unreachable, Killing, Starting, Staging, Unknown, Provisioned, Running, Finished, Killed}
	for i, first := range order {
		for _, second := range order[i:] {
			for _, tasks := range [][]Task{{{Condition: first}, {Condition: second}}, {{Condition: second}, {Condition: first}}} {
				if got := aggregate(tasks); got != first {
					t.Errorf("%s and %s: got %s, want the first", first.State(), second.State(), got.State())
				}
			}
		}
	}
	if got := aggregate(nil); got != Unknown {
		t.Errorf("without tasks: got %s", got.State())
	}
}

func TestStatesOfMesosAreConditions(t *testing.T) {
	for _, row := range []struct {
		state string
		is    Condition
		shown string
	}{
		{"TASK_STAGING", Staging, "TASK_STAGING"}, {"TASK_STARTING", Starting, "TASK_STARTING"}, {"TASK_RUNNING", Running, "TASK_RUNNING"},
		{"TASK_KILLING", Killing, "TASK_KILLING"}, {"TASK_FINISHED", Finished, "TASK_FINISHED"}, {"TASK_FAILED", Failed, "TASK_FAILED"},
		{"TASK_KILLED", Killed, "TASK_KILLED"}, {"TASK_ERROR", Error, "TASK_ERROR"}, {"TASK_DROPPED", Dropped, "TASK_DROPPED"},
		{"TASK_UNREACHABLE", Unreachable, "TASK_UNREACHABLE"}, {"TASK_GONE", Gone, "TASK_GONE"}, {"TASK_GONE_BY_OPERATOR", Gone, "TASK_GONE"},
		{"TASK_UNKNOWN", Unknown, "TASK_UNKNOWN"}, {"TASK_LOST", Unknown, "TASK_UNKNOWN"}, {"TASK_FROZEN", Unknown, "TASK_UNKNOWN"},
	} {
		c := ConditionOf(row.state)
		if c != row.is || c.State() != row.shown {
			t.Errorf("%s: got %d shown as %s, want %d as %s", row.state, c, c.State(), row.is, row.shown)
		}
	}
	if got := []string{Provisioned.State(), Scheduled.State(), UnreachableInactive.State()}; !slices.Equal(got, []string{"TASK_STAGING", "TASK_STAGING", "TASK_UNREACHABLE"}) {
		t.Errorf("what Mesos does not have is shown as %v", got)
	}
}

func TestSinceMovesOnlyWithConditionAndHealth(t *testing.T) {
	d := defined(t, checkedPod)
	show := func(before *InstanceStatus, seconds float64, task Task) *InstanceStatus {
		return Show(d, &Instance{ID: "p.instance-1", Tasks: []Task{task}, At: at(seconds)}, before)
	}
	first := show(nil, 1, Task{Container: "a", Condition: Running})
	same := show(first, 2, Task{Container: "a", Condition: Running, Resources: Resources{CPUs: 2}})
	reported := show(same, 3, Task{Container: "a", Condition: Running, Healthy: yes()})
	ended := show(reported, 4, Task{Container: "a", Condition: Failed, Healthy: yes()})
	for i, s := range []*InstanceStatus{first, same, reported, ended} {
		if want := at([]float64{1, 1, 3, 4}[i]); !s.Since.Equal(want) {
			t.Errorf("step %d: since %v, want %v", i, s.Since, want)
		}
	}
}

func TestPodsAreDerivedByEachRule(t *testing.T) {
	stable := func(seconds float64) *InstanceStatus {
		return &InstanceStatus{Instance: &Instance{}, State: InstanceStable, Since: at(seconds)}
	}
	degraded := &InstanceStatus{Instance: &Instance{}, State: InstanceDegraded, Since: at(9)}
	two := defined(t, strings.Replace(checkedPod, "{", `{"scaling":{"instances":2},`, 1))
	none := defined(t, strings.Replace(checkedPod, "{", `{"scaling":{"instances":0},`, 1))
	for _, row := range []struct {
		rule  string
		pod   *Status
		state State
		since time.Time
	}{
		{"without instances, since it was defined", &Status{Definition: two}, Degraded, at(0)},
		{"without instances any more, since the last one left", &Status{Definition: two, Emptied: at(5)}, Degraded, at(5)},
		{"emptied before it was defined anew", &Status{Definition: two, Emptied: at(-5)}, Degraded, at(0)},
		{"none is wanted", &Status{Definition: none}, Stable, at(0)},
		{"too few are stable", &Status{Definition: two, Instances: slices.Values([]*InstanceStatus{stable(3)})}, Degraded, at(3)},
		{"too few are stable, since the latest change", &Status{Definition: two, Instances: slices.Values([]*InstanceStatus{stable(3), degraded})}, Degraded, at(9)},
		{"enough are stable, whatever others are", &Status{Definition: two, Instances: slices.Values([]*InstanceStatus{stable(3), degraded, stable(4)})}, Stable, at(9)},
		{"on its way out", &Status{Definition: none, Deleted: true}, Terminal, at(0)},
	} {
		t.Run(row.rule, func(t *testing.T) {
			if got := row.pod.State(); got != row.state {
				t.Errorf("got %s, want %s", got, row.state)
			}
			if got := row.pod.Since(); !got.Equal(row.since) {
				t.Errorf("got since %v, want %v", got, row.since)
			}
		})
	}
}

func TestEndpointsWithAPortOfTheHostComeFirstAndTheCheckedOneLast(t *testing.T) {
	d := defined(t, `{"id":"/p","networks":[{"mode":"container","name":"n"}],"containers":[{"name":"a","resources":{},
		"endpoints":[{"name":"inner","containerPort":1},{"name":"checked","containerPort":2,"hostPort":0},{"name":"outer","containerPort":3,"hostPort":8080},{"name":"late","containerPort":4,"hostPort":0}],
		"healthCheck":{"tcp":{"endpoint":"checked"}}}]}`)
	s := Show(d, &Instance{ID: "p.instance-1", Tasks: []Task{{Container: "a", Condition: Running, Healthy: yes(), HostPorts: []uint16{31001, 31002}}}}, nil)
	want := `"endpoints":[{"name":"outer","allocatedHostPort":31002},{"name":"late"},{"name":"inner"},{"name":"checked","allocatedHostPort":31001,"healthy":true}]`
	if got := string(s.JSON()); !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s in it", got, want)
	}
}
