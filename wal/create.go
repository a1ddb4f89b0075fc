package wal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

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
	return create(dir, o, nil)
}

// CreateAt makes a store as Create does, with a history of its own, that begins
// with a checkpoint in place of the records before it: a registry that comes from
// elsewhere. Its first record is to follow before it is closed, as the registrar
// appends one when it opens; a later opening takes the records before the
// checkpoint for lost otherwise, and says so ([Check]), though nothing of the
// content is. An error, the end of ctx too, leaves no store.
func CreateAt(ctx context.Context, dir string, o Options, covers store.Mark, chunks iter.Seq[[]byte]) (*Log, error) {
	if covers.Seq == 0 {
		return nil, fmt.Errorf("create store %s: a checkpoint covers at least record 1", dir)
	}
	return create(dir, o, &beginning{ctx, covers, chunks})
}

// beginning is the checkpoint that a store begins with.
type beginning struct {
	ctx    context.Context
	covers store.Mark
	chunks iter.Seq[[]byte]
}

// mark is the place where a store with no records ends.
func (b *beginning) mark() store.Mark {
	if b == nil {
		return store.Mark{}
	}
	return b.covers
}

// create makes a store that begins with nothing if begin is nil.
func create(dir string, o Options, begin *beginning) (*Log, error) {
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
	l := makeLog(dir, o, held, newHistory(), formatVersion)
	l.begins = begin.mark().Seq
	if err := l.create(begin); err != nil {
		return nil, errors.Join(fmt.Errorf("create store %s: %w", dir, err), held.Close())
	}
	l.space.start()
	l.serveReaders()
	return l, nil
}

// newHistory is one that no store has.
func newHistory() store.HistoryID { return store.HistoryID(uuid.New()) }

// makeLog makes a log of the history and the format that the file STORE names, or
// will name.
func makeLog(dir string, o Options, held io.Closer, stored store.HistoryID, format uint32) *Log {
	l := &Log{dir: dir, o: o, log: o.Logger, lock: held, stored: stored, history: stored, format: format, pending: map[*pending]struct{}{}, readers: map[*pebble.DB]int{},
		closing: make(chan struct{}), broken: make(chan struct{})}
	l.watch = newWatch(dir, o.Logger)
	l.space = newSpace(dir, o)
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
func (l *Log) create(begin *beginning) error {
	f := l.o.FS
	path := func(name string) string { return f.PathJoin(l.dir, name) }
	if err := l.space.mayOpen(); err != nil {
		return err
	}
	// CREATING first: from here on what is in the directory is ours to clear.
	if err := errors.Join(writeFile(f, path(fileCreating), nil), syncDir(f, l.dir)); err != nil {
		return err
	}
	if err := errors.Join(f.RemoveAll(path(dirPebble)), f.MkdirAll(path(dirPebble), 0o700)); err != nil {
		return err
	}
	if err := l.createPebble(path(dirPebble), begin); err != nil {
		return err
	}
	if err := createWitness(f, l.dir, l.history, begin.mark()); err != nil {
		return err
	}
	if err := errors.Join(writeFile(f, path(fileStoreNew), storeText(l.history, l.format)), syncDir(f, l.dir)); err != nil {
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
	return l.mustWrite()
}

// createPebble makes the database, what the store says of itself in it, and what
// it begins with.
func (l *Log) createPebble(dir string, begin *beginning) error {
	l.gate = &gate{FS: l.o.FS, watch: l.watch, space: l.space}
	o := pebbleOptions(l.gate, l.watch)
	o.FormatMajorVersion = pebbleFormat
	o.ErrorIfExists = true
	err := l.watch.runOpen(func() error {
		db, err := pebble.Open(dir, o)
		if err != nil {
			return err
		}
		l.watch.opened.Store(true)
		l.db = db
		err = l.createMeta(db)
		if err == nil {
			err = l.createCheckpoint(begin)
		}
		if err == nil {
			err = l.watch.flush(db)
		}
		l.gate.leaving.Store(true)
		return errors.Join(err, db.Close())
	})
	return errors.Join(err, l.gate.close())
}

func (l *Log) createMeta(db *pebble.DB) error {
	format := binary.LittleEndian.AppendUint32(nil, formatVersion)
	return commit(db, func(b *pebble.Batch) error {
		return errors.Join(b.Set(metaKey("format"), format, nil), b.Set(metaKey("history"), l.history[:], nil))
	})
}

// createCheckpoint writes what the store begins with.
func (l *Log) createCheckpoint(b *beginning) error {
	if b == nil {
		return nil
	}
	name := l.gate.PathJoin(l.dir, fileCheckpoint)
	if _, err := l.writeTable(b.ctx, name, b.covers, b.chunks); err != nil {
		return err
	}
	return l.db.Ingest(b.ctx, []string{name})
}

// commit makes a batch durable.
func commit(db *pebble.DB, fill func(*pebble.Batch) error) error {
	b := db.NewBatch()
	if err := fill(b); err != nil {
		return err
	}
	// Not Commit(Sync): it can return nil after a sync that failed.
	if err := db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return err
	}
	if err := b.SyncWait(); err != nil {
		return err
	}
	return b.Close()
}

// mustWrite makes the log ready for writing. If it cannot be, the log is as good
// as closed.
func (l *Log) mustWrite() error {
	l.awaitWriting()
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err != nil {
		return errors.Join(err, l.closePebble())
	}
	return nil
}
