package cluster

import (
	"fmt"
	"time"
)

// machines are those in the maintenance schedule.
func (m *maker) machines() list {
	var out list
	for i := range 6 {
		out = append(out, object{"info": object{
			"id": machineID(i), "mode": "DRAINING", "unavailability": m.unavailability(),
		}})
	}
	return out
}

func machineID(i int) object {
	return object{"hostname": hostname(i*40, i), "ip": fmt.Sprintf("10.20.%d.%d", i+1, 10)}
}

func (m *maker) unavailability() object {
	return object{
		"start":    nanoseconds(m.now.Add(24 * time.Hour).UnixNano()),
		"duration": nanoseconds(int64(4 * time.Hour)),
	}
}

func (m *maker) windows() list {
	var ids list
	for i := range 6 {
		ids = append(ids, machineID(i))
	}
	return list{object{"machine_ids": ids, "unavailability": m.unavailability()}}
}

func quotas() list {
	return list{object{
		"role":       "web",
		"guarantees": object{"cpus": object{"value": double(400)}, "mem": object{"value": double(2_000_000)}},
		"limits":     object{"cpus": object{"value": double(1200)}},
	}}
}

func (m *maker) providers() list {
	return list{
		object{"id": object{"value": m.uuid()}, "type": "org.apache.mesos.rp.local.storage", "name": "nvme"},
	}
}
