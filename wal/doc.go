// Package wal keeps a registrar's records and checkpoints on a local disk, in
// Pebble. [Log] is a [store.Store].
//
// Its promise: a record whose durable function returned nil is there after
// any crash, and a checkpoint is there whole or not at all. When the disk
// breaks its own promise (a log file gone, bits flipped near the end of the
// log), opening says so instead of presenting a shorter log. What remains is
// the last [Options.WitnessEvery] of a log under load: damage that takes away
// records acknowledged in that time can go unseen. A negative WitnessEvery
// closes that window.
//
//	log, err := wal.Create("/var/lib/master/registry", wal.Options{})
//	…
//	durable, err := log.Append(record) // an error: surely not written
//	err = durable()                    // nil: on disk
//
// # A store's directory
//
//	STORE     what this directory is: format, history; written last
//	WITNESS   how far the log is known to have come, outside Pebble
//	pebble/   records and checkpoints
//	CREATING  there only while a store is being made, or was interrupted in it
//
// Copying the directory of a store that is in use gives a copy that does not
// open. One process has a store open for writing; the lock is on the
// directory itself, so that trying for it changes no file.
//
// # After a failure
//
// After the first failed write or sync nothing more is written: the log
// refuses every later append until it is closed and opened afresh. Where
// Pebble gives up on itself (it calls its logger's Fatalf, or panics), the log
// takes the same way out: a call of ours that was under way returns an error;
// a goroutine of Pebble's own is parked for good. Such a log never calls
// Pebble again; Close cuts the remains off from the disk and releases the
// directory, and leaves their memory and a few parked goroutines to the
// process. What cannot be caught is a panic other than Fatalf in a goroutine
// of Pebble's own: it ends the process, which is as safe as any crash.
package wal
