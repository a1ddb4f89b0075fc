package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Create makes an empty store in dir, with a history of its own, and opens it
// for writing. dir must be absent or empty, or what an interrupted Create
// left; otherwise the error is [ErrExist] or [ErrForeign] and nothing was
// touched. A crash leaves a store, or a directory in which Create can be
// repeated: the file STORE, which makes it one, is written last.
func Create(dir string, o Options) (*Log, error) {
	o = o.withDefaults()
	if o.ReadOnly {
		return nil, fmt.Errorf("create store %s: %w", dir, store.ErrReadOnly)
	}
	if err := mayCreate(o.FS, dir); err != nil {
		return nil, err
	}
	if err := makeDir(o.FS, dir); err != nil {
		return nil, fmt.Errorf("create store %s: %w", dir, err)
	}
	held, err := lock(o.FS, dir, false)
	if err != nil {
		return nil, err
	}
	if err := mayCreate(o.FS, dir); err != nil { // another process may have been faster
		return nil, errors.Join(err, held.Close())
	}
	l := makeLog(dir, o, held, store.HistoryID(uuid.New()))
	if err := l.create(); err != nil {
		return nil, errors.Join(fmt.Errorf("create store %s: %w", dir, err), held.Close())
	}
	return l, nil
}

func makeLog(dir string, o Options, held io.Closer, history store.HistoryID) *Log {
	l := &Log{dir: dir, o: o, log: o.Logger, lock: held, history: history, pending: map[*pending]struct{}{}, readers: map[*pebble.DB]int{}, writing: make(chan struct{})}
	l.watch = newWatch(dir, o.Logger)
	l.idle.L = &l.mu
	return l
}

func mayCreate(f vfs.FS, dir string) error {
	s, err := survey(f, dir)
	if err != nil {
		return err
	}
	if s == stateStore {
		return fmt.Errorf("create store %s: %w", dir, ErrExist)
	}
	return nil
}

// makeDir makes dir and what is missing above it, each durable before the
// next: what is found there later was made so, and is not synced again. Only
// dir itself is, in case an earlier try failed in between.
func makeDir(f vfs.FS, dir string) error {
	parent := f.PathDir(dir)
	_, err := f.Stat(dir)
	made := absent(err)
	if made {
		if parent != dir {
			if _, err := f.Stat(parent); absent(err) {
				if err := makeDir(f, parent); err != nil {
					return err
				}
			}
		}
		err = f.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	err = syncDir(f, parent)
	if err != nil && made {
		err = errors.Join(err, f.Remove(dir))
	}
	return err
}

// create fills the directory. The order is what makes it safe to interrupt.
func (l *Log) create() error {
	f := l.o.FS
	path := func(name string) string { return f.PathJoin(l.dir, name) }
	// CREATING first: from here on what is in the directory is ours to clear.
	if err := errors.Join(writeFile(f, path(fileCreating), nil), syncDir(f, l.dir)); err != nil {
		return err
	}
	if err := errors.Join(f.RemoveAll(path(dirPebble)), f.MkdirAll(path(dirPebble), 0o700)); err != nil {
		return err
	}
	if err := l.createPebble(path(dirPebble)); err != nil {
		return err
	}
	if err := createWitness(f, l.dir, l.history, store.Mark{}); err != nil {
		return err
	}
	if err := errors.Join(writeFile(f, path(fileStoreNew), storeText(l.history)), syncDir(f, l.dir)); err != nil {
		return err
	}
	if err := errors.Join(f.Rename(path(fileStoreNew), path(fileStore)), syncDir(f, l.dir)); err != nil {
		return err
	}
	// Opening again is not a formality: Pebble's first log of a new database
	// is in an old format, in which damage looks like the log's end.
	if err := l.open(); err != nil {
		return err
	}
	if l.awaitWriting(); l.err != nil {
		return errors.Join(l.err, l.closePebble())
	}
	return nil
}

// createPebble makes the database and what the store says of itself in it.
func (l *Log) createPebble(dir string) error {
	l.gate = &gate{FS: l.o.FS, watch: l.watch}
	o := pebbleOptions(l.gate, l.watch)
	o.FormatMajorVersion = pebbleFormat
	o.ErrorIfExists = true
	err := l.watch.runOpen(func() error {
		db, err := pebble.Open(dir, o)
		if err != nil {
			return err
		}
		l.watch.opened.Store(true)
		return errors.Join(l.createMeta(db), l.watch.flush(db), db.Close())
	})
	return errors.Join(err, l.gate.close())
}

func (l *Log) createMeta(db *pebble.DB) error {
	b := db.NewBatch()
	format := binary.LittleEndian.AppendUint32(nil, formatVersion)
	err := errors.Join(b.Set(metaKey("format"), format, nil), b.Set(metaKey("history"), l.history[:], nil))
	if err == nil {
		err = db.ApplyNoSyncWait(b, pebble.Sync)
	}
	if err == nil {
		err = b.SyncWait()
	}
	return err
}
