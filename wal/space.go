package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/registrar/store"
)

const (
	// looksEvery is how often the file system is asked what is free, never by
	// whoever appends. A disk of 500 MB/s that somebody else fills gets from
	// the low mark to the full one in an eighth of that; a busy log of our own
	// takes seconds.
	looksEvery = time.Second
	// shortFor is how long a write that found no space makes the disk full,
	// whatever the file system says is free: a quota, or the end of the inodes,
	// does not show there. What fails is tried again sooner than that.
	shortFor = 10 * time.Second
	// The part of the full mark that tables may not take: what flushes and
	// compactions would fill to the last byte is the log's, whose failure is the
	// store's end.
	logsPart = 4
	// A table asks for room once for so many bytes.
	tableStep = 1 << 20
)

// space watches what is free on the file system of a store.
//
// The marks have room between them so that no state comes and goes with each
// file: it is full below the full mark until the low mark is clear, and low
// below the low mark until as much again is free above it.
type space struct {
	fs        vfs.FS
	dir       string
	log       *slog.Logger
	full, low uint64                // both 0: nothing is watched
	refusal   atomic.Pointer[error] // nil while there is room

	mu    sync.Mutex
	usage vfs.DiskUsage // zero if the file system does not tell
	isLow bool
	short time.Time // when a write last found no space

	stop, done chan struct{} // nil unless watching
}

// newSpace has the marks of o. A log that is opened for reading needs no space,
// and says nothing of it in its log.
func newSpace(dir string, o Options) *space {
	s := &space{fs: o.FS, dir: dir, log: o.Logger}
	if o.ReadOnly {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.FullBelow > 0 {
		s.full, s.low = uint64(o.FullBelow), uint64(o.LowBelow)
	}
	return s
}

// mayOpen looks for the first time, and refuses a disk that is full.
func (s *space) mayOpen() error {
	s.look()
	return s.room()
}

// start watches until close.
func (s *space) start() {
	if s.full == 0 {
		return
	}
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run()
}

func (s *space) run() {
	defer close(s.done)
	tick := time.NewTicker(looksEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.look()
		case <-s.stop:
			return
		}
	}
}

func (s *space) close() {
	if s.stop != nil {
		close(s.stop)
		<-s.done
	}
}

// room is nil, or why nothing is to be added.
func (s *space) room() error {
	if err := s.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// look asks the file system. One that does not answer leaves all as it was.
func (s *space) look() {
	if s.full == 0 {
		return
	}
	u, err := s.fs.GetDiskUsage(s.dir)
	s.mu.Lock()
	if err == nil {
		s.usage = u
	}
	tell := s.judge()
	s.mu.Unlock()
	tell()
}

// sawError is told of every failed write.
func (s *space) sawError(err error) {
	if s.full == 0 || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return
	}
	s.mu.Lock()
	s.short = time.Now()
	tell := s.judge()
	s.mu.Unlock()
	tell()
}

// judge says what is so now. s.mu is held; it is let go of before what was not so
// before is told, since a log on the same disk may hang, and nobody who asks for
// the condition is to wait for that.
func (s *space) judge() (tell func()) {
	free, told := s.usage.AvailBytes, s.usage.TotalBytes > 0
	wasFull, wasLow := s.refusal.Load() != nil, s.isLow
	full := s.isShort() || told && (free < s.full || wasFull && free < s.low)
	s.isLow = full || told && (free < s.low || wasLow && free < 2*s.low-s.full)
	switch err := s.fullError(); {
	case !full:
		s.refusal.Store(nil)
	default:
		s.refusal.Store(&err)
	}
	log := s.log.With("dir", s.dir, "free", free, "full_below", s.full, "low_below", s.low)
	isLow := s.isLow
	return func() {
		switch {
		case full && !wasFull:
			log.Error("disk is full: nothing is added until there is room, what removes is still done")
		case !full && wasFull:
			log.Warn("disk is no longer full")
		case isLow && !wasLow:
			log.Warn("disk is nearly full")
		case !isLow && wasLow:
			log.Warn("disk has room again")
		}
	}
}

func (s *space) isShort() bool { return !s.short.IsZero() && time.Since(s.short) < shortFor }

func (s *space) fullError() error {
	if s.isShort() {
		return fmt.Errorf("%w: a write found no space", store.ErrDiskFull)
	}
	return fmt.Errorf("%w: %s are free; nothing is added below %s, and then until there are %s",
		store.ErrDiskFull, mib(s.usage.AvailBytes), mib(s.full), mib(s.low))
}

// mib is a number of bytes for people.
func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// roomForTable asks the file system itself. It is for those who work in the
// background.
func (s *space) roomForTable() error {
	if s.full == 0 {
		return nil
	}
	u, err := s.fs.GetDiskUsage(s.dir)
	if err != nil || u.AvailBytes >= s.full/logsPart {
		return nil // who does not tell free space tells when there is none
	}
	return fmt.Errorf("%s are free, the last %s are kept for the log: %w", mib(u.AvailBytes), mib(s.full/logsPart), syscall.ENOSPC)
}

// condition fills in what is known of the space.
func (s *space) condition(c *store.Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Free, c.Total, c.Full = s.usage.AvailBytes, s.usage.TotalBytes, s.room()
	if s.isLow && c.Full == nil {
		c.Low = fmt.Errorf("disk is nearly full: %s are free; below %s nothing is added", mib(c.Free), mib(s.full))
	}
}
