package pod

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Instance is what is known of an instance of a pod.
type Instance struct {
	ID    string
	Agent Agent
	// Framework is whose it is; it is not shown.
	Framework string
	Goal      Goal
	Role      string
	// Tasks are its containers. An instance that is not placed has none.
	Tasks []Task
	// At is when it became what it is now.
	At time.Time
	// Odd says what about it makes no sense, "" if it does.
	Odd string
}

// Agent is where an instance runs.
type Agent struct{ Hostname, ID, Region, Zone string }

// Task is a container of an instance.
type Task struct {
	Container string // the name in the definition
	ID        string
	Condition Condition
	// Staged and Started are when, zero if that is not known.
	Staged, Started time.Time
	// Healthy is what Mesos reported last, since HealthSince; nil if nothing.
	// Checked says that Mesos is to, whatever the definition says now.
	Healthy     *bool
	HealthSince time.Time
	Checked     bool
	Resources   Resources
	// HostPorts are those that it was given, in the order of its endpoints.
	HostPorts []uint16
	Networks  []Addresses
}

// Addresses are those that a task has in a network.
type Addresses struct {
	Network string // "" is that of the host
	IPs     []string
}

// InstanceStatus is what is said of an instance. It does not change.
type InstanceStatus struct {
	Instance *Instance
	State    InstanceState
	Message  string // "" if there is nothing to say
	// Since is when condition or health changed.
	Since time.Time

	definition *Definition
	condition  Condition
	unhealthy  bool
	once       sync.Once
	text       []byte
}

// Show derives what is said of an instance of a pod that is defined so. Before is
// what was said of it until now, or nil. What makes no sense is said to be
// degraded: nobody knows better.
func Show(d *Definition, i *Instance, before *InstanceStatus) *InstanceStatus {
	s := &InstanceStatus{Instance: i, Since: i.At, definition: d, condition: aggregate(i.Tasks)}
	if err := i.check(); err != nil {
		s.State, s.Message = InstanceDegraded, "the instance cannot be shown: "+err.Error()
	} else {
		s.unhealthy = slices.ContainsFunc(i.Tasks, func(t Task) bool {
			h := t.health(d.container(t.Container))
			return h != nil && !h.value
		})
		s.State, s.Message = stateOf(i.Goal, s.condition, s.unhealthy)
	}
	if before != nil && before.State == s.State && before.condition == s.condition && before.unhealthy == s.unhealthy {
		s.Since = before.Since
	}
	if !writable(s.Since) {
		s.Since = time.Time{}
	}
	return s
}

// SameAs reports whether nothing about an instance is anything else, whenever it
// became so.
func (i *Instance) SameAs(other *Instance) bool {
	a, b := *i, *other
	a.At, b.At = time.Time{}, time.Time{}
	return reflect.DeepEqual(&a, &b)
}

// Failed reports whether the instance has ended as nobody wanted it to.
func (s *InstanceStatus) Failed() bool { return !s.placeholder() && s.condition.failure() }

// placeholder reports whether no more is said than the message.
func (s *InstanceStatus) placeholder() bool { return s.Instance.check() != nil }

// check says what about an instance cannot be shown.
func (i *Instance) check() error {
	if i.Odd != "" {
		return errors.New(i.Odd)
	}
	if !writable(i.At) {
		return errors.New("it changed at a time that cannot be written")
	}
	for _, t := range i.Tasks {
		if int(t.Condition) >= len(mesosStates) {
			return fmt.Errorf("container %q is in condition %d, which there is not", t.Container, t.Condition)
		}
		for _, at := range []time.Time{t.Staged, t.Started, t.HealthSince} {
			if !writable(at) {
				return fmt.Errorf("container %q has a time that cannot be written", t.Container)
			}
		}
	}
	r := i.resources()
	for _, v := range []float64{r.CPUs, r.Mem, r.Disk} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("it has resources that are no numbers")
		}
	}
	return nil
}

// resources are those of the default executor and of what holds its own.
func (i *Instance) resources() Resources {
	e := defaultExecutor()
	all, gpus := Resources{CPUs: e.CPUs, Mem: e.Mem, Disk: e.Disk}, int64(0)
	for _, t := range i.Tasks {
		if t.Condition.holds() {
			all.CPUs = exact(all.CPUs + t.Resources.CPUs)
			all.Mem = exact(all.Mem + t.Resources.Mem)
			all.Disk = exact(all.Disk + t.Resources.Disk)
			gpus += int64(t.Resources.GPUs)
		}
	}
	all.GPUs = int32(min(gpus, math.MaxInt32))
	return all
}

// exact is a sum to the thousandth, which is how exact Mesos is.
func exact(v float64) float64 {
	if thousandths := math.Round(v * 1000); !math.IsInf(thousandths, 0) {
		return thousandths / 1000
	}
	return v
}

// health is what is said of the health of a container.
type health struct {
	value    bool
	reported bool
	since    time.Time
}

// health is nil if nobody checks. One that runs and of which nothing was reported
// yet is not healthy.
func (t *Task) health(c *Container) *health {
	switch {
	case !t.Checked && (c == nil || c.HealthCheck == nil):
		return nil
	case t.Healthy != nil:
		return &health{*t.Healthy, true, t.HealthSince}
	case t.Condition == Running:
		return &health{false, false, t.since()}
	}
	return nil
}

// since is when a task started, or was staged before that.
func (t *Task) since() time.Time {
	if !t.Started.IsZero() {
		return t.Started
	}
	return t.Staged
}

// networks are those of all tasks, each once and with all addresses in it.
func (i *Instance) networks() (all []Addresses) {
	for _, t := range i.Tasks {
		for _, n := range t.Networks {
			at := slices.IndexFunc(all, func(a Addresses) bool { return a.Network == n.Network })
			if at < 0 {
				at = len(all)
				all = append(all, Addresses{Network: n.Network})
			}
			for _, ip := range n.IPs {
				if !slices.Contains(all[at].IPs, ip) {
					all[at].IPs = append(all[at].IPs, ip)
				}
			}
		}
	}
	return all
}

// port is an endpoint as it is in an instance.
type port struct {
	name     string
	hostPort *uint16
	healthy  *bool
}

// endpoints are those of a container: first those that have a port of the host,
// in the order in which the ports were given, then the others. The one that a
// check asks is the last.
func (t *Task) endpoints(c *Container) (all []port) {
	if c == nil {
		return nil
	}
	given := t.HostPorts
	for _, e := range c.Endpoints {
		if e.HostPort == nil {
			continue
		}
		p := port{name: e.Name}
		if len(given) > 0 {
			p.hostPort, given = &given[0], given[1:]
		}
		all = append(all, p)
	}
	for _, e := range c.Endpoints {
		if e.HostPort == nil {
			all = append(all, port{name: e.Name})
		}
	}
	target, h := c.HealthCheck.target(), t.health(c)
	if at := slices.IndexFunc(all, func(p port) bool { return p.name == target }); at >= 0 && target != "" {
		p := all[at]
		if h != nil {
			p.healthy = &h.value
		}
		all = append(slices.Delete(all, at, at+1), p)
	}
	return all
}
