package pod

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func defaultScaling() Scaling { return Scaling{Kind: "fixed", Instances: 1} }

func defaultScheduling() Scheduling {
	return Scheduling{
		Backoff:       Backoff{Backoff: 1, BackoffFactor: 1.15, MaxLaunchDelay: 300},
		Upgrade:       Upgrade{MinimumHealthCapacity: 1, MaximumOverCapacity: 1},
		KillSelection: "YOUNGEST_FIRST",
	}
}

func defaultExecutor() ExecutorResources { return ExecutorResources{CPUs: 0.1, Mem: 32, Disk: 10} }

// fill writes out what is not said. A null says nothing.
func (d *Definition) fill() {
	if id, err := ParseID(d.ID); err == nil {
		d.ID = id
	}
	d.Role = cmp.Or(d.Role, "*")
	if len(d.Networks) == 0 {
		d.Networks = []Network{{Mode: HostMode}}
	}
	d.Scaling = cmp.Or(d.Scaling, defaultScaling())
	d.Executor = cmp.Or(d.Executor, defaultExecutor())
	if d.Scheduling.KillSelection == "" {
		d.Scheduling.KillSelection = defaultScheduling().KillSelection
	}
}

// What stands in arrays is made afresh by the decoder, so that its defaults have
// to come from here.

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (r *Resources) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain Resources
	return over(d, r, plain{CPUs: 1, Mem: 128}, func(p plain) Resources { return Resources(p) })
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (h *HealthCheck) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain HealthCheck
	return over(d, h, plain{GracePeriodSeconds: 300, IntervalSeconds: 60, MaxConsecutiveFailures: 3, TimeoutSeconds: 20, DelaySeconds: 15},
		func(p plain) HealthCheck { return HealthCheck(p) })
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (n *Network) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain Network
	return over(d, n, plain{Mode: ContainerMode}, func(p plain) Network { return Network(p) })
}

// over reads a value over its defaults.
func over[P, V any](d *jsontext.Decoder, v *V, defaults P, value func(P) V) error {
	err := json.UnmarshalDecode(d, &defaults)
	*v = value(defaults)
	return err
}
