// Package wal keeps a registrar's records and checkpoints on a local disk, in
// Pebble. [Log] is a [store.Store].
//
// Its promise: a record whose durable function returned nil is there after
// any crash, and a checkpoint is there whole or not at all. When the disk
// breaks its own promise (a log file gone, bits flipped near the end of the
// log), opening says so instead of presenting a shorter log. What remains is
// the last [Options.WitnessEvery] of a log under load, and the witness's own
// syncs before and after it, which on a slow disk are the longer part: damage
// that takes away records acknowledged in that time can go unseen. A negative
// WitnessEvery closes that window.
//
//	log, err := wal.Create("/var/lib/master/registry", wal.Options{})
//	…
//	durable, err := log.Append(record) // an error: surely not written
//	err = durable()                    // nil: on disk
//
// # A store's directory
//
//	STORE       what this directory is: format, history; written last
//	WITNESS     how far the log is known to have come, outside Pebble
//	pebble/     records and checkpoints
//	quarantine/ copies of the files that told of a loss which was accepted
//	CREATING    there only while a store is being made, or was interrupted in it
//
// Do not rely on a copy of the directory that was made while the store was in
// use: it may lack what was acknowledged, or not open. One process has a store
// open for writing; the lock is on the directory itself, so that trying for it
// changes no file.
//
// # A checkpoint that outlives its records
//
// Damage of Pebble's log can take away records that a checkpoint covers, but
// not the checkpoint. Where the witness knows of nothing behind it, all that
// was acknowledged is there, and the store opens: missing is only how it came
// about. Opening logs that, [Check] warns of it, and the log can be read from
// the checkpoint on. Otherwise it is part of the loss, which names those records.
//
// # After a failure
//
// After the first failed write or sync nothing more is written: the log
// refuses every later append until it is closed and opened afresh. A failed
// write of the witness does that too, since without it records could vanish
// unseen.
//
// Where Pebble gives up on itself, the log parks the goroutine that it does so
// on, lets the call that waits for it return an error, and never calls Pebble
// again. Such places are Pebble's Fatalf (a MANIFEST that cannot be written), a
// log file that cannot be closed or made, its directory that cannot be synced,
// and an opening that cannot write its tables. Close then cuts what is left of
// Pebble off from the disk and releases the directory, so that the store can
// be opened again in the same process; memory and some parked goroutines
// remain until it ends. A panic of another kind, in a goroutine of Pebble's
// own, cannot be caught: it ends the process, which is as safe as any crash.
package wal
