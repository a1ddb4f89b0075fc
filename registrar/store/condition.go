package store

import (
	"errors"
	"time"
)

// ErrDiskFull says that there is too little space to add anything. What makes
// the registry smaller is still taken.
var ErrDiskFull = errors.New("disk is full")

// Watched is a [Store] that watches what it is kept on. Asking it costs no
// input or output.
type Watched interface {
	Store
	// Room is nil, or [ErrDiskFull] with figures. It is asked for each batch.
	Room() error
	// Condition says how the storage is.
	Condition() Condition
}

// Condition is how the storage below a store is.
type Condition struct {
	// Free and Total are bytes of the file system, as it last said; both are 0
	// if it does not say.
	Free, Total uint64
	// Full is what Room says. Low is nil, or says that it will soon be full.
	Full, Low error
	// Failing is why work in the background fails that is tried again, such as
	// writing tables; nil once that has stopped failing.
	Failing error
	// Failures counts those failures.
	Failures uint64
	// Stalled says since when records wait for room in the store's memory; zero
	// while they do not.
	Stalled time.Time
	// WitnessBehind is how long the witness has not caught up with what is
	// durable, and UnwitnessedRecords by how many records: were the disk to lose
	// them, nobody would notice.
	WitnessBehind      time.Duration
	UnwitnessedRecords uint64
}
