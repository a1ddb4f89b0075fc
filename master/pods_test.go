package master

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

// aPod is a definition with one container, a.
func aPod(t testing.TB, id string, instances int) *pod.Definition {
	t.Helper()
	d, err := pod.Parse(fmt.Appendf(nil, `{"id":%q,"scaling":{"instances":%d},"containers":[{"name":"a","resources":{"cpus":0.1,"mem":32}},{"name":"b","resources":{}}]}`, id, instances))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// podTask is a task as Marathon names those of a pod.
func podTask(id, instance, container string, s wire.TaskState) wire.Task {
	safe := pod.SafePath(id)
	t := wire.Task{ID: safe + ".instance-" + instance + "." + container + ".1", ExecutorID: "instance-" + safe + "." + instance,
		FrameworkID: "f1", Name: container, State: s}
	t.Statuses = []wire.TaskStatus{{State: s, Timestamp: float64(time.Now().UnixMilli()) / 1000}}
	return t
}

func (c *cluster) define(d *pod.Definition) *pod.Definition {
	c.Helper()
	kept, err := c.PutPod(c.Context(), d, By{Principal: "ops"})
	if err != nil {
		c.Fatal(err)
	}
	return kept
}

// pods compares what is said of pods: "/web STABLE web.instance-1=STABLE".
func (c *cluster) pods(want ...string) {
	c.Helper()
	var got []string
	for p := range c.State().Pods() {
		line := p.Definition.ID + " " + string(p.State())
		for i := range p.Instances {
			line += " " + i.Instance.ID + "=" + string(i.State)
		}
		if !json.Valid(p.JSON()) {
			c.Errorf("pod %s is not JSON: %s", p.Definition.ID, p.JSON())
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		c.Errorf("got pods\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAPodIsSeenByWhoDefinedIt(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		version := c.State().PodsVersion
		kept := c.define(aPod(t, "/web", 1))
		c.pods("/web DEGRADED")
		p, ok := c.State().Pod("/web")
		if !ok || !bytes.Equal(p.Definition.JSON(), kept.JSON()) || !kept.Version.Equal(time.Now()) {
			t.Errorf("got %v %s, want %s", ok, p.Definition.JSON(), kept.JSON())
		}
		if got := c.State().PodsVersion; got <= version || p.Version != got {
			t.Errorf("it is of version %d, pods are of %d, and were of %d", p.Version, got, version)
		}
		if stored, ok := c.registrar.Snapshot().Pod("/web"); !ok || !bytes.Equal(stored.Definition, kept.JSON()) || !stored.Version.Equal(kept.Version.Time) {
			t.Errorf("got %v %+v", ok, stored)
		}
	})
}

func TestADefinitionIsSeenOnlyOnceItIsDurable(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		release := c.gate.hold()
		done := make(chan error, 1)
		go func() {
			_, err := c.PutPod(c.Context(), aPod(t, "/web", 1), By{})
			done <- err
		}()
		c.settle()
		c.pods()
		release(nil)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c.pods("/web DEGRADED")
	})
}

func TestPodsThatAreDefinedTwiceOrNotAtAll(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		if _, err := c.AddPod(c.Context(), aPod(t, "/web", 1), By{}); err != nil {
			t.Fatal(err)
		}
		_, err := c.AddPod(c.Context(), aPod(t, "/web", 2), By{})
		c.wantsErr("to add it again", err, ops.ErrPodDefined)
		c.wantsErr("to remove what is not there", c.RemovePod(c.Context(), "/db", By{}), ops.ErrNoPod)
		first, _ := c.State().Pod("/web")
		second := c.define(aPod(t, "/web", 0))
		if !second.Version.After(first.Definition.Version.Time) {
			t.Errorf("the second version %v is not after the first, %v", second.Version, first.Definition.Version)
		}
		c.pods("/web STABLE")
		c.must(c.RemovePod(c.Context(), "/web", By{}))
		c.pods()
		c.wantsErr("to remove it again", c.RemovePod(c.Context(), "/web", By{}), ops.ErrNoPod)
	})
}

func TestPodsSurviveAFailover(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		kept := c.define(aPod(t, "/db", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning)}})
		c.pods("/db DEGRADED", "/web STABLE web.instance-1=STABLE")
		was, _ := c.State().Pod("/web")
		running := slices.Collect(c.State().mustAgent(a.id).Tasks())
		c.pass(time.Minute)
		c.failover()
		c.pods("/db DEGRADED", "/web DEGRADED")
		if p, ok := c.State().Pod("/db"); !ok || !bytes.Equal(p.Definition.JSON(), kept.JSON()) {
			t.Errorf("it is %s, and was %s", p.Definition.JSON(), kept.JSON())
		}
		back := comesBack(a.id, "h1")
		back.Tasks = []wire.Task{*running[0]}
		c.join(back)
		c.pods("/db DEGRADED", "/web STABLE web.instance-1=STABLE")
		if is, _ := c.State().Pod("/web"); !is.Since().Equal(was.Since()) {
			t.Errorf("it is stable since %v, and was since %v", is.Since(), was.Since())
		}
	})
}

func (s *State) mustAgent(id registry.AgentID) *Agent { a, _ := s.Agent(id); return a }

func TestADefinitionThatCannotBeReadIsNotShown(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		for id, text := range map[string]string{"/odd": `{"id":1}`, "/other": `{"id":"/web"}`} {
			if _, err := c.registrar.Apply(c.Context(), ops.PutPod{Pod: registry.Pod{ID: id, Definition: []byte(text)}}); err != nil {
				t.Fatal(err)
			}
		}
		c.define(aPod(t, "/web", 1))
		c.failover()
		c.pods("/web DEGRADED")
		c.define(aPod(t, "/odd", 0))
		c.pods("/odd STABLE", "/web DEGRADED")
	})
}

func TestInstancesAreLearnedFromTasks(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web/front", 2))
		a := c.join(newcomer("h1"))
		b := c.join(newcomer("h2"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web/front", "1", "a", wire.TaskStaging), podTask("/web/front", "1", "b", wire.TaskRunning), {ID: "t1", FrameworkID: "f1", Name: "a", State: wire.TaskRunning}}})
		c.pods("/web/front DEGRADED web_front.instance-1=STAGING")
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web/front", "1", "a", wire.TaskRunning)}})
		labelled := wire.Task{ID: "t2", FrameworkID: "f2", Name: "a", State: wire.TaskRunning, Labels: []registry.Label{{Key: pod.PodLabel, Value: "web/front"}, {Key: pod.InstanceLabel, Value: "blue"}}}
		b.update(wire.Update{Tasks: []wire.Task{labelled}})
		c.pods("/web/front STABLE blue=STABLE web_front.instance-1=STABLE")

		b.update(wire.Update{RemovedTasks: []wire.TaskRef{{FrameworkID: "f2", ID: "t2"}}})
		c.pods("/web/front DEGRADED blue=TERMINAL web_front.instance-1=STABLE") // it vanished, which nobody wanted
		b.update(wire.Update{Tasks: []wire.Task{podTask("/web/front", "2", "a", wire.TaskRunning)}})
		c.pods("/web/front STABLE web_front.instance-1=STABLE web_front.instance-2=STABLE")
	})
}

func TestAnInstanceThatFailedIsShownUntilThereIsAnother(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning), podTask("/web", "1", "b", wire.TaskRunning)}})
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskFailed)}})
		c.pods("/web DEGRADED web.instance-1=TERMINAL")
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "b", wire.TaskKilled)}})
		c.pods("/web DEGRADED web.instance-1=TERMINAL")
		p, _ := c.State().Pod("/web")
		if want := `"terminationHistory":[{"instanceID":"web.instance-1"`; !bytes.Contains(p.JSON(), []byte(want)) {
			t.Errorf("got %s\nwant %s in it", p.JSON(), want)
		}
		again := podTask("/web", "1", "b", wire.TaskKilled) // as its framework has not acknowledged it
		a.update(wire.Update{Tasks: []wire.Task{again}})
		c.pods("/web DEGRADED web.instance-1=TERMINAL")
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "2", "a", wire.TaskStarting)}})
		c.pods("/web DEGRADED web.instance-2=STAGING")
		if p, _ := c.State().Pod("/web"); !bytes.Contains(p.JSON(), []byte(`"terminationHistory":[]`)) {
			t.Errorf("got %s", p.JSON())
		}
	})
}

func TestAnInstanceThatWasEndedIsGone(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning), podTask("/web", "1", "b", wire.TaskRunning)}})
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "b", wire.TaskFinished)}})
		c.pods("/web STABLE web.instance-1=STABLE")
		c.pass(time.Second)
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskKilled)}})
		c.pods("/web DEGRADED")
		if p, _ := c.State().Pod("/web"); !p.Since().Equal(time.Now()) {
			t.Errorf("it is so since %v, want now, %v", p.Since(), time.Now())
		}
	})
}

func TestAContainerThatRunsAgainHasNotFailed(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning), podTask("/web", "1", "b", wire.TaskRunning)}})
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskFailed)}})
		c.pods("/web DEGRADED web.instance-1=TERMINAL")
		again := podTask("/web", "1", "a", wire.TaskRunning)
		again.ID = "web.instance-1.a.2"
		a.update(wire.Update{Tasks: []wire.Task{again}})
		c.pods("/web STABLE web.instance-1=STABLE")
	})
}

func TestInstancesOfAnUnreachableAgentAreDegraded(t *testing.T) {
	inCluster(t, Options{AgentReregisterTimeout: time.Minute}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning)}})
		a.breaks()
		c.pods("/web STABLE web.instance-1=STABLE")
		c.pass(2 * time.Minute)
		c.pods("/web DEGRADED web.instance-1=DEGRADED")
		back := comesBack(a.id, "h1")
		back.Tasks = []wire.Task{podTask("/web", "1", "a", wire.TaskRunning)}
		c.join(back)
		c.pods("/web STABLE web.instance-1=STABLE")
		c.must(c.MarkGone(c.Context(), a.id, By{}))
		c.pods("/web DEGRADED web.instance-1=TERMINAL")
	})
}

func TestInstancesOfAnAgentThatIsForgottenAreGone(t *testing.T) {
	inCluster(t, Options{AgentReregisterTimeout: time.Minute, RegistryMaxAgentAge: time.Hour}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning)}})
		a.breaks()
		c.pass(2 * time.Minute)
		c.pods("/web DEGRADED web.instance-1=DEGRADED")
		c.pass(2 * time.Hour)
		c.pods("/web DEGRADED")
	})
}

func TestAContainerThatEndedBeforeAFailoverIsShown(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		c.failover()
		back := comesBack(a.id, "h1")
		back.Tasks = []wire.Task{podTask("/web", "1", "a", wire.TaskRunning)}
		back.CompletedTasks = []wire.Task{podTask("/web", "1", "b", wire.TaskFinished), podTask("/web", "0", "a", wire.TaskFailed)}
		c.join(back)
		c.pods("/web STABLE web.instance-1=STABLE")
		var got []string
		for i := range mustPod(c.State(), "/web").Instances {
			for _, task := range i.Instance.Tasks {
				got = append(got, task.Container+" "+task.Condition.State())
			}
		}
		if want := []string{"a TASK_RUNNING", "b TASK_FINISHED"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestAFailedInstanceDoesNotComeBackByTellingOfItAgain(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning)}})
		failed := podTask("/web", "1", "a", wire.TaskFailed)
		a.update(wire.Update{Tasks: []wire.Task{failed}})
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "2", "a", wire.TaskRunning), failed}})
		c.pods("/web STABLE web.instance-2=STABLE")
		if ended := mustPod(c.State(), "/web").Ended; ended != nil {
			t.Errorf("%s is told of still", ended.Instance.ID)
		}
	})
}

func TestTwoDefinitionsAtOnceHaveTwoVersions(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		release := c.gate.hold()
		kept := make(chan *pod.Definition, 2)
		for range 2 {
			go func() {
				d, err := c.PutPod(c.Context(), aPod(t, "/web", 1), By{})
				if err != nil {
					t.Error(err)
				}
				kept <- d
			}()
			c.settle()
		}
		release(nil)
		if a, b := <-kept, <-kept; a.Version.Equal(b.Version.Time) {
			t.Errorf("both are of %v", a.Version)
		}
	})
}

func TestARemovedPodThatIsDefinedAnewHasALaterVersion(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		first := c.define(aPod(t, "/web", 1))
		second := c.define(aPod(t, "/web", 1)) // within the same millisecond: a version of the future
		c.must(c.RemovePod(c.Context(), "/web", By{}))
		c.settle()
		if third := c.define(aPod(t, "/web", 1)); !second.Version.After(first.Version.Time) || !third.Version.After(second.Version.Time) {
			t.Errorf("the versions are %v, %v and %v", first.Version, second.Version, third.Version)
		}
	})
}

func TestNoMorePodsAreDefinedThanThereMayBe(t *testing.T) {
	inCluster(t, Options{MaxPods: 2}, func(c *cluster) {
		put := func(id string) error {
			ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
			defer cancel()
			_, err := c.PutPod(ctx, aPod(t, id, 0), By{})
			return err
		}
		release := c.gate.hold()
		var defined []<-chan error
		for _, id := range []string{"/a", "/b"} {
			defined = append(defined, background(c, func() error { return put(id) }))
		}
		c.wantsErr("while two are under way", put("/c"), ErrTooManyPods)
		release(nil)
		for _, done := range defined {
			c.must(<-done)
		}
		c.wantsErr("a third", put("/c"), ErrTooManyPods)
		c.must(put("/a")) // anew
		c.failover()
		c.wantsErr("a third after a failover", put("/c"), ErrTooManyPods)
		_, err := c.AddPod(c.Context(), aPod(t, "/a", 0), By{})
		c.wantsErr("one that is defined", err, ops.ErrPodDefined)
		c.must(c.RemovePod(c.Context(), "/a", By{}))
		c.must(put("/c"))
		c.wantsErr("a fourth", put("/d"), ErrTooManyPods)
		c.pods("/b STABLE", "/c STABLE")
	})
}

func TestAPodThatIsRefusedIsNotCounted(t *testing.T) {
	inCluster(t, Options{MaxPods: 1}, func(c *cluster) {
		c.gate.fills(registrar.ErrDiskFull)
		_, err := c.PutPod(c.Context(), aPod(t, "/a", 0), By{})
		c.wantsErr("on a full disk", err, registrar.ErrDiskFull)
		c.gate.fills(nil)
		_, err = c.PutPod(c.Context(), aPod(t, "/b", 0), By{})
		c.must(err)
		c.pods("/b STABLE")
	})
}

func TestWhenATaskBeganIsNotForgottenWithItsNextStatus(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		healthy := true
		task := podTask("/web", "1", "a", wire.TaskRunning)
		task.HealthCheck, task.Statuses[0].Healthy = `{}`, &healthy
		a.update(wire.Update{Tasks: []wire.Task{task}})
		of := func() pod.Task {
			for i := range mustPod(c.State(), "/web").Instances {
				return i.Instance.Tasks[0]
			}
			return pod.Task{}
		}
		was := of()
		c.pass(time.Minute)
		again := podTask("/web", "1", "a", wire.TaskRunning)
		again.HealthCheck, again.Statuses[0].Healthy = `{}`, &healthy
		again.Statuses[0].ContainerStatus = `{"network_infos":[{"ip_addresses":[{"ip_address":"10.0.0.1"}]}]}`
		a.update(wire.Update{Tasks: []wire.Task{again}})
		is := of()
		if len(is.Networks) != 1 || !is.Started.Equal(was.Started) || !is.Staged.Equal(was.Staged) || !is.HealthSince.Equal(was.HealthSince) {
			t.Errorf("it is %+v, and was %+v", is, was)
		}
	})
}

func TestAnAgentThatSaysTheSameAgainChangesNoPod(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 1))
		a := c.join(newcomer("h1"))
		task := podTask("/web", "1", "a", wire.TaskRunning)
		a.update(wire.Update{Tasks: []wire.Task{task, {ID: "t1", FrameworkID: "f1", Name: "t1", State: wire.TaskRunning}}})
		was, version := c.State(), c.State().PodsVersion
		a.breaks()
		c.pass(time.Second)
		back := comesBack(a.id, "h1")
		back.Tasks = []wire.Task{task, {ID: "t1", FrameworkID: "f1", Name: "t1", State: wire.TaskKilling}}
		c.join(back)
		if c.State() == was || c.State().PodsVersion != version {
			t.Errorf("pods are of version %d, and were of %d", c.State().PodsVersion, version)
		}
		before, _ := was.Pod("/web")
		if now, _ := c.State().Pod("/web"); now != before {
			t.Error("it is another value")
		}
	})
}

func TestATaskRedrawsItsOwnInstanceOnly(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 2))
		c.define(aPod(t, "/db", 1))
		a := c.join(newcomer("h1"))
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskRunning), podTask("/web", "2", "a", wire.TaskRunning), podTask("/db", "1", "a", wire.TaskRunning)}})
		was := c.State()
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "2", "a", wire.TaskKilling)}})
		is := c.State()
		c.pods("/db STABLE db.instance-1=STABLE", "/web DEGRADED web.instance-1=STABLE web.instance-2=TERMINAL")
		if same, _ := is.Pod("/db"); same != mustPod(was, "/db") {
			t.Error("another pod was made anew")
		}
		before, after := slices.Collect(mustPod(was, "/web").Instances), slices.Collect(mustPod(is, "/web").Instances)
		if after[0] != before[0] || after[1] == before[1] {
			t.Errorf("instances are %v, and were %v", after, before)
		}
		if before[1].State != pod.InstanceStable {
			t.Errorf("what was said before says %s now", before[1].State)
		}
	})
}

func mustPod(s *State, id string) *pod.Status { p, _ := s.Pod(id); return p }

func TestAnOddInstanceIsAPlaceholder(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.define(aPod(t, "/web", 2))
		a := c.join(newcomer("h1"))
		odd := podTask("/web", "1", "a", wire.TaskRunning)
		odd.Statuses[0].ContainerStatus = `{"network_infos":7}`
		many := podTask("/web", "2", "a", wire.TaskRunning)
		many.Resources = []wire.Resource{{Resource: registry.Resource{Name: "gpus", Value: registry.Scalar(1e12)}}}
		never := podTask("/web", "3", "a", wire.TaskRunning)
		never.Statuses[0].Timestamp = math.MaxFloat64
		a.update(wire.Update{Tasks: []wire.Task{odd, many, never}})
		c.pods("/web DEGRADED web.instance-1=DEGRADED web.instance-2=DEGRADED web.instance-3=STABLE")
		for i := range mustPod(c.State(), "/web").Instances {
			if i.State == pod.InstanceDegraded && !strings.HasPrefix(i.Message, "the instance cannot be shown: task ") {
				t.Errorf("%s says %q", i.Instance.ID, i.Message)
			}
		}
	})
}

func TestAPodIsDefinedAfterItsInstancesWereLearned(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("h1"))
		task := podTask("/web", "1", "a", wire.TaskRunning)
		a.update(wire.Update{Tasks: []wire.Task{task}})
		c.pods()
		c.pass(time.Minute)
		c.define(aPod(t, "/web", 1))
		c.pods("/web STABLE web.instance-1=STABLE")
		since := mustPod(c.State(), "/web").Since()
		c.pass(time.Minute)
		c.define(aPod(t, "/web", 1))
		if got := mustPod(c.State(), "/web").Since(); !got.Equal(since) {
			t.Errorf("with another definition it is stable since %v, and was since %v", got, since)
		}
		c.must(c.RemovePod(c.Context(), "/web", By{}))
		c.pods()
		c.define(aPod(t, "/web", 1))
		c.pods("/web STABLE web.instance-1=STABLE")
		a.update(wire.Update{Tasks: []wire.Task{podTask("/web", "1", "a", wire.TaskKilled)}})
		c.must(c.RemovePod(c.Context(), "/web", By{}))
		c.Master.Close()
		if n := len(c.loop.pods.known); n != 0 {
			t.Errorf("%d pods are kept of which there is nothing", n)
		}
	})
}

func TestAMasterThatHasEndedDefinesNothing(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		c.Master.Close()
		if _, err := c.PutPod(c.Context(), aPod(t, "/web", 1), By{}); !errors.Is(err, ErrEnded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPodsAreThoseThatTasksTellOf has agents say anything, break, come back and be
// marked gone; State.check finds the instances anew each time.
func TestPodsAreThoseThatTasksTellOf(t *testing.T) {
	states := []wire.TaskState{wire.TaskStaging, wire.TaskRunning, wire.TaskRunning, wire.TaskKilling, wire.TaskFinished, wire.TaskFailed, wire.TaskKilled, "TASK_FROZEN"}
	for seed := range uint64(20) {
		inCluster(t, Options{AgentReregisterTimeout: time.Minute, MaxUnreachableTasksPerFramework: 2, MaxCompletedTasksPerFramework: 3}, func(c *cluster) {
			r := rand.New(rand.NewPCG(seed, 0))
			id := func() string { return []string{"/web", "/db/a"}[r.IntN(2)] }
			task := func() wire.Task {
				return podTask(id(), fmt.Sprint(r.IntN(3)), []string{"a", "b"}[r.IntN(2)], states[r.IntN(len(states))])
			}
			agents := make([]*agent, 2)
			for i := range agents {
				agents[i] = c.join(newcomer(fmt.Sprint("h", i)))
			}
			for range 60 {
				i := r.IntN(len(agents))
				a := agents[i]
				switch n := r.IntN(20); {
				case n < 12 && a != nil:
					u := wire.Update{Tasks: []wire.Task{task(), task()}}
					if removed := task(); n < 2 {
						u.RemovedTasks = []wire.TaskRef{{FrameworkID: "f1", ID: removed.ID}}
					}
					a.update(u)
				case n < 14:
					c.define(aPod(t, id(), r.IntN(3)))
				case n < 15:
					if err := c.RemovePod(c.Context(), id(), By{}); err != nil && !errors.Is(err, ops.ErrNoPod) {
						t.Fatal(err)
					}
				case n < 17 && a != nil:
					a.breaks()
					if n == 15 {
						c.pass(2 * time.Minute)
					}
					back := comesBack(a.id, fmt.Sprint("h", i))
					back.Tasks = []wire.Task{task(), task()}
					agents[i] = c.join(back)
				case n == 17:
					c.failover()
					for i, a := range agents {
						if a != nil {
							back := comesBack(a.id, fmt.Sprint("h", i))
							back.Tasks, back.CompletedTasks = []wire.Task{task()}, []wire.Task{podTask(id(), "0", "b", wire.TaskFailed)}
							agents[i] = c.join(back)
						}
					}
				case n == 18 && a != nil && r.IntN(4) == 0:
					c.must(c.MarkGone(c.Context(), a.id, By{}))
					c.settle()
					agents[i] = nil
				}
				c.settle()
				c.check()
			}
		})
	}
}

// TestPodTasksOfAClusterAreLocated reads tasks that Marathon launched.
func TestPodTasksOfAClusterAreLocated(t *testing.T) {
	dir := os.Getenv("REGISTRAR_FIXTURES")
	if dir == "" {
		t.Skip("REGISTRAR_FIXTURES is not set")
	}
	text, err := os.ReadFile(filepath.Join(dir, "dcos-net", "operator-stream", "pod-tasks.json"))
	if err != nil {
		t.Fatal(err)
	}
	type id struct {
		Value string `json:"value"`
	}
	var found []string
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var event struct {
			Added struct {
				Task struct {
					Name     string `json:"name"`
					Task     id     `json:"task_id"`
					Executor id     `json:"executor_id"`
				} `json:"task"`
			} `json:"task_added"`
		}
		if err := d.Decode(&event); err != nil {
			t.Fatal(err)
		}
		task := event.Added.Task
		if at, ok := locate(&wire.Task{ID: task.Task.Value, ExecutorID: task.Executor.Value, Name: task.Name}); ok {
			found = append(found, at.Pod+" "+at.Instance+" "+at.Container)
		}
	}
	const instance = "/app app.instance-caff1565-d0db-11e8-aa23-70b3d5800002 "
	if want := []string{instance + "foo", instance + "bar"}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}
