package wal_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// TestNoRecordFollowsOneThatCouldNotBeApplied: record 13 of 11 to 15, all of
// them queued, fails. What came before it is there, and nothing after it, for
// a log with a gap could not be read again.
func TestNoRecordFollowsOneThatCouldNotBeApplied(t *testing.T) {
	gaveUp := errors.New("gave up")
	for name, c := range map[string]struct {
		spoil func(*wal.Log) *pebble.Batch
		last  int // record that is in the log afterwards
	}{
		"a panic":  {func(l *wal.Log) *pebble.Batch { return alreadyApplied(t, l) }, 12},
		"an error": {func(*wal.Log) *pebble.Batch { return malformed(t) }, 12},
		"Pebble ended before": {func(l *wal.Log) *pebble.Batch {
			l.GiveUp(gaveUp)
			return l.DB().NewBatch()
		}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			o := wal.Options{FS: memFS(), Logger: quiet}
			l, err := wal.Create(testDir, o)
			if err != nil {
				t.Fatal(err)
			}
			appendTo(t, l, 1, 10)
			var queued []store.Record
			for seq := uint64(11); seq <= 15; seq++ {
				queued = append(queued, storetest.Rec(seq, 1, 700))
			}
			errs := l.ApplyQueued(queued, 2, func() *pebble.Batch { return c.spoil(l) })
			for i, err := range errs {
				if seq := 11 + i; (err == nil) != (seq <= c.last) || err != nil && !errors.Is(err, errs[2]) {
					t.Errorf("record %d: got error %v, that of record 13 is %v", seq, err, errs[2])
				}
			}
			_ = l.Close() // Pebble gave up
			wantRecords(t, o, c.last)
		})
	}
}

// alreadyApplied is a batch that makes Pebble panic.
func alreadyApplied(t *testing.T, l *wal.Log) *pebble.Batch {
	t.Helper()
	b := l.DB().NewBatch()
	if err := errors.Join(b.Delete([]byte("x"), nil), b.Commit(pebble.Sync)); err != nil {
		t.Fatal(err)
	}
	return b
}

// malformed is a batch that Pebble refuses: one entry of a kind there is not.
func malformed(t *testing.T) *pebble.Batch {
	t.Helper()
	b := new(pebble.Batch)
	if err := b.SetRepr([]byte{7: 0, 8: 1, 12: 0xee, 13: 0}); err != nil {
		t.Fatal(err)
	}
	return b
}

// wantRecords opens the store afresh, to write too, and reads records 1 to last.
func wantRecords(t *testing.T, o wal.Options, last int) {
	t.Helper()
	l, err := wal.Open(testDir, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := storetest.Collect(l.Records(context.Background(), 0))
	if err := errors.Join(err, l.Close()); err != nil || len(got) != last {
		t.Fatalf("got %d records and error %v afterwards, want %d", len(got), err, last)
	}
	for i, r := range got {
		if r.Seq != uint64(i+1) {
			t.Fatalf("record %d is at place %d", r.Seq, i+1)
		}
	}
}

// slowLogs makes whoever starts a log file wait, once it is armed.
type slowLogs struct {
	armed    atomic.Bool
	entered  chan struct{}
	released chan struct{}
}

func (s *slowLogs) MaybeError(op errorfs.Op) error {
	starts := op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite
	if starts && strings.HasSuffix(op.Path, ".log") && s.armed.CompareAndSwap(true, false) {
		close(s.entered)
		<-s.released
	}
	return nil
}

func (s *slowLogs) String() string { return "slow logs" }

// TestAnUnknownOutcomeStaysUnknown: Pebble ends while the appender is inside
// it, the record's caller is told so, and then the appender comes back with
// good news.
func TestAnUnknownOutcomeStaysUnknown(t *testing.T) {
	t.Parallel()
	s := &slowLogs{entered: make(chan struct{}), released: make(chan struct{})}
	l, err := wal.Create(testDir, wal.Options{FS: errorfs.Wrap(vfs.NewMem(), s), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1, 1)
	s.armed.Store(true)
	durable, seq := appendUntil(t, l, s.entered)
	reason := errors.New("gave up")
	l.GiveUp(reason)
	if err := durable(); !errors.Is(err, reason) {
		t.Fatalf("record %d: got error %v, want %v", seq, err, reason)
	}
	close(s.released)
	l.AwaitAppender()
	if err := durable(); !errors.Is(err, reason) {
		t.Errorf("record %d, asked again: got error %v, want %v", seq, err, reason)
	}
	_ = l.Close() // Pebble gave up
}

// TestNoRecordIsDurableBehindOneThatMayNotBe: whatever Pebble says of it.
func TestNoRecordIsDurableBehindOneThatMayNotBe(t *testing.T) {
	l, err := wal.Create(testDir, wal.Options{FS: vfs.NewMem(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1, 1)
	broken := errors.New("broken")
	for i, outcome := range []error{broken, nil} {
		seq := uint64(i + 2)
		if err := l.Settle(storetest.MarkAt(seq, 1), outcome); !errors.Is(err, broken) {
			t.Errorf("record %d: got error %v, want %v", seq, err, broken)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// appendUntil appends large records one by one, until one is held up in
// Pebble. It returns that one.
func appendUntil(t *testing.T, l *wal.Log, held <-chan struct{}) (func() error, uint64) {
	t.Helper()
	for seq := uint64(2); seq < 100; seq++ {
		durable, err := l.Append(storetest.Rec(seq, 1, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		outcome := make(chan error, 1)
		go func() { outcome <- durable() }()
		select {
		case <-held:
			return durable, seq
		case err := <-outcome:
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatal("no log file was started for 100 MiB")
	return nil, 0
}
