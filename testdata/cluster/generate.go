package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// How many agents there are, and of which sort.
const (
	Agents      = 3000 // all of them
	Gone        = 40
	Unreachable = 60
	Admitted    = Agents - Gone - Unreachable
	Draining    = 12 // of the admitted
	Drained     = 3
	Deactivated = 8 // without a drain
)

// Generate writes the registry, the same bytes each time. Registry returns
// what it wrote when the package was made; to make it anew:
//
//	go test ./internal/mesosjson -run ShippedCluster -update
func Generate(w io.Writer) error {
	e := json.NewEncoder(w) // sorts names, as a Mesos master does
	e.SetEscapeHTML(false)
	return e.Encode(newMaker().registry())
}

type (
	object map[string]any
	list   []any
)

// double is written as Mesos writes a double, 4.0 and not 4.
type double float64

func (d double) MarshalJSON() ([]byte, error) {
	if f := float64(d); f == math.Trunc(f) {
		return []byte(strconv.FormatFloat(f, 'f', 1, 64)), nil
	}
	return []byte(strconv.FormatFloat(float64(d), 'f', -1, 64)), nil
}

// maker draws what differs between agents.
type maker struct {
	rand    *rand.Rand
	masters [3]string // each that led admitted a third of the agents
	now     time.Time
}

func newMaker() *maker {
	m := &maker{rand: rand.New(rand.NewPCG(764, 9122)), now: time.Date(2024, 5, 14, 9, 30, 0, 0, time.UTC)}
	for i := range m.masters {
		m.masters[i] = m.uuid()
	}
	return m
}

func (m *maker) uuid() string {
	hi, lo := m.rand.Uint64(), m.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0xfff, lo&0xffffffffffff)
}

func (m *maker) registry() object {
	return object{
		"gone":                       object{"slaves": m.lost(Gone, Agents-Gone, false)},
		"machines":                   object{"machines": m.machines()},
		"master":                     object{"info": m.master()},
		"minimum_capabilities":       list{object{"capability": "AGENT_DRAINING"}, object{"capability": "QUOTA_V2"}},
		"quota_configs":              quotas(),
		"resource_provider_registry": object{"resource_providers": m.providers()},
		"schedules":                  list{object{"windows": m.windows()}},
		"slaves":                     object{"slaves": m.admitted()},
		"unreachable":                object{"slaves": m.lost(Unreachable, Admitted, true)},
		"weights": list{
			object{"info": object{"role": "batch", "weight": double(1)}},
			object{"info": object{"role": "web", "weight": double(2.5)}},
		},
	}
}

func (m *maker) master() object {
	const ip = 10<<0 | 20<<8 | 0<<16 | 11<<24 // 10.20.0.11, the first byte lowest
	return object{
		"address":      object{"hostname": "master-2.lab.example", "ip": "10.20.0.11", "port": 5050},
		"capabilities": list{object{"type": "AGENT_UPDATE"}, object{"type": "AGENT_DRAINING"}, object{"type": "QUOTA_V2"}},
		"domain":       zone(1),
		"hostname":     "master-2.lab.example",
		"id":           m.masters[2],
		"ip":           ip,
		"pid":          "master@10.20.0.11:5050",
		"port":         5050,
		"version":      "1.11.0",
	}
}

func zone(i int) object {
	return object{"fault_domain": object{
		"region": object{"name": "north"},
		"zone":   object{"name": "north-" + strconv.Itoa(i%3+1)},
	}}
}

// id is that of the i-th agent.
func (m *maker) id(i int) object {
	return object{"value": fmt.Sprintf("%s-S%d", m.masters[i*len(m.masters)/Agents], i)}
}

// lost makes n agents, the first of them the i-th, that left at growing times.
func (m *maker) lost(n, i int, unreachable bool) list {
	out := make(list, n)
	at := m.now.Add(-13 * 24 * time.Hour)
	for k := range out {
		at = at.Add(time.Duration(m.rand.Int64N(int64(8 * time.Hour / 2))))
		agent := object{"id": m.id(i + k), "timestamp": nanoseconds(at.UnixNano())}
		if unreachable {
			agent["deactivated"] = k == 7
		}
		if unreachable && k == 7 {
			agent["drain_info"] = drain("DRAINING", time.Hour, true)
		}
		out[k] = agent
	}
	return out
}

func nanoseconds(n int64) object { return object{"nanoseconds": n} }

func drain(state string, grace time.Duration, markGone bool) object {
	config := object{"mark_gone": markGone}
	if grace > 0 {
		config["max_grace_period"] = nanoseconds(int64(grace))
	}
	return object{"state": state, "config": config}
}

// admitted makes the agents that belong to the cluster; the first ones of each
// zone are on their way out.
func (m *maker) admitted() list {
	out := make(list, Admitted)
	for i := range out {
		agent := object{"info": m.info(i), "deactivated": i < Draining+Drained+Deactivated}
		switch {
		case i < Draining:
			agent["drain_info"] = drain("DRAINING", time.Duration(i%3)*time.Hour, i%4 == 0)
		case i < Draining+Drained:
			agent["drain_info"] = drain("DRAINED", 0, false)
		}
		out[i] = agent
	}
	return out
}
