package wal_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// sized is a file system that says what the test wants to be free.
type sized struct {
	vfs.FS
	free atomic.Uint64
}

func (s *sized) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: s.free.Load(), TotalBytes: 1 << 40}, nil
}

func (s *sized) Unwrap() vfs.FS { return s.FS }

func newSized(free uint64) *sized {
	s := &sized{FS: memFS()}
	s.free.Store(free)
	return s
}

func TestADiskIsFullBelowOneMarkUntilTheOtherIsClear(t *testing.T) {
	var text bytes.Buffer
	fs := newSized(1 << 40)
	l, err := wal.Create(testDir, wal.Options{FS: fs, FullBelow: 100, LowBelow: 150, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text.Reset()
	for _, step := range []struct {
		free uint64
		want string // how it is
		log  string // what is said about it
	}{
		{200, "", ""},
		{150, "", ""},
		{149, "low", "disk is nearly full"},
		{199, "low", ""},
		{200, "", "disk has room again"},
		{149, "low", "disk is nearly full"},
		{100, "low", ""},
		{99, "full", "disk is full: nothing is added until there is room, what removes is still done"},
		{149, "full", ""},
		{99, "full", ""},
		{150, "low", "disk is no longer full"},
		{100, "low", ""},
		{0, "full", "disk is full: nothing is added until there is room, what removes is still done"},
		{200, "", "disk is no longer full"},
	} {
		fs.free.Store(step.free)
		l.LookAtSpace()
		c, got := l.Condition(), ""
		switch {
		case c.Full != nil:
			got = "full"
		case c.Low != nil:
			got = "low"
		}
		if got != step.want || (l.Room() != nil) != (step.want == "full") || c.Free != step.free || c.Total != 1<<40 {
			t.Errorf("%d bytes are free: it is %q (%+v, room: %v), want %q", step.free, got, c, l.Room(), step.want)
		}
		if said := text.String(); step.log == "" && said != "" || step.log != "" && !strings.Contains(said, `msg="`+step.log) {
			t.Errorf("%d bytes are free: the log says %q, want %q", step.free, said, step.log)
		}
		text.Reset()
	}
}

func TestFullDiskSaysHowMuchIsFree(t *testing.T) {
	fs := newSized(1 << 40)
	l, err := wal.Create(testDir, wal.Options{FS: fs, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fs.free.Store(12 << 20)
	l.LookAtSpace()
	const want = "disk is full: 12.0 MiB are free; nothing is added below 64.0 MiB, and then until there are 128.0 MiB"
	if err := l.Room(); !errors.Is(err, store.ErrDiskFull) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	fs.free.Store(127 << 20)
	l.LookAtSpace()
	fs.free.Store(128 << 20)
	l.LookAtSpace()
	const low = "disk is nearly full: 128.0 MiB are free; below 64.0 MiB nothing is added"
	if c := l.Condition(); c.Full != nil || c.Low == nil || c.Low.Error() != low {
		t.Errorf("got %v and %v, want %s", c.Full, c.Low, low)
	}
}

func TestAFullDiskIsOpenedForReadingOnly(t *testing.T) {
	fs := newSized(100)
	o := wal.Options{FS: fs, FullBelow: 100, Logger: quiet}
	l, err := wal.Create(testDir, o)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fs.free.Store(99)
	if _, err := wal.Open(testDir, o); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("opened for writing: got error %v, want %v", err, store.ErrDiskFull)
	}
	if _, err := wal.Create("/data/other", o); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("created: got error %v, want %v", err, store.ErrDiskFull)
	}
	o.ReadOnly = true
	if l, err = wal.Open(testDir, o); err != nil {
		t.Fatalf("opened for reading: %v", err)
	}
	if got, err := storetest.Collect(l.Records(context.Background(), 0)); err != nil || len(got) != 3 {
		t.Errorf("got %d records and error %v, want 3", len(got), err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = false
	for _, ok := range []func(){func() { fs.free.Store(100) }, func() { fs.free.Store(0); o.FullBelow = -1 }} {
		ok()
		if l, err = wal.Open(testDir, o); err != nil {
			t.Fatalf("%d bytes free, full below %d: %v", fs.free.Load(), o.FullBelow, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// lines is a log that is written and read at once.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// count is how many lines there are with this in them.
func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// noTables is a disk that has no room for tables while full is set, and counts
// who tried.
type noTables struct {
	full  atomic.Bool
	tries atomic.Int64
}

func (n *noTables) MaybeError(op errorfs.Op) error {
	if op.Kind != errorfs.OpCreate || !strings.HasSuffix(op.Path, ".sst") {
		return nil
	}
	n.tries.Add(1)
	if n.full.Load() {
		return syscall.ENOSPC
	}
	return nil
}

func (n *noTables) String() string { return "no tables" }

// TestWhatFindsNoSpaceIsTriedAtLeisureUntilThereIs is about a quota: the file
// system has space and gives none.
func TestWhatFindsNoSpaceIsTriedAtLeisureUntilThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text lines
		disk := &noTables{}
		l, err := wal.Create(testDir, wal.Options{FS: errorfs.Wrap(newSized(1<<40), disk), Logger: text.logger()})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		appendTo(t, l, 1, 3)
		disk.full.Store(true)
		disk.tries.Store(0)
		flushed, err := l.DB().AsyncFlush()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := disk.tries.Load(); n < 60 || n > 80 {
			t.Errorf("a table was tried %d times in a minute, want about one a second", n)
		}
		if n := text.count("tries again"); n < 5 || n > 7 {
			t.Errorf("the log has %d lines of it after a minute, want one in ten seconds", n)
		}
		if err := l.Room(); !errors.Is(err, store.ErrDiskFull) {
			t.Errorf("room: got %v, want %v", err, store.ErrDiskFull)
		}
		if c := l.Condition(); !errors.Is(c.Failing, syscall.ENOSPC) || c.Failures < 60 {
			t.Errorf("it fails with %v, %d times", c.Failing, c.Failures)
		}
		appendTo(t, l, 4, 6) // what removes must be possible

		disk.full.Store(false)
		<-flushed // within a second, by itself
		time.Sleep(11 * time.Second)
		if c := l.Condition(); c.Full != nil || c.Failing != nil {
			t.Errorf("there is space: %v, %v", c.Full, c.Failing)
		}
	})
}

// TestTablesLeaveTheLastSpaceToTheLog: were a checkpoint to fill the disk, the
// next record would end the store.
func TestTablesLeaveTheLastSpaceToTheLog(t *testing.T) {
	fs := newSized(1 << 40)
	l, err := wal.Create(testDir, wal.Options{FS: fs, FullBelow: 400, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	appendTo(t, l, 1, 3)
	fs.free.Store(99)
	covers := storetest.MarkAt(3, 1)
	err = l.Compact(context.Background(), covers, slices.Values(storetest.Chunks(3)), 0)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("checkpoint: got error %v, want %v", err, syscall.ENOSPC)
	}
	if l.Room() == nil {
		t.Error("there is room")
	}
	appendTo(t, l, 4, 6)
	fs.free.Store(100)
	if err := l.Compact(context.Background(), covers, slices.Values(storetest.Chunks(3)), 0); err != nil {
		t.Errorf("checkpoint with space: %v", err)
	}
}

// asks is a log whose every line has a store asked for its condition.
type asks struct {
	slog.Handler
	t     *testing.T
	store atomic.Pointer[wal.Log] // nil: none yet
	lines atomic.Int32
}

func (a *asks) Enabled(context.Context, slog.Level) bool { return true }

func (a *asks) WithAttrs([]slog.Attr) slog.Handler { return a }

func (a *asks) Handle(_ context.Context, r slog.Record) error {
	l := a.store.Load()
	if l == nil {
		return nil
	}
	a.lines.Add(1)
	told := make(chan struct{})
	go func() {
		l.Condition()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		a.t.Errorf("the condition is told only once %q is written", r.Message)
	}
	return nil
}

// TestNobodyWaitsForWhoWritesTheLog: it may be on the disk that hangs.
func TestNobodyWaitsForWhoWritesTheLog(t *testing.T) {
	fs, a := newSized(1<<40), &asks{t: t}
	l, err := wal.Create(testDir, wal.Options{FS: fs, FullBelow: 100, LowBelow: 150, Logger: slog.New(a)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a.store.Store(l)
	fs.free.Store(99)
	l.LookAtSpace()
	l.EndPebble(errors.New("it broke"))
	a.store.Store(nil)
	if a.lines.Load() == 0 {
		t.Error("no line was written")
	}
}
