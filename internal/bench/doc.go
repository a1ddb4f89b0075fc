// Package bench measures the engine. It is what "regtool bench" runs, and the
// testing.B benchmarks of this package run the same code.
//
// [Registrar] puts a cluster's agents through the engine, phase by phase, over
// real files with real syncs, and sets beside each phase what cannot be done
// faster: its floor, the same bytes written or read with nothing around them.
// Machines differ and are noisy, so the ratio to the floor is the figure to
// keep, and the floor is measured in the same run.
//
// [Interference] measures a storm beside other work, [Links] who is told how
// fast when a peer goes, [State] and [Load] how fast a master answers. What follows
// is of Registrar.
//
// # A repetition
//
//	floors       the bytes of each phase into a raw file; the raw read behind recover
//	plain Pebble the bytes of each phase, in the engine's own groups
//	engine       admit, readmit, readmit_changed, unreachable, reachable,
//	             recover, recover_clean, remove, closed_loop
//
// Floors come first: once the engine has been open, Pebble's flushes slow the
// disk, and a floor measured then would flatter the engine. But a floor needs
// to know the bytes of a phase before the phase has run. Repetition 0 tells:
// it writes down every record that the engine appends, measures no floor, and
// its own times are dropped, which would be done anyway since the first
// repetition pays for cold code and cold files.
//
// A phase that does not come out as it should (an operation refused, an agent
// missing, a byte written where none is due) ends the benchmark with an error.
package bench
