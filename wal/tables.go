package wal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// checkTables proves every block of Pebble's tables that d does not name yet.
// Who reads rows proves the blocks that hold them: one of rows that were let go
// is read by nobody until Pebble compacts its table, which fails then, again
// and again.
func (l *Log) checkTables(ctx context.Context, db *pebble.DB, d *damage) error {
	levels, err := db.SSTables()
	if err != nil {
		return damaged(l.dir, err)
	}
	for _, tables := range levels {
		for _, table := range tables {
			if err := l.mayRead(ctx, 0); err != nil {
				return err
			}
			if err := l.checkTable(db, table, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Log) checkTable(db *pebble.DB, table pebble.SSTableInfo, d *damage) error {
	name := l.o.FS.PathJoin(dirPebble, table.BackingSSTNum.String()+".sst")
	path := l.o.FS.PathJoin(l.dir, name)
	if d.tables[path] {
		return nil
	}
	err := damaged(l.dir, l.proveTable(path, table))
	var corrupt *CorruptError
	switch {
	case err == nil, absent(err) && replaced(db, table):
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

// replaced reports whether a compaction has put others in the place of a table
// since it was listed.
func replaced(db *pebble.DB, table pebble.SSTableInfo) bool {
	levels, err := db.SSTables()
	if err != nil {
		return false
	}
	for _, tables := range levels {
		if slices.ContainsFunc(tables, func(t pebble.SSTableInfo) bool { return t.BackingSSTNum == table.BackingSSTNum }) {
			return false
		}
	}
	return true
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
	po := pebbleOptions(l.o.FS, l.watch)
	po.EnsureDefaults()
	o := po.MakeReaderOptions()
	o.CacheOpts.FileNum = table.BackingSSTNum // for its errors; there is no cache
	r, err := sstable.NewReader(context.Background(), readable, o)
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}
