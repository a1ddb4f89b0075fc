package wire_test

import (
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

func TestUsageIsExactInThousandths(t *testing.T) {
	of := func(name string, amount float64) wire.Resource {
		return wire.Resource{Resource: registry.Resource{Name: name, Value: registry.Scalar(amount)}}
	}
	revocable := of("mem", 64)
	revocable.Special = &wire.Special{Revocable: "{}"}
	shared := of("disk", 10)
	shared.Special = &wire.Special{Shared: "{}"}
	for _, c := range []struct {
		of   string
		list []wire.Resource
		want wire.Usage
	}{
		{"nothing", nil, wire.Usage{}},
		{"what Mesos counts", []wire.Resource{of("cpus", 0.1), of("mem", 5), of("cpus", 0.2), of("gpus", 1), of("disk", 0)},
			wire.Usage{Amounts: [8]int64{300, 1000, 5000, 0}}},
		{"what can be taken back", []wire.Resource{revocable}, wire.Usage{Amounts: [8]int64{6: 64000}}},
		{"what is not counted", []wire.Resource{of("cpus", 1), of("bandwidth", 1), of("cpus_revocable", 1)}, wire.Usage{Amounts: [8]int64{1000}, Others: 1}},
		{"what is no number", []wire.Resource{{Resource: registry.Resource{Name: "cpus", Value: registry.Set("a")}}}, wire.Usage{Others: 1}},
		{"what several use", []wire.Resource{shared}, wire.Usage{Amounts: [8]int64{3: 10000}, Others: 1}},
		{"less than can be said", []wire.Resource{of("cpus", 0.0001)}, wire.Usage{Others: 1}},
		{"very much", []wire.Resource{of("mem", 2e9)}, wire.Usage{Amounts: [8]int64{2: 2e12}, Others: 1}},
		{"beyond all measure", []wire.Resource{of("mem", 1e300)}, wire.Usage{Others: 1}},
	} {
		if got := wire.UsageOf(c.list); got != c.want {
			t.Errorf("%s is %+v, want %+v", c.of, got, c.want)
		}
		task := wire.Task{Resources: c.list}
		told := wire.Task{Uses: wire.UsesOf(c.list)}
		if task.Usage() != c.want || told.Usage() != c.want {
			t.Errorf("a task with %s uses %+v, one that says so %+v, want %+v", c.of, task.Usage(), told.Usage(), c.want)
		}
	}
}
