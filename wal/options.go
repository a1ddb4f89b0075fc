package wal

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options tunes a log. The zero value is ready for production.
type Options struct {
	// FS is the file system; nil means the disk. Tests hand in others.
	FS vfs.FS
	// ReadOnly opens without writing a byte. A log that was not closed is
	// replayed in memory. Readers of one store do not exclude each other
	// (they do on an FS of your own), a writer excludes them and they it.
	ReadOnly bool
	// WitnessEvery is the pause between two writes of the witness under load;
	// 0 means 5 ms. Records acknowledged within it can be lost to a lying disk
	// unseen, and within the witness's own syncs on both sides of it: the one
	// that began before them, and the one that takes them in. When the log has
	// nothing to do, the witness is brought up to its end.
	// Negative: it is written before each record is acknowledged; nothing can
	// be lost unseen, and a single append takes nearly twice as long.
	WitnessEvery time.Duration
	// AcceptLoss opens a store that would fail with [LostRecordsError]; what
	// is missing is logged. Opened for writing, the store first keeps a copy
	// of the files that tell of the loss, in its directory quarantine; then it
	// goes on from what is left, as a new history ([store.Identity]), and says
	// so ever after ([Info], [Check]). Opened for reading nothing is written.
	AcceptLoss bool
	// FullBelow is the hard mark on the bytes that are free on the file system:
	// below it the disk is full ([store.ErrDiskFull]). The registrar then adds
	// nothing, so that what is left is there for removals, and the store is not
	// opened for writing. 0 means 64 MiB: a quarter for the log, a quarter for a
	// flush of Pebble's memtable, and 32 MiB for a checkpoint, which is what lets
	// go of the log; a registry with larger ones wants twice their size more.
	// Negative: free space is not watched, and the first write that finds none
	// ends the store.
	FullBelow int64
	// LowBelow is the soft mark: below it the disk is nearly full, and one that
	// was full is so until this much is free. 0 means twice FullBelow; what is
	// less than FullBelow means FullBelow.
	LowBelow int64
	// NoSocket keeps others from reading the store while it is open for writing.
	// Otherwise there is a Unix socket then, the file SOCKET in the directory, for
	// this user and root ([OpenLive], package live): regtool reads through it. On
	// an FS of your own there is none.
	NoSocket bool
	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = disk{vfs.Default}
	}
	o.WitnessEvery = cmp.Or(o.WitnessEvery, 5*time.Millisecond)
	o.FullBelow = cmp.Or(o.FullBelow, 64<<20)
	o.LowBelow = max(cmp.Or(o.LowBelow, 2*o.FullBelow), o.FullBelow)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// pebbleFormat is Pebble's format for new stores. Opening never raises it: an
// older store stays readable for the program that made it.
const pebbleFormat = pebble.FormatValueSeparation

const (
	// A batch over half of it becomes a memtable of its own; 64 MiB would be
	// faster under large agents, and six times slower to open after a crash.
	memTableSize = 16 << 20
	// Room for slow flushes: the third waiting memtable does not stop writers yet.
	memTableStop = 4
	cacheSize    = 1 << 20 // nothing is read in service
	maxOpenFiles = 100
)

// pebbleOptions are the options of every opening; w is told what goes wrong.
func pebbleOptions(fs vfs.FS, w *watch) *pebble.Options {
	o := &pebble.Options{
		FS: fs,
		// Not pebbleFormat: a lower number than the store's own leaves it alone.
		FormatMajorVersion:          pebble.FormatMinSupported,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTableStop,
		CacheSize:                   cacheSize,
		MaxOpenFiles:                maxOpenFiles,
		Logger:                      w,
		EventListener:               w.events(),
	}
	// A Pebble that fails to open can panic on the goroutine that collects
	// them, where nobody can recover. What they would speed up, giving back the
	// space of deleted rows, compaction does here all the same (measured).
	o.DisableTableStats = true
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return o
}
