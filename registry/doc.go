// Package registry holds what a cluster knows as immutable values: its agents
// above all, and small tables beside them.
//
// A [Registry] never changes once another goroutine can see it. To make the
// next one, take a [Draft], change it, and freeze it:
//
//	d := reg.Draft()
//	changed, err := d.Try(func(d *registry.Draft) error {
//		return d.PutAgent(registry.Agent{ID: "a1", Hostname: "host-1"},
//			registry.Status{State: registry.Admitted})
//	})
//	next := d.Freeze() // reg still reads as before
//
// An agent has one state: admitted, unreachable or gone. It stands in one
// table with its state in the entry, so that two states at once cannot be
// written down and a transition is one change in one place.
//
// A program that embeds this keeps durable keys of its own in user tables:
// named tables of bytes, changed with [Draft.PutKey] and [Draft.DeleteKey], read
// with [Registry.Key] and [Registry.Keys]. The definitions of pods have a table
// too ([Draft.PutPod], [Registry.Pods]).
//
// Every change is also encoded as a row: which table, which key, the new value
// or a deletion. Rows are what the registrar logs, and what [Draft.Redo] and
// the chunks of a checkpoint ([Registry.Chunks]) are made of: recovery applies
// data, never decisions. The format of rows is written down in codec.go.
//
// There is no clock, no I/O and no logging here. Time comes in as data.
package registry
