package cluster

import "fmt"

// info is what the i-th agent says of itself.
func (m *maker) info(i int) object {
	rack := i / 40
	info := object{
		"attributes": m.attributes(i, rack),
		"checkpoint": i%10 != 9,
		"domain":     zone(rack),
		"hostname":   hostname(i, rack),
		"id":         m.id(i),
		"port":       5051,
		"resources":  m.resources(i),
	}
	if i%200 == 3 {
		info["port"] = 5151 // a second agent on its machine
	}
	if i%500 == 4 {
		delete(info, "domain")
		delete(info, "attributes") // empty lists are not written
	}
	return info
}

func hostname(i, rack int) string { return fmt.Sprintf("node-%04d.rack-%02d.lab.example", i, rack) }

func (m *maker) attributes(i, rack int) list {
	out := list{text("rack", fmt.Sprintf("rack-%02d", rack)), text("kernel", []string{"5.15.0-105", "6.1.0-21"}[i%2])}
	if i%7 == 0 {
		out = append(out, object{"name": "generation", "type": "SCALAR", "scalar": object{"value": double(1 + i%4)}})
	}
	if i%50 == 0 {
		out = append(out, object{"name": "vlans", "type": "RANGES", "ranges": ranges(100, 119, 400, 403)})
	}
	if i%60 == 0 {
		out = append(out, object{"name": "nics", "type": "SET", "set": object{"item": list{"eth0", "eth1"}}})
	}
	return out
}

func text(name, value string) object {
	return object{"name": name, "type": "TEXT", "text": object{"value": value}}
}

// resources makes one of four kinds of machine.
func (m *maker) resources(i int) list {
	cpus, mem := 16.0, 64_000.0
	switch {
	case i%25 == 0:
		return publicEdge()
	case i%11 == 0:
		cpus, mem = 96, 768_000
	}
	out := list{
		scalar("cpus", cpus), scalar("mem", mem-float64(m.rand.IntN(900))),
		scalar("disk", float64(180_000+m.rand.IntN(20_000))), ports(31000, 32000),
	}
	if i%11 == 0 {
		out = append(out, scalar("gpus", 8))
	}
	return append(out, reserved(i)...)
}

// publicEdge is a machine that belongs to one role as a whole.
func publicEdge() list {
	out := list{scalar("cpus", 8), scalar("mem", 30_500), scalar("disk", 95_000), ports(1, 21, 23, 5050, 5052, 32000)}
	for _, r := range out {
		r.(object)["role"] = "edge"
	}
	return out
}

// reserved makes what some machines have set aside beside the rest.
func reserved(i int) (out list) {
	if i%90 == 1 {
		r := scalar("disk", 500.5)
		r["role"] = "storage"
		r["reservation"] = object{"principal": "storage-operator", "labels": object{"labels": list{
			object{"key": "volume", "value": fmt.Sprintf("pv-%d", i)}, object{"key": "pinned"},
		}}}
		out = append(out, r)
	}
	if i%300 == 2 { // a refined reservation has no older form
		r := scalar("cpus", 2)
		delete(r, "role")
		r["reservations"] = list{
			object{"role": "batch", "type": "STATIC"},
			object{"role": "batch/nightly", "type": "DYNAMIC", "principal": "batch-operator"},
		}
		out = append(out, r)
	}
	if i%150 == 5 {
		r := scalar("disk", 1_900_000)
		r["disk"] = object{"source": object{"type": "MOUNT", "mount": object{"root": "/mnt/nvme0"}}}
		out = append(out, r)
	}
	return out
}

func scalar(name string, value float64) object {
	return object{"name": name, "type": "SCALAR", "role": "*", "scalar": object{"value": double(value)}}
}

func ports(ends ...int) object {
	return object{"name": "ports", "type": "RANGES", "role": "*", "ranges": ranges(ends...)}
}

func ranges(ends ...int) object {
	var out list
	for i := 0; i < len(ends); i += 2 {
		out = append(out, object{"begin": ends[i], "end": ends[i+1]})
	}
	return object{"range": out}
}
