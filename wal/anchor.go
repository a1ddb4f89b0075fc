package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

// anchor is a file that the store holds open, and where it was: as long as the
// name stands for the same file, what is written is found again. One in each
// directory tells of that directory, too.
type anchor struct {
	path string
	file syscall.Stat_t
}

// dropAnchors notes what the names stand for, now that the store has its files
// open. The path is made absolute: the process may change its directory.
func (l *Log) dropAnchors() ([]anchor, error) {
	if _, ok := l.o.FS.(disk); !ok {
		return nil, nil
	}
	dir, err := filepath.Abs(l.dir)
	if err != nil {
		return nil, err
	}
	anchors := []anchor{
		{path: filepath.Join(dir, fileWitness)},
		{path: filepath.Join(dir, dirPebble, "LOCK")}, // Pebble's
	}
	for i := range anchors {
		if err := statFile(anchors[i].path, &anchors[i].file); err != nil {
			return nil, fmt.Errorf("open store %s: %s: %w", l.dir, anchors[i].path, err)
		}
	}
	return anchors, nil
}

// inPlace is [ErrMoved] once a name stands for another file, or for none. Where
// the system does not tell, as when a directory above may not be searched any
// more, the files are still there for all that is known.
//
// It costs two calls of the system, a microsecond each, beside a sync.
func (l *Log) inPlace() error {
	for i := range l.anchors {
		a := &l.anchors[i]
		var now syscall.Stat_t
		switch err := statFile(a.path, &now); {
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
			return fmt.Errorf("%w: %s is gone", ErrMoved, a.path)
		case err != nil:
		case now.Dev != a.file.Dev || now.Ino != a.file.Ino:
			return fmt.Errorf("%w: %s is another file now", ErrMoved, a.path)
		}
	}
	return nil
}

func statFile(path string, to *syscall.Stat_t) error {
	for {
		if err := syscall.Stat(path, to); err != syscall.EINTR {
			return err
		}
	}
}

// lookEvery is how often a log looks whether its directory is still there, while
// it has nothing to write.
const lookEvery = time.Second

// watchDir has the log fail when it is moved, or when the storage engine ends in
// the background; a log that nobody writes to would not notice.
func (l *Log) watchDir() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if err := l.inPlace(); err != nil {
				l.fail(err)
				return
			}
		case <-l.watch.ended:
			l.fail(fmt.Errorf("the storage engine gave up: %w", l.watch.reason))
			return
		case <-l.broken:
			return
		case <-l.closing:
			return
		}
	}
}
