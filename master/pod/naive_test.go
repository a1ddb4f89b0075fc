package pod

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestStatusesAreThoseOfANaiveDerivation compares what is rendered in parts, and
// kept, with a derivation that follows Marathon's rules one by one.
func TestStatusesAreThoseOfANaiveDerivation(t *testing.T) {
	definitions := []*Definition{defined(t, fullDefinition), defined(t, checkedPod), defined(t, `{"id":"a","scaling":{"instances":0},"containers":[{"name":"a","resources":{}}]}`)}
	rapid.Check(t, func(t *rapid.T) {
		d := definitions[rapid.IntRange(0, len(definitions)-1).Draw(t, "definition")]
		var list []*InstanceStatus
		for range rapid.IntRange(0, 4).Draw(t, "instances") {
			list = append(list, Show(d, drawInstance(t), nil))
		}
		s := &Status{Definition: d, Instances: slices.Values(list), Updated: drawTime(t, "updated"), Emptied: drawTime(t, "emptied")}
		if len(list) > 0 && rapid.Bool().Draw(t, "render one before") {
			list[0].JSON()
		}
		var got any
		if err := json.Unmarshal(s.JSON(), &got); err != nil {
			t.Fatalf("%v\n%s", err, s.JSON())
		}
		text, err := json.Marshal(naiveStatus(s, list))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func drawTime(t *rapid.T, name string) time.Time {
	return at(float64(rapid.IntRange(-5, 30).Draw(t, name)))
}

func drawInstance(t *rapid.T) *Instance {
	i := &Instance{
		ID: rapid.SampledFrom([]string{"a.instance-1", `od"d`, ""}).Draw(t, "id"), Goal: Goal(rapid.IntRange(0, 1).Draw(t, "goal")),
		Role: rapid.SampledFrom([]string{"", "web"}).Draw(t, "role"), At: drawTime(t, "at"),
		Agent: Agent{Hostname: rapid.SampledFrom([]string{"", "host-1"}).Draw(t, "host"), Region: rapid.SampledFrom([]string{"", "eu"}).Draw(t, "region")},
		Odd:   rapid.SampledFrom([]string{"", "", "", "odd"}).Draw(t, "odd"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "tasks") {
		task := Task{
			Container: rapid.SampledFrom([]string{"nginx", "side", "a", "b", "x"}).Draw(t, "container"), ID: "t", Condition: Condition(rapid.IntRange(0, int(Killed)).Draw(t, "condition")),
			Staged: drawTime(t, "staged"), Checked: rapid.Bool().Draw(t, "checked"),
			Resources: Resources{CPUs: float64(rapid.IntRange(0, 3).Draw(t, "cpus")) / 10, Mem: float64(rapid.IntRange(0, 3).Draw(t, "mem"))},
			HostPorts: rapid.SliceOfN(rapid.Uint16(), 0, 2).Draw(t, "ports"),
		}
		if rapid.Bool().Draw(t, "is started") {
			task.Started = drawTime(t, "started")
		}
		if rapid.Bool().Draw(t, "is reported") {
			v := rapid.Bool().Draw(t, "healthy")
			task.Healthy, task.HealthSince = &v, drawTime(t, "reported")
		}
		for range rapid.IntRange(0, 2).Draw(t, "networks") {
			task.Networks = append(task.Networks, Addresses{rapid.SampledFrom([]string{"", "n", "m"}).Draw(t, "network"), rapid.SliceOfN(rapid.SampledFrom([]string{"1.1.1.1", "2.2.2.2"}), 0, 2).Draw(t, "ips")})
		}
		i.Tasks = append(i.Tasks, task)
	}
	return i
}

type object = map[string]any

func naiveStatus(s *Status, list []*InstanceStatus) object {
	instances, stable := []any{}, 0
	since := time.Time{}
	for _, i := range list {
		o, state := naiveInstance(s.Definition, i.Instance)
		instances = append(instances, o)
		if state == "STABLE" {
			stable++
		}
		if i.Instance.At.After(since) {
			since = i.Instance.At
		}
	}
	if len(list) == 0 {
		if since = s.Definition.Version.Time; s.Emptied.After(since) {
			since = s.Emptied
		}
	}
	state := "DEGRADED"
	if stable >= int(s.Definition.Scaling.Instances) {
		state = "STABLE"
	}
	return object{"id": s.Definition.ID, "spec": json.RawMessage(s.Definition.JSON()), "status": state, "statusSince": FormatTime(since), "instances": instances,
		"terminationHistory": []any{}, "lastUpdated": FormatTime(s.Updated), "lastChanged": FormatTime(since)}
}

func naiveInstance(d *Definition, i *Instance) (object, string) {
	role := i.Role
	if role == "" {
		role = d.Role
	}
	o := object{"id": i.ID, "statusSince": FormatTime(i.At), "lastUpdated": FormatTime(i.At), "lastChanged": FormatTime(i.At), "conditions": []any{}, "networks": []any{},
		"containers": []any{}, "localVolumes": []any{}, "specReference": "/v2/pods" + d.ID + "::versions/2026-03-01T12:00Z", "role": role}
	for name, v := range map[string]string{"agentHostname": i.Agent.Hostname, "agentRegion": i.Agent.Region} {
		if v != "" {
			o[name] = v
		}
	}
	if i.Odd != "" {
		o["status"], o["message"] = "DEGRADED", "the instance cannot be shown: "+i.Odd
		return o, "DEGRADED"
	}
	containers, unhealthy := []any{}, false
	cpus, mem := 0.1, 32.0
	for _, t := range i.Tasks {
		c, bad := naiveContainer(d, t)
		containers = append(containers, c)
		unhealthy = unhealthy || bad
		if _, ok := c["resources"]; ok {
			cpus += t.Resources.CPUs
			mem += t.Resources.Mem
		}
	}
	o["containers"], o["networks"] = containers, naiveNetworks(i.Tasks)
	o["resources"] = object{"cpus": float64(int(cpus*10+0.5)) / 10, "mem": mem, "disk": 10, "gpus": 0}
	state, message := naiveState(i, unhealthy)
	if o["status"] = state; message != "" {
		o["message"] = message
	}
	return o, state
}

func naiveState(i *Instance, unhealthy bool) (state, message string) {
	condition := "Unknown"
order:
	for _, c := range []string{"Error", "Failed", "Gone", "Dropped", "Unreachable", "UnreachableInactive", "Killing", "Starting", "Staging", "Unknown", "Provisioned", "Scheduled", "Running", "Finished", "Killed"} {
		for _, t := range i.Tasks {
			if names[t.Condition] == c {
				condition = c
				break order
			}
		}
	}
	in := func(all ...string) bool { return slices.Contains(all, condition) }
	terminal := in("Error", "Failed", "Finished", "Killed", "Gone", "Dropped", "Unknown")
	switch {
	case i.Goal == ToRun && (terminal || in("Scheduled", "Provisioned")):
		return "PENDING", ""
	case in("Scheduled", "Provisioned"):
		return "TERMINAL", ""
	case in("Staging", "Starting"):
		return "STAGING", ""
	case terminal || in("Killing"):
		return "TERMINAL", ""
	case in("Unreachable", "UnreachableInactive"):
		return "DEGRADED", "pod instance has become unreachable"
	case unhealthy:
		return "DEGRADED", "at least one container is not healthy"
	}
	return "STABLE", ""
}

// names are those of Marathon, states those of Mesos.
var (
	names = []string{"Error", "Failed", "Gone", "Dropped", "Unreachable", "UnreachableInactive", "Killing", "Starting", "Staging", "Unknown", "Provisioned", "Scheduled", "Running", "Finished", "Killed"}
	shown = []string{"ERROR", "FAILED", "GONE", "DROPPED", "UNREACHABLE", "UNREACHABLE", "KILLING", "STARTING", "STAGING", "UNKNOWN", "STAGING", "STAGING", "RUNNING", "FINISHED", "KILLED"}
)

func naiveContainer(d *Definition, t Task) (o object, unhealthy bool) {
	since := t.Started
	if since.IsZero() {
		since = t.Staged
	}
	o = object{"name": t.Container, "status": "TASK_" + shown[t.Condition], "statusSince": FormatTime(since), "lastUpdated": FormatTime(since), "lastChanged": FormatTime(since),
		"containerId": t.ID, "conditions": []any{}, "endpoints": []any{}}
	if slices.Contains([]string{"Staging", "Starting", "Running", "Unreachable", "UnreachableInactive", "Killing"}, names[t.Condition]) {
		o["resources"] = object{"cpus": t.Resources.CPUs, "mem": t.Resources.Mem, "disk": 0, "gpus": 0}
	}
	var spec *Container
	for i := range d.Containers {
		if d.Containers[i].Name == t.Container {
			spec = &d.Containers[i]
		}
	}
	var healthy *bool
	if t.Checked || spec != nil && spec.HealthCheck != nil {
		reason, when := "health-reported-by-mesos", t.HealthSince
		if healthy = t.Healthy; healthy == nil && names[t.Condition] == "Running" {
			healthy, reason, when = new(bool), "health-unreported-by-mesos", since
		}
		if healthy != nil {
			value := "false"
			if *healthy {
				value = "true"
			}
			o["conditions"] = []any{object{"name": "healthy", "value": value, "reason": reason, "lastChanged": FormatTime(when), "lastUpdated": FormatTime(when)}}
		}
	}
	if spec != nil {
		o["endpoints"] = naiveEndpoints(spec, t, healthy)
	}
	return o, healthy != nil && !*healthy
}

func naiveEndpoints(spec *Container, t Task, healthy *bool) []any {
	with, without, last := []any{}, []any{}, []any{}
	for _, e := range spec.Endpoints {
		o := object{"name": e.Name}
		if e.HostPort != nil && len(t.HostPorts) > 0 {
			o["allocatedHostPort"], t.HostPorts = t.HostPorts[0], t.HostPorts[1:]
		}
		h := spec.HealthCheck
		switch {
		case h != nil && (h.HTTP != nil && h.HTTP.Endpoint == e.Name || h.TCP != nil && h.TCP.Endpoint == e.Name):
			if healthy != nil {
				o["healthy"] = *healthy
			}
			last = append(last, o)
		case e.HostPort != nil:
			with = append(with, o)
		default:
			without = append(without, o)
		}
	}
	return append(append(with, without...), last...)
}

func naiveNetworks(tasks []Task) []any {
	all := []any{}
	var order []string
	addresses := map[string][]string{}
	for _, t := range tasks {
		for _, n := range t.Networks {
			if _, known := addresses[n.Network]; !known {
				order = append(order, n.Network)
				addresses[n.Network] = []string{}
			}
			for _, ip := range n.IPs {
				if !slices.Contains(addresses[n.Network], ip) {
					addresses[n.Network] = append(addresses[n.Network], ip)
				}
			}
		}
	}
	for _, name := range order {
		o := object{"addresses": addresses[name]}
		if name != "" {
			o["name"] = name
		}
		all = append(all, o)
	}
	return all
}
