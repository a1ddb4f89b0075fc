// Package metrics keeps a million numbers by name, in the order of their names,
// and writes them all out at once.
//
//	var t metrics.Table
//	launched, err := t.Counter("master/tasks_launched") // an error if the name is taken
//	launched.Inc()
//	s := t.Snapshot(ctx)          // waits for pulled values, until ctx ends
//	err = s.Write(w, metrics.V0)  // {"master/tasks_launched":1.0}
//
// What a program counts of each of many things is a [Block]: all its names begin
// alike, go on as its [Shape] says, and lie side by side in the order of the
// Table. A block remembers what it looked like in each [Form], and of what is
// written again only the values are that changed.
//
// Updates never wait: neither for each other nor for whoever reads. A number that
// was changed before a Snapshot was asked for is in it.
package metrics
