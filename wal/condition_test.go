package wal_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/wal"
)

// slowWitness makes whoever writes the witness wait while it is armed.
type slowWitness struct {
	armed atomic.Bool
	until chan struct{}
}

func (s *slowWitness) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileWriteAt && strings.HasSuffix(op.Path, "WITNESS") && s.armed.Load() {
		<-s.until
	}
	return nil
}

func (s *slowWitness) String() string { return "slow witness" }

func TestConditionKnowsHowFarTheWitnessIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowWitness{until: make(chan struct{})}
		l, err := wal.Create(testDir, wal.Options{FS: errorfs.Wrap(memFS(), s), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		want := func(records uint64, behind time.Duration) {
			t.Helper()
			c := l.Condition()
			if c.UnwitnessedRecords != records || c.WitnessBehind != behind {
				t.Errorf("%d records, %v behind, want %d, %v", c.UnwitnessedRecords, c.WitnessBehind, records, behind)
			}
		}
		want(0, 0)
		appendTo(t, l, 1, 10)
		time.Sleep(time.Second)
		want(0, 0)
		time.Sleep(time.Hour) // of idleness, which is no lag
		s.armed.Store(true)
		appendTo(t, l, 11, 12)
		time.Sleep(3 * time.Second)
		want(2, 3*time.Second)
		s.armed.Store(false)
		close(s.until)
		time.Sleep(time.Second)
		want(0, 0)
	})
}

func TestConditionOfALogForReadingSaysWhatIsFree(t *testing.T) {
	fs := newSized(200)
	o := wal.Options{FS: fs, FullBelow: 100, Logger: quiet}
	l, err := wal.Create(testDir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fs.free.Store(99)
	var text lines
	o.ReadOnly, o.Logger = true, text.logger()
	if l, err = wal.Open(testDir, o); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if c := l.Condition(); c.Free != 99 || c.Full == nil {
		t.Errorf("got %+v", c)
	}
	if n := text.count("disk"); n > 0 {
		t.Errorf("the log has %d lines of it", n)
	}
}
