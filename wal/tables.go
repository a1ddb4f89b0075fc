package wal

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// checkTables proves every block of Pebble's tables that d does not name yet.
// Who reads rows proves the blocks that hold them: one of rows that were let go
// is read by nobody until Pebble compacts its table, which fails then, again
// and again.
func (l *Log) checkTables(ctx context.Context, d *damage) error {
	levels, err := l.db.SSTables()
	if err != nil {
		return damaged(l.dir, err)
	}
	for _, tables := range levels {
		for _, table := range tables {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := l.checkTable(table, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Log) checkTable(table pebble.SSTableInfo, d *damage) error {
	name := l.o.FS.PathJoin(dirPebble, table.BackingSSTNum.String()+".sst")
	path := l.o.FS.PathJoin(l.dir, name)
	if d.tables[path] {
		return nil
	}
	err := damaged(l.dir, l.proveTable(path, table))
	var corrupt *CorruptError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &corrupt):
		return fmt.Errorf("read table %s of store %s: %w", name, l.dir, err)
	}
	problem := fmt.Sprintf("table %s: %v", name, corrupt.Err)
	if !d.found {
		problem += "; no record and no checkpoint that is kept is affected"
	}
	d.report(Finding{SeverityError, "store", problem})
	return nil
}

// proveTable reads a table block by block.
func (l *Log) proveTable(path string, table pebble.SSTableInfo) error {
	file, err := l.o.FS.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	po := pebbleOptions(l.gate, l.watch)
	po.EnsureDefaults()
	o := po.MakeReaderOptions()
	o.CacheOpts.FileNum = table.BackingSSTNum // for its errors; there is no cache
	r, err := sstable.NewReader(context.Background(), readable, o)
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}
