package wal

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// Upgrade raises the formats of the store to those that [Create] writes, and
// reports whether there was anything to raise. If there was not, no file is
// touched. Nothing else raises a format, so that a store stays readable for the
// program that made it until somebody decides otherwise; after an upgrade older
// programs refuse it ([ErrVersion]).
//
// Each step is durable before the next, and leaves a store that this program
// reads:
//
//  1. Pebble's format is raised, one version after another;
//  2. the file STORE gets the format, which is what older programs look at first;
//  3. Pebble's row "format" gets it.
//
// Where a crash or an error came between, the next Upgrade goes on. An error ends
// writing, as that of a record does: open the store afresh. Appends wait until
// the upgrade is done.
func (l *Log) Upgrade() (raised bool, err error) {
	l.mu.Lock()
	err = l.usable()
	newest := l.format >= formatVersion && l.db.FormatMajorVersion() >= pebbleFormat
	l.mu.Unlock()
	if err == nil && newest {
		return false, nil
	}
	if err == nil {
		l.awaitWriting()
		err = l.raise()
	}
	if err != nil {
		return false, fmt.Errorf("upgrade store %s: %w", l.dir, brief(err))
	}
	return true, nil
}

// raise takes the steps that are left to take.
func (l *Log) raise() error {
	l.appending.Lock()
	defer l.appending.Unlock()
	l.mu.Lock()
	err, db, g := l.usable(), l.db, l.gate
	l.mu.Unlock()
	if err != nil {
		return err
	}
	err = l.watch.run(func() error {
		if db.FormatMajorVersion() >= pebbleFormat {
			return nil
		}
		return db.RatchetFormatMajorVersion(pebbleFormat)
	})
	if err == nil && l.format < formatVersion {
		err = l.raiseOwn(db, g)
	}
	if err != nil {
		l.fail(err)
		return err
	}
	l.mu.Lock()
	l.format = max(l.format, formatVersion)
	l.mu.Unlock()
	return nil
}

// raiseOwn writes the format to where it stands. The flush is why accept has one.
func (l *Log) raiseOwn(db *pebble.DB, g *gate) error {
	if err := replaceFile(g, l.dir, fileStore, fileStoreNew, storeText(l.history, formatVersion)); err != nil {
		return err
	}
	return l.watch.run(func() error {
		err := commit(db, func(b *pebble.Batch) error {
			return b.Set(metaKey("format"), binary.LittleEndian.AppendUint32(nil, formatVersion), nil)
		})
		if err != nil {
			return err
		}
		return l.watch.flush(db)
	})
}

// newerPebble is an [ErrVersion] if Pebble's files have a format that it does not
// know, for Pebble says that in plain text; nil otherwise.
func newerPebble(g *gate, dir string) error {
	value, err := atomicfs.ReadMarker(g, g.PathJoin(dir, dirPebble), "format-version")
	if err != nil {
		return nil // Pebble says what is wrong
	}
	v, err := strconv.ParseUint(value, 10, 64)
	if err != nil || v <= uint64(pebble.FormatNewest) {
		return nil
	}
	return fmt.Errorf("store %s: %w: Pebble's files have format %d, this program reads up to %d", dir, ErrVersion, v, pebble.FormatNewest)
}
