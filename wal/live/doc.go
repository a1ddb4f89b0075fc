// Package live lets other processes of the same user read a store that this one
// has open for writing, which they could not open themselves. Package wal does so
// for every log (its Options.NoSocket); this is how.
//
// The process that holds the store calls [Serve]. Then there is a Unix socket in the
// store's directory, the file SOCKET, for its owner alone (mode 0600; Linux is asked
// who calls besides). Another process calls [Open], and has a [Store] that reads:
// the records and checkpoints that were durable when it was opened, and none that
// came later. [Store.Seen] says when that was, and whom it asked.
//
// Who reads cannot hold up who writes. At most [MaxReaders] are served at a time;
// one that does not take what it asked for is cut off after ten seconds, and all of
// them when the server is closed; records are sent a megabyte at a time, with
// nothing of the store held meanwhile. A checkpoint is sent with its table files
// held, which delays nobody, but keeps their space from being given back.
package live
