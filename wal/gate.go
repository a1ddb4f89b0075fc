package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// gate stands between Pebble and the disk. A read-only gate lets nothing be
// written. A gate that was shut parks whoever still wants to write, for good:
// so that what Pebble left running cannot reach a store that was opened anew.
type gate struct {
	vfs.FS
	readOnly bool
	watch    *watch
	space    *space
	tables   tablePause
	leaving  atomic.Bool // Pebble is being closed, and makes no more log files

	mu    sync.RWMutex // held for reading while something is being written
	shut  bool
	locks []io.Closer

	holding bool     // tables to be removed stay: another Pebble reads them
	held    []string // those tables
}

var errReadOnly = errors.New("the store is open for reading only")

func (g *gate) enter() error {
	if g.readOnly {
		return errReadOnly
	}
	g.mu.RLock()
	if g.shut {
		g.mu.RUnlock()
		select {}
	}
	return nil
}

// close shuts the gate, waits for writes under way, and gives up Pebble's lock.
func (g *gate) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	var err error
	for _, l := range g.locks {
		err = errors.Join(err, l.Close())
	}
	g.locks = nil
	return err
}

func (g *gate) do(f func() error) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	return f()
}

func (g *gate) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.mu.RUnlock()
	f, err := open()
	if err != nil {
		g.space.sawError(err)
		return nil, err
	}
	return &gateFile{File: f, g: g, log: strings.HasSuffix(name, ".log"), table: isTable(name)}, nil
}

// isTable says which files may wait for space.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, fileCheckpoint)
}

// Create makes a file. Pebble's marker files name another file, which it made
// just before; it syncs the directory only after both. A crash may then keep
// the marker and lose the file, unless the file system keeps their order:
// sync in between.
func (g *gate) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	table := isTable(name) && !g.readOnly
	if table && !g.leaving.Load() {
		g.tables.wait()
	}
	f, err := g.create(name, c)
	if table && err != nil {
		g.tables.failed()
	}
	return f, err
}

func (g *gate) create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) {
		if strings.HasPrefix(g.FS.PathBase(name), "marker.") {
			if err := syncDir(g.FS, g.FS.PathDir(name)); err != nil {
				return nil, err
			}
		}
		return g.FS.Create(name, c)
	})
}

func (g *gate) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

func (g *gate) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(newname, func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, c) })
}

func (g *gate) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &gateFile{File: f, g: g, pebbleDir: g.FS.PathBase(name) == dirPebble}, nil
}

func (g *gate) Link(oldname, newname string) error {
	return g.do(func() error { return g.FS.Link(oldname, newname) })
}

func (g *gate) Remove(name string) error {
	if strings.HasSuffix(name, ".sst") && g.hold(name) {
		return nil
	}
	return g.do(func() error { return g.FS.Remove(name) })
}

// hold puts off the removal of a table. If the process ends before it comes
// to that, Pebble removes the table when it is opened again.
func (g *gate) hold(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holding {
		g.held = append(g.held, name)
	}
	return g.holding
}

// release removes what was held, and holds nothing more.
func (g *gate) release() error {
	g.mu.Lock()
	held := g.held
	g.holding, g.held = false, nil
	g.mu.Unlock()
	var err error
	for _, name := range held {
		err = errors.Join(err, removeIfThere(g, name))
	}
	return err
}

func (g *gate) RemoveAll(name string) error {
	return g.do(func() error { return g.FS.RemoveAll(name) })
}

func (g *gate) Rename(oldname, newname string) error {
	return g.do(func() error { return g.FS.Rename(oldname, newname) })
}

func (g *gate) MkdirAll(dir string, perm os.FileMode) error {
	return g.do(func() error { return g.FS.MkdirAll(dir, perm) })
}

// Lock takes Pebble's own lock, so that Pebble's tools keep out. A reader
// does without: the file would be written, and the store's lock is held.
func (g *gate) Lock(name string) (io.Closer, error) {
	if g.readOnly {
		return io.NopCloser(nil), nil
	}
	if err := g.enter(); err != nil {
		return nil, err
	}
	l, err := g.FS.Lock(name)
	g.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	once := &closeOnce{Closer: l}
	g.mu.Lock()
	g.locks = append(g.locks, once)
	g.mu.Unlock()
	return once, nil
}

func (g *gate) Unwrap() vfs.FS { return g.FS }

type closeOnce struct {
	io.Closer
	once sync.Once
}

func (c *closeOnce) Close() (err error) {
	c.once.Do(func() { err = c.Closer.Close() })
	return err
}

// gateFile is an open file behind a gate.
type gateFile struct {
	vfs.File
	g         *gate
	log       bool // one of Pebble's log files
	table     bool // one of its tables
	pebbleDir bool // the directory they are in
	asked     int  // bytes of a table that there was room for
	failed    atomic.Pointer[error]
}

// do passes the gate, and notes the first failure.
func (f *gateFile) do(op func() error) error {
	err := f.g.do(op)
	if err != nil {
		f.g.space.sawError(err)
		f.failed.CompareAndSwap(nil, &err)
	}
	return err
}

func (f *gateFile) Write(p []byte) (n int, err error) {
	err = f.do(func() error {
		if err = f.room(len(p)); err == nil {
			n, err = f.File.Write(p)
		}
		return err
	})
	return n, err
}

// room says whether the next bytes may be written: a table leaves the last space
// to the log.
func (f *gateFile) room(n int) error {
	if f.asked -= n; !f.table || f.asked >= 0 {
		return nil
	}
	f.asked = tableStep
	return f.g.space.roomForTable()
}

func (f *gateFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() error { n, err = f.File.WriteAt(p, off); return err })
	return n, err
}

// Preallocate may fail: Pebble goes on, and the write that needs the space says
// whether it is there.
func (f *gateFile) Preallocate(offset, length int64) error {
	return f.g.do(func() error { return f.File.Preallocate(offset, length) })
}

// Sync parks whoever could not sync Pebble's directory: where that happens
// under a marker file, Pebble panics, on whatever goroutine it is.
func (f *gateFile) Sync() error {
	err := f.do(f.File.Sync)
	if err != nil && f.pebbleDir && !f.g.readOnly {
		f.g.watch.park(fmt.Errorf("sync storage engine's directory: %w", err))
	}
	return err
}

func (f *gateFile) SyncData() error { return f.do(f.File.SyncData) }

func (f *gateFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() error { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Close parks whoever closes a log file that could not be written, or closed. It is
// Pebble's way to the next log file, where it would end the process (see
// logCreated). All that waited for this file were told before.
func (f *gateFile) Close() error {
	err := f.File.Close()
	failed := f.failed.Load()
	if failed == nil && err != nil {
		failed = &err
	}
	switch {
	case failed != nil && f.log && !f.g.leaving.Load():
		f.g.watch.park(fmt.Errorf("log file could not be written: %w", *failed))
	case f.table && failed != nil:
		f.g.tables.failed()
	case f.table:
		f.g.tables.made()
	}
	return err
}
