package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// plainPebble is Pebble with nothing around it, opened as package wal opens
// it: what the engine costs beyond that is the engine's own.
type plainPebble struct {
	dir string
	db  *pebble.DB
	seq uint64
}

// plainOptions are those of package wal; a test compares the OPTIONS files that
// Pebble writes for both.
func plainOptions() *pebble.Options {
	o := &pebble.Options{
		// The least is what leaves the store in the format it was made in.
		FormatMajorVersion:          pebble.FormatMinSupported,
		MemTableSize:                16 << 20,
		MemTableStopWritesThreshold: 4,
		CacheSize:                   1 << 20,
		MaxOpenFiles:                100,
		DisableTableStats:           true,
		Logger:                      silent{},
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return o
}

// silent drops what Pebble has to tell; errors come back from the calls.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("plain Pebble: "+format, args...))
}

// newPlainPebble makes a store in dir and opens it a second time, as package
// wal does, since the first log file of a new store has an older format.
func newPlainPebble(dir string) (*plainPebble, error) {
	p := &plainPebble{dir: dir}
	o := plainOptions()
	o.FormatMajorVersion = pebble.FormatValueSeparation
	if err := p.open(o); err != nil {
		return nil, err
	}
	return p, p.reopen()
}

func (p *plainPebble) open(o *pebble.Options) (err error) {
	if p.db, err = pebble.Open(p.dir, o); err != nil {
		return fmt.Errorf("open a plain Pebble in %s: %w", p.dir, err)
	}
	return nil
}

// reopen flushes, closes and opens the store, as the engine's Close does.
func (p *plainPebble) reopen() error {
	if err := errors.Join(p.db.Flush(), p.db.Close()); err != nil {
		return fmt.Errorf("close the plain Pebble in %s: %w", p.dir, err)
	}
	return p.open(plainOptions())
}

// write commits data in groups of these sizes, one batch each, with up to
// inFlight batches whose sync is not awaited yet, and returns how long it took
// until the last was durable.
func (p *plainPebble) write(data []byte, groups []int, inFlight int) (time.Duration, error) {
	began := time.Now()
	var waiting []*pebble.Batch
	for _, n := range groups {
		if len(waiting) == inFlight {
			if err := synced(waiting[0]); err != nil {
				return 0, err
			}
			waiting = waiting[1:]
		}
		b, err := p.apply(data[:n])
		if err != nil {
			return 0, err
		}
		waiting, data = append(waiting, b), data[n:]
	}
	for _, b := range waiting {
		if err := synced(b); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func (p *plainPebble) apply(record []byte) (*pebble.Batch, error) {
	p.seq++
	b := p.db.NewBatch()
	err := b.Set(binary.BigEndian.AppendUint64([]byte{'r'}, p.seq), record, nil)
	if err == nil {
		err = p.db.ApplyNoSyncWait(b, pebble.Sync)
	}
	if err != nil {
		return nil, fmt.Errorf("write to the plain Pebble: %w", err)
	}
	return b, nil
}

func synced(b *pebble.Batch) error {
	if err := errors.Join(b.SyncWait(), b.Close()); err != nil {
		return fmt.Errorf("sync the plain Pebble: %w", err)
	}
	return nil
}

func (p *plainPebble) close() error {
	if err := p.db.Close(); err != nil {
		return fmt.Errorf("close the plain Pebble in %s: %w", p.dir, err)
	}
	return nil
}
