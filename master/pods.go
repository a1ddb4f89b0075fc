package master

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/leaves"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// PutPod defines a pod, in place of the definition that it may have, and returns
// what was written down. Its version is the time at which that was asked for.
// Nothing here launches instances: they are those that agents report.
//
// An error of this, of [Master.AddPod] and of [Master.RemovePod] is [ErrNotNow],
// [ErrEnded] or the end of ctx, after which it may still be done, or an
// [*ops.PodError] with the reason why not. A pod that is new is [ErrTooManyPods]
// when there are as many as there may be.
func (m *Master) PutPod(ctx context.Context, d *pod.Definition, by By) (*pod.Definition, error) {
	return m.definePod(ctx, d, false, by)
}

// AddPod defines a pod that is new: one that is defined is [ops.ErrPodDefined].
func (m *Master) AddPod(ctx context.Context, d *pod.Definition, by By) (*pod.Definition, error) {
	return m.definePod(ctx, d, true, by)
}

func (m *Master) definePod(ctx context.Context, d *pod.Definition, isNew bool, by By) (kept *pod.Definition, err error) {
	err = m.do(ctx, func(l *loop, answer func(error)) {
		if err := l.putPod(d, isNew, by, func(d *pod.Definition, refusal error) {
			kept = d
			answer(refusal)
		}); err != nil {
			answer(err)
		}
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// RemovePod forgets the definition of a pod, or is [ops.ErrNoPod]. Its instances
// are not seen any more; it does not end them.
func (m *Master) RemovePod(ctx context.Context, id string, by By) error {
	return m.do(ctx, func(l *loop, answer func(error)) {
		c := &change{then: func(refusal error) {
			if refusal == nil {
				l.pods.define(l.pods.find(id), nil)
			}
			answer(refusal)
		}}
		if err := l.begin(c, ops.RemovePod{ID: id}, by); err != nil {
			answer(err)
		}
	})
}

func (l *loop) putPod(d *pod.Definition, isNew bool, by By, then func(*pod.Definition, error)) error {
	w := l.pods.find(d.ID)
	if !w.held && l.pods.held >= l.o.MaxPods {
		return fmt.Errorf("%w: there may be %d; remove one first", ErrTooManyPods, l.o.MaxPods)
	}
	version := l.now.Truncate(time.Millisecond)
	if !version.After(w.version) { // no two definitions have the same
		version = w.version.Add(time.Millisecond)
	}
	d, err := d.At(version)
	if err != nil {
		return err
	}
	c := &change{then: func(refusal error) {
		w := l.pods.find(d.ID)
		if w.pending--; refusal == nil {
			l.pods.define(w, d)
		}
		l.pods.hold(w)
		then(d, refusal)
	}}
	w.pending++
	if err := l.begin(c, ops.PutPod{Pod: registry.Pod{ID: d.ID, Version: version, Definition: d.JSON()}, New: isNew}, by); err != nil {
		w.pending--
		return err
	}
	w.version = version
	l.pods.hold(w)
	return nil
}

// recoverPods takes in the pods that the registry has. What this program cannot
// read, a later one may have written: it stays there, and is not shown.
func (l *loop) recoverPods() {
	for p := range l.registrar.Snapshot().Pods() {
		d, err := pod.Decode(p.Definition)
		if err == nil && d.ID != p.ID {
			err = fmt.Errorf("the definition is of %q", d.ID)
		}
		if err != nil {
			l.log.Error("a pod is not shown, its definition cannot be read; define it anew", "pod", cut(p.ID), "err", err)
			continue
		}
		l.pods.define(l.pods.find(p.ID), d)
	}
}

// pods are what the loop knows of pods. A task that changed costs what its
// instance costs; what is not of a pod costs a look at its names.
type pods struct {
	known   map[string]*workingPod // by ID: those that are defined, and those that have instances
	changed []*workingPod          // since they were settled
	shown   leaves.Map[*pod.Status]
	version uint64    // of the State with which they last were anything else
	removed time.Time // the latest version of a pod that is not known any more
	held    int       // pods that are defined or about to be
}

func newPods() pods {
	return pods{known: map[string]*workingPod{}, shown: leaves.New(comparePods)}
}

func comparePods(a, b *pod.Status) int { return strings.Compare(a.Definition.ID, b.Definition.ID) }

// workingPod is a pod as the loop changes it.
type workingPod struct {
	id         string
	definition *pod.Definition // nil if it is not defined
	version    time.Time       // the latest that was given out
	instances  map[instanceKey]*workingInstance
	list       leaves.Map[*pod.InstanceStatus] // what is said of them, while it is defined
	// failed is the last instance that did, until there is another one.
	failed  *workingInstance
	emptied time.Time // when the last of list left

	pending   int // definitions of it that are under way
	held      bool
	changed   bool
	redefined bool
	touched   []*workingInstance
}

// instanceKey names an instance: an ID that two agents report is two of them.
type instanceKey struct {
	id        string
	framework string
	agent     registry.AgentID
}

// workingInstance is the same for an instance.
type workingInstance struct {
	instanceKey
	host    pod.Agent
	tasks   []instanceTask // in the order of their IDs
	shown   *pod.InstanceStatus
	lived   bool // it had a task that had not ended
	changed bool
}

// instanceTask is a task of an instance, and where it is.
type instanceTask struct {
	*wire.Task
	container string
	whereabouts
}

type whereabouts uint8

const (
	nowhere whereabouts = iota // or not known any more
	here                       // on its agent
	away                       // with an agent that is unreachable
	ended
)

// find finds a pod, or begins one. It is about to be changed.
func (p *pods) find(id string) *workingPod {
	w := p.known[id]
	if w == nil {
		w = &workingPod{id: id, version: p.removed, instances: map[instanceKey]*workingInstance{}, list: leaves.New(compareInstances)}
		p.known[id] = w
	}
	if !w.changed {
		w.changed = true
		p.changed = append(p.changed, w)
	}
	return w
}

func compareInstances(a, b *pod.InstanceStatus) int {
	return cmp.Or(strings.Compare(a.Instance.ID, b.Instance.ID), strings.Compare(a.Instance.Agent.ID, b.Instance.Agent.ID),
		strings.Compare(a.Instance.Framework, b.Instance.Framework))
}

// define takes in a definition, or that there is none any more.
func (p *pods) define(w *workingPod, d *pod.Definition) {
	w.definition, w.redefined = d, true
	if d != nil && d.Version.After(w.version) {
		w.version = d.Version.Time
	}
	p.hold(w)
}

// hold counts a pod if it is defined or about to be.
func (p *pods) hold(w *workingPod) {
	switch is := w.definition != nil || w.pending > 0; {
	case is && !w.held:
		p.held++
		w.held = true
	case !is && w.held:
		p.held--
		w.held = false
	}
}

// task takes in that a task is somewhere else, or something else, if it is of a
// pod.
func (p *pods) task(t *wire.Task, where whereabouts) {
	at, ok := locate(t)
	if !ok {
		return
	}
	key := instanceKey{at.Instance, t.FrameworkID, t.AgentID}
	w := p.known[at.Pod]
	if (w == nil || w.instances[key] == nil) && (where == nowhere || where == ended) {
		return // it was not seen to live
	}
	w = p.find(at.Pod)
	i := w.instances[key]
	if i == nil {
		i = &workingInstance{instanceKey: key}
		w.instances[key] = i
	}
	i.put(instanceTask{t, at.Container, where})
	if !i.changed {
		i.changed = true
		w.touched = append(w.touched, i)
	}
}

// locate finds out of which pod a task is.
func locate(t *wire.Task) (pod.Place, bool) {
	n := pod.Names{Task: t.ID, Executor: t.ExecutorID, Name: t.Name}
	for i := range t.Labels {
		switch l := &t.Labels[i]; l.Key {
		case pod.PodLabel:
			n.Pod = l.Value
		case pod.InstanceLabel:
			n.Instance = l.Value
		}
	}
	return pod.Locate(n)
}

func (i *workingInstance) put(t instanceTask) {
	at, found := slices.BinarySearchFunc(i.tasks, t.ID, func(t instanceTask, id string) int { return strings.Compare(t.ID, id) })
	switch {
	case !found && t.whereabouts != nowhere:
		i.tasks = slices.Insert(i.tasks, at, t)
	case found && t.whereabouts == nowhere:
		i.tasks = slices.Delete(i.tasks, at, at+1)
	case found:
		i.tasks[at] = t
	}
}

// lives says that a task of the instance has not ended.
func (i *workingInstance) lives() bool {
	return slices.ContainsFunc(i.tasks, func(t instanceTask) bool { return t.whereabouts != ended })
}

// maxEndedTasks is how many tasks of an instance are shown that have ended.
const maxEndedTasks = 100

// forgetEnded drops tasks in whose container another one runs, and those of too
// many.
func (i *workingInstance) forgetEnded() {
	runs := map[string]bool{}
	over := -maxEndedTasks
	for _, t := range i.tasks {
		if t.whereabouts != ended {
			runs[t.container] = true
		} else {
			over++
		}
	}
	i.tasks = slices.DeleteFunc(i.tasks, func(t instanceTask) bool {
		if t.whereabouts != ended {
			return false
		}
		over--
		return runs[t.container] || over >= 0
	})
}

// settlePods has what changed shown, and says so to publish. It is O(what
// changed): a pod that was defined anew costs what all its instances cost.
func (l *loop) settlePods() {
	p := &l.pods
	for _, w := range p.changed {
		if l.settlePod(w) {
			p.version = l.version + 1
			l.changed = true
			l.showPod(w)
		}
		w.changed, w.redefined, w.touched = false, false, nil
		if w.definition == nil && len(w.instances) == 0 && w.pending == 0 {
			delete(p.known, w.id)
			if w.version.After(p.removed) {
				p.removed = w.version
			}
		}
	}
	clear(p.changed)
	p.changed = p.changed[:0]
}

// settlePod brings the instances of a pod up to date, and says whether anything
// about it is new that anybody sees.
func (l *loop) settlePod(w *workingPod) (news bool) {
	news = w.redefined
	if w.redefined {
		w.list = leaves.New(compareInstances)
		for _, i := range w.instances {
			if !i.changed {
				w.touched = append(w.touched, i)
			}
		}
	}
	before := w.list.Len()
	for _, i := range w.touched {
		i.changed = false
		if w.instances[i.instanceKey] == i { // another one may have taken its place in the meantime
			news = l.settleInstance(w, i) || news
		}
	}
	if before > 0 && w.list.Len() == 0 {
		w.emptied = l.now
	}
	return news && (w.definition != nil || w.redefined)
}

// settleInstance brings one up to date: it lives, or has failed, or is gone.
func (l *loop) settleInstance(w *workingPod, i *workingInstance) (news bool) {
	i.forgetEnded()
	lives := i.lives()
	switch {
	case lives && w.failed == i:
		w.failed, news = nil, true
	case lives && !i.lived:
		i.lived = true
		w.dropFailed(l.edit)
	case !lives && len(i.tasks) == 0, !lives && w.definition == nil:
		return w.drop(l.edit, i)
	}
	if w.definition == nil {
		return false
	}
	if news = l.showInstance(w, i) || news; lives {
		return news
	}
	if !i.shown.Failed() {
		w.drop(l.edit, i)
		return true
	}
	if w.failed == i {
		return news
	}
	w.dropFailed(l.edit)
	w.failed = i
	return true
}

// drop forgets an instance, and says whether anybody saw it.
func (w *workingPod) drop(e *leaves.Edit, i *workingInstance) (seen bool) {
	if w.failed == i {
		w.failed = nil
	}
	delete(w.instances, i.instanceKey)
	if i.shown != nil {
		_, seen = w.list.Delete(e, i.shown)
	}
	return seen
}

// dropFailed forgets the instance that has failed, if it does not live again.
func (w *workingPod) dropFailed(e *leaves.Edit) {
	if w.failed != nil && !w.failed.lives() {
		w.drop(e, w.failed)
	}
	w.failed = nil
}

// showInstance derives what is said of an instance, and says whether that is new.
func (l *loop) showInstance(w *workingPod, i *workingInstance) (news bool) {
	if a, ok := l.find(i.agent); ok {
		i.host = pod.Agent{Hostname: a.Info.Hostname, Region: a.Info.Domain.Region, Zone: a.Info.Domain.Zone}
	}
	i.host.ID = string(i.agent)
	told := i.told(l.now)
	if i.shown != nil && !w.redefined && told.SameAs(i.shown.Instance) {
		return false
	}
	i.shown = pod.Show(w.definition, told, i.shown)
	w.list.Set(l.edit, i.shown)
	return true
}

// showPod publishes what is said of a pod.
func (l *loop) showPod(w *workingPod) {
	p := &l.pods
	if w.definition == nil {
		w.list = leaves.New(compareInstances)
		p.shown.Delete(l.edit, &pod.Status{Definition: &pod.Definition{ID: w.id}})
		return
	}
	list := w.list // as it is now: what comes after is under another Edit
	s := &pod.Status{Definition: w.definition, Instances: list.All(), Updated: l.now, Emptied: w.emptied, Version: p.version}
	if w.failed != nil {
		s.Ended = w.failed.shown
	}
	p.shown.Set(l.edit, s)
}
