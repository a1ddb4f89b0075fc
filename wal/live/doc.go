// Package live lets other processes of the same user read a store that this one
// has open for writing, which they could not open themselves.
//
// The process that holds the store calls [Serve] once it has opened it:
//
//	l, err := wal.Open(dir, wal.Options{})
//	…
//	s, err := live.Serve(l, live.Options{}) // an error costs no more than this
//	r, err := registrar.Open(ctx, l, registrar.Options{})
//	…
//	s.Close()
//	r.Close()
//
// Then there is a Unix socket in the store's directory, the file SOCKET, for its
// owner alone (mode 0600; Linux is asked who calls besides). Another process calls
// [Open], and has a [Store] that reads: the records and checkpoints that were
// durable when it was opened, and none that came later. regtool does so by itself
// where a store is in use.
//
// Who reads cannot hold up who writes. At most [MaxReaders] are served at a time;
// one that does not take what it asked for is cut off after ten seconds, at the
// latest when the log is closed; records are sent a megabyte at a time, with
// nothing of the store held meanwhile. A checkpoint is sent with its table files
// held, which delays nobody, but keeps their space from being given back.
package live
