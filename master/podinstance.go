package master

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/registry"
)

// told is the instance as its tasks tell of it. What an agent says that cannot be
// shown makes the instance odd, and nothing else. That it is to be launched again
// when it has ended, nobody tells.
func (i *workingInstance) told(now time.Time) *pod.Instance {
	p := &pod.Instance{ID: i.id, Framework: i.framework, Agent: i.host, Goal: pod.ToStop}
	var before []pod.Task
	if i.shown != nil {
		before = i.shown.Instance.Tasks
	}
	for _, t := range i.tasks {
		task, err := taskOfPod(t, before, now)
		if err != nil && p.Odd == "" {
			p.Odd = fmt.Sprintf("task %q: %v", cut(t.ID), err)
		}
		p.Tasks = append(p.Tasks, task)
		p.Role = cmp.Or(p.Role, roleOf(t.Resources))
		if at, ok := saidAt(t.Task); ok && at.After(p.At) {
			p.At = at
		}
	}
	if p.At.IsZero() {
		p.At = now
	}
	return p
}

// roleOf is the role that gave a task what it uses.
func roleOf(list []wire.Resource) string {
	for i := range list {
		if role := list[i].AllocationRole; role != "" {
			return role
		}
	}
	return ""
}

// taskOfPod is a task as a container of its pod. Before are those that were shown
// of the instance: when something began is not forgotten when the same is said
// again.
func taskOfPod(t instanceTask, before []pod.Task, now time.Time) (pod.Task, error) {
	p := pod.Task{Container: t.container, ID: t.ID, Condition: pod.ConditionOf(string(t.State)), Checked: t.HealthCheck != ""}
	if t.whereabouts == away {
		p.Condition = pod.Unreachable // whatever its framework calls it
	}
	for _, s := range t.Statuses {
		at, ok := timeOf(s.Timestamp)
		if !ok {
			continue
		}
		if p.Staged.IsZero() {
			p.Staged = at
		}
		if s.State == wire.TaskRunning && p.Started.IsZero() {
			p.Started = at
		}
	}
	var latest wire.TaskStatus
	if n := len(t.Statuses); n > 0 {
		latest = t.Statuses[n-1]
	}
	if p.Healthy = latest.Healthy; p.Healthy != nil {
		p.HealthSince, _ = timeOf(latest.Timestamp)
	}
	carry(&p, before, now)
	err := amounts(&p, t.Resources)
	if err == nil {
		p.Networks, err = networksOf(t.Statuses)
	}
	return p, err
}

// carry takes over from what was shown of a task when it began to be so.
func carry(p *pod.Task, before []pod.Task, now time.Time) {
	at := slices.IndexFunc(before, func(b pod.Task) bool { return b.ID == p.ID })
	if at >= 0 {
		b := &before[at]
		p.Staged = b.Staged
		if !b.Started.IsZero() {
			p.Started = b.Started
		}
		if p.Healthy != nil && b.Healthy != nil && *p.Healthy == *b.Healthy {
			p.HealthSince = b.HealthSince
		}
	}
	if p.Staged.IsZero() {
		p.Staged = now
	}
	if p.Started.IsZero() && p.Condition == pod.Running {
		p.Started = now
	}
	if p.Healthy != nil && p.HealthSince.IsZero() {
		p.HealthSince = now
	}
}

// timeOf is a time that an agent tells, if it is one.
func timeOf(seconds float64) (time.Time, bool) {
	const latest = 253402300799 // of the year 9999
	if !(0 < seconds && seconds < latest) {
		return time.Time{}, false
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(math.Round(part*1000))*1e6).UTC(), true
}

// saidAt is when what a task is now was said.
func saidAt(t *wire.Task) (time.Time, bool) {
	if len(t.Statuses) == 0 {
		return time.Time{}, false
	}
	return timeOf(t.Statuses[len(t.Statuses)-1].Timestamp)
}

// amounts adds up what a task uses.
func amounts(p *pod.Task, list []wire.Resource) error {
	gpus := 0.0
	for i := range list {
		r := &list[i]
		switch r.Name {
		case "cpus":
			p.Resources.CPUs += r.Value.Scalar
		case "mem":
			p.Resources.Mem += r.Value.Scalar
		case "disk":
			p.Resources.Disk += r.Value.Scalar
		case "gpus":
			gpus += r.Value.Scalar
		case "ports":
			p.HostPorts = appendPorts(p.HostPorts, r.Value.Ranges)
		}
	}
	if gpus != math.Trunc(gpus) || math.Abs(gpus) > math.MaxInt32 {
		return fmt.Errorf("it has %v gpus", gpus)
	}
	p.Resources.GPUs = int32(gpus)
	return nil
}

// maxPorts is how many ports of a task are looked at: more endpoints no pod has.
const maxPorts = 1000

func appendPorts(ports []uint16, ranges []registry.Range) []uint16 {
	for _, r := range ranges {
		for p := r.Begin; p <= min(r.End, math.MaxUint16) && len(ports) < maxPorts; p++ {
			ports = append(ports, uint16(p))
		}
	}
	return ports
}

// networksOf are the addresses of which the latest status tells that tells of any.
func networksOf(statuses []wire.TaskStatus) (all []pod.Addresses, err error) {
	for i := len(statuses) - 1; i >= 0; i-- {
		raw := statuses[i].ContainerStatus
		if raw == "" {
			continue
		}
		var said struct {
			NetworkInfos []struct {
				Name        string `json:"name"`
				IPAddresses []struct {
					IPAddress string `json:"ip_address"`
				} `json:"ip_addresses"`
			} `json:"network_infos"`
		}
		if err := json.Unmarshal([]byte(raw), &said); err != nil {
			return nil, fmt.Errorf("container_status: %w", err)
		}
		for _, n := range said.NetworkInfos {
			a := pod.Addresses{Network: n.Name}
			for _, ip := range n.IPAddresses {
				a.IPs = append(a.IPs, ip.IPAddress)
			}
			all = append(all, a)
		}
		break
	}
	return all, nil
}
