package pod

import (
	"strconv"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/internal/jsonout"
)

func (s *Status) append(b []byte) []byte {
	b = text(append(b, `{"id":`...), s.Definition.ID)
	b = append(append(b, `,"spec":`...), s.Definition.JSON()...)
	b = text(append(b, `,"status":`...), s.State())
	b = appendTime(append(b, `,"statusSince":`...), s.Since())
	b = append(b, `,"instances":[`...)
	for i := range s.instances() {
		b = append(next(b), i.JSON()...)
	}
	b = append(b, `],"terminationHistory":[`...)
	if s.Ended != nil {
		b = s.Ended.appendEnd(b)
	}
	b = append(b, ']')
	return append(updated(b, s.Updated, s.Since()), '}')
}

func (s *InstanceStatus) append(b []byte) []byte {
	i := s.Instance
	b = text(append(b, `{"id":`...), i.ID)
	b = text(append(b, `,"status":`...), s.State)
	b = appendTime(append(b, `,"statusSince":`...), s.Since)
	b = optional(b, `,"message":`, s.Message)
	b = append(b, `,"conditions":[]`...)
	b = optional(b, `,"agentHostname":`, i.Agent.Hostname)
	b = optional(b, `,"agentId":`, i.Agent.ID)
	b = optional(b, `,"agentRegion":`, i.Agent.Region)
	b = optional(b, `,"agentZone":`, i.Agent.Zone)
	if s.placeholder() {
		b = append(b, `,"networks":[],"containers":[]`...)
	} else {
		b = appendResources(append(b, `,"resources":`...), i.resources())
		b = jsonout.List(append(b, `,"networks":`...), i.networks(), appendNetwork)
		b = jsonout.List(append(b, `,"containers":`...), i.Tasks, s.appendTask)
	}
	d := s.definition
	b = text(append(b, `,"specReference":`...), "/v2/pods"+d.ID+"::versions/"+javaTime(d.Version.Time))
	b = append(b, `,"localVolumes":[]`...)
	b = updated(b, s.Since, s.Since)
	role := i.Role
	if role == "" {
		role = d.Role
	}
	return append(text(append(b, `,"role":`...), role), '}')
}

func (s *InstanceStatus) appendTask(b []byte, t Task) []byte {
	c := s.definition.container(t.Container)
	b = text(append(b, `{"name":`...), t.Container)
	b = text(append(b, `,"status":`...), t.Condition.State())
	b = appendTime(append(b, `,"statusSince":`...), t.since())
	b = append(b, `,"conditions":[`...)
	if h := t.health(c); h != nil {
		b = h.append(b)
	}
	b = append(b, ']')
	b = optional(b, `,"containerId":`, t.ID)
	b = jsonout.List(append(b, `,"endpoints":`...), t.endpoints(c), appendPort)
	if t.Condition.holds() {
		b = appendResources(append(b, `,"resources":`...), t.Resources)
	}
	return append(updated(b, t.since(), t.since()), '}')
}

func (h *health) append(b []byte) []byte {
	b = append(b, `{"name":"healthy","value":"`...)
	b = append(strconv.AppendBool(b, h.value), `","reason":"health-`...)
	if !h.reported {
		b = append(b, "un"...)
	}
	b = append(b, `reported-by-mesos"`...)
	b = appendTime(append(b, `,"lastChanged":`...), h.since)
	b = appendTime(append(b, `,"lastUpdated":`...), h.since)
	return append(b, '}')
}

func appendPort(b []byte, p port) []byte {
	b = text(append(b, `{"name":`...), p.name)
	if p.hostPort != nil {
		b = jsonout.Uint(append(b, `,"allocatedHostPort":`...), uint64(*p.hostPort))
	}
	if p.healthy != nil {
		b = jsonout.Bool(append(b, `,"healthy":`...), *p.healthy)
	}
	return append(b, '}')
}

func appendNetwork(b []byte, n Addresses) []byte {
	b = append(b, '{')
	if n.Network != "" {
		b = append(text(append(b, `"name":`...), n.Network), ',')
	}
	return append(jsonout.List(append(b, `"addresses":`...), n.IPs, text[string]), '}')
}

func appendResources(b []byte, r Resources) []byte {
	b = number(append(b, `{"cpus":`...), r.CPUs)
	b = number(append(b, `,"mem":`...), r.Mem)
	b = number(append(b, `,"disk":`...), r.Disk)
	b = jsonout.Int(append(b, `,"gpus":`...), int64(r.GPUs)) // clients read a whole number only
	return append(b, '}')
}

// number appends a number without a point where it can be.
func number(b []byte, v float64) []byte {
	if -1e15 < v && v < 1e15 {
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	return jsonout.Float(b, v)
}

// appendEnd appends an entry of a terminationHistory.
func (s *InstanceStatus) appendEnd(b []byte) []byte {
	i := s.Instance
	var started time.Time
	for _, t := range i.Tasks {
		if at := t.since(); started.IsZero() || at.Before(started) {
			started = at
		}
	}
	b = text(append(b, `{"instanceID":`...), i.ID)
	b = appendTime(append(b, `,"startedAt":`...), started)
	b = appendTime(append(b, `,"terminatedAt":`...), s.Since)
	b = jsonout.List(append(b, `,"containers":`...), i.Tasks, func(b []byte, t Task) []byte {
		b = text(append(b, `{"containerId":`...), t.ID)
		return append(text(append(b, `,"lastKnownState":`...), t.Condition.State()), '}')
	})
	return append(b, '}')
}

// updated appends the two times that everything has.
func updated(b []byte, last, changed time.Time) []byte {
	b = appendTime(append(b, `,"lastUpdated":`...), last)
	return appendTime(append(b, `,"lastChanged":`...), changed)
}

// optional appends a member with a text, if there is one.
func optional(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return text(append(b, key...), value)
}

// text appends a text. What an agent says may be no UTF-8, which JSON has to be.
func text[S ~string](b []byte, s S) []byte {
	return jsonout.String(b, strings.ToValidUTF8(string(s), "\uFFFD"))
}

// next begins another element of the array that is open in b.
func next(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}
