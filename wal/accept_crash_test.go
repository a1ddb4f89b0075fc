package wal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// lossy is a store that lost its records 31 to 40 with Pebble's log.
type lossy struct {
	fs      *vfs.MemFS
	history store.HistoryID
}

func newLossy(t *testing.T) lossy {
	t.Helper()
	fs := memFS()
	o := wal.Options{FS: fs, Logger: quiet, WitnessEvery: -1}
	opener(t, testDir, o)
	l := mustOpen(t, o)
	appendTo(t, l, 1, 30)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, o)
	appendTo(t, l, 31, 40)
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	history := l.Identity().History
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := left.List(testDir + "/pebble")
	if err != nil {
		t.Fatal(err)
	}
	logs := slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	removeDurably(t, left, testDir+"/pebble", slices.Max(logs))
	return lossy{left, history}
}

func removeDurably(t *testing.T, fs *vfs.MemFS, dir, name string) {
	t.Helper()
	err := fs.Remove(fs.PathJoin(dir, name))
	d, e := fs.OpenDir(dir)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		t.Fatal(err)
	}
}

// copy is the same store once more.
func (s lossy) copy() *vfs.MemFS { return s.fs.CrashClone(vfs.CrashCloneCfg{}) }

// outcomes counts what an interrupted acceptance left.
type outcomes struct{ refused, halfway, accepted int }

// settle opens what an interrupted acceptance left, in every way, and
// accepts the loss if it was not yet.
func (s lossy) settle(fs *vfs.MemFS, n *outcomes) error {
	o := wal.Options{FS: fs, Logger: quiet, WitnessEvery: -1}
	halfway, err := s.names(fs)
	if err != nil {
		return err
	}
	var history store.HistoryID // once it was seen
	for _, c := range []struct{ readOnly, accept bool }{{true, false}, {false, false}, {true, true}, {false, true}, {true, false}} {
		o.ReadOnly, o.AcceptLoss = c.readOnly, c.accept
		l, err := wal.Open(testDir, o)
		if errors.As(err, new(*wal.LostRecordsError)) && !c.accept && history == (store.HistoryID{}) {
			halfway = false
			n.refused++
			continue
		}
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		if err := l.AwaitWriting(); err != nil && !c.readOnly {
			return fmt.Errorf("%+v: %w", c, err)
		}
		id := l.Identity()
		if err := errors.Join(wantRecordsTo(l, 30), l.Close()); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		if c.readOnly && c.accept && id.History == s.history && history == (store.HistoryID{}) {
			continue // it was looked at, and not accepted
		}
		if id.History == s.history || !slices.Equal(id.Earlier, []store.Earlier{{History: s.history, Until: 30}}) {
			return fmt.Errorf("%+v: it opens with the identity %+v, without a trace of the loss", c, id)
		}
		if history != (store.HistoryID{}) && history != id.History {
			return fmt.Errorf("%+v: the history changed from %s to %s", c, history, id.History)
		}
		history = id.History
	}
	if n.accepted++; halfway {
		n.halfway++
	}
	return s.goesOn(fs, history)
}

// names reports whether STORE names the history that ended.
func (s lossy) names(fs *vfs.MemFS) (bool, error) {
	f, err := fs.Open(testDir + "/STORE")
	if err != nil {
		return false, err
	}
	b := make([]byte, 200)
	n, err := f.Read(b)
	return strings.Contains(string(b[:n]), fmt.Sprintf("%x", s.history[:])), errors.Join(err, f.Close())
}

// goesOn checks that the store is like any other from here on.
func (s lossy) goesOn(fs *vfs.MemFS, history store.HistoryID) error {
	if old, err := s.names(fs); err != nil || old {
		return fmt.Errorf("STORE names the history that ended: %v; %w", old, err)
	}
	o := wal.Options{FS: fs, Logger: quiet, WitnessEvery: -1}
	l, err := wal.Open(testDir, o)
	if err != nil {
		return err
	}
	durable, err := l.Append(storetest.Rec(31, 1, 700))
	if err == nil {
		err = durable()
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	for _, fs := range []*vfs.MemFS{left, fs} {
		o.FS = fs
		l, err := wal.Open(testDir, o)
		if err != nil {
			return err
		}
		id := l.Identity()
		if err := errors.Join(wantRecordsTo(l, 31), l.Close()); err != nil || id.History != history {
			return fmt.Errorf("history %s, want %s; %w", id.History, history, err)
		}
	}
	var findings []wal.Finding
	err = wal.Check(context.Background(), testDir, o, func(f wal.Finding) { findings = append(findings, f) }, nil)
	if err == nil && (len(findings) != 1 || findings[0].Severity != wal.SeverityNote) {
		err = fmt.Errorf("findings %+v, want the loss", findings)
	}
	return err
}

// TestAcceptingALossSurvivesCrashes crashes at every write of it, or, under the
// race detector, at every few.
func TestAcceptingALossSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for name, noWitness := range map[string]bool{"records": false, "the witness too": true} {
		t.Run(name, func(t *testing.T) {
			s := newLossy(t)
			if noWitness {
				removeDurably(t, s.fs, testDir, "WITNESS")
			}
			var n outcomes
			at := int64(1)
			for ; ; at += eachWrite {
				fs := s.copy()
				c := &crashAt{fs: fs, rng: newRNG(uint64(at)), w: &workload{}}
				c.left.Store(at)
				l, err := wal.Open(testDir, wal.Options{FS: errorfs.Wrap(fs, c), Logger: quiet, AcceptLoss: true})
				if err == nil {
					err = errors.Join(l.AwaitWriting(), l.Close())
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.clone == nil {
					break
				}
				if err := s.settle(c.clone, &n); err != nil {
					t.Fatalf("crash at write %d: %v", at, err)
				}
			}
			t.Logf("%d writes: %+v", at, n)
			if n.refused == 0 || n.halfway == 0 || n.accepted == n.halfway {
				t.Fatalf("%+v of %d writes: this test proves nothing", n, at)
			}
		})
	}
}

// TestAcceptingALossSurvivesABrokenDisk breaks the disk at the same writes,
// once or for good.
func TestAcceptingALossSurvivesABrokenDisk(t *testing.T) {
	t.Parallel()
	s := newLossy(t)
	var n outcomes
	failed := 0
	for at, lasts := int64(1), false; ; at, lasts = at+eachWrite, !lasts {
		fs := s.copy()
		f := &fault{err: syscall.ENOSPC, lasts: lasts}
		f.left.Store(at)
		l, err := wal.Open(testDir, wal.Options{FS: errorfs.Wrap(fs, f), Logger: quiet, AcceptLoss: true})
		if err == nil {
			err = l.AwaitWriting()
			_ = l.Close() // it may fail, that late
		}
		if err != nil {
			failed++
		}
		if f.hit.Load() == nil {
			break
		}
		if err := s.settle(fs, &n); err != nil {
			t.Fatalf("write %d fails (for good: %v) with %v: %v", at, f.lasts, f.hit.Load(), err)
		}
	}
	t.Logf("%+v, %d openings failed", n, failed)
	if failed == 0 || n.refused == 0 || n.accepted == 0 {
		t.Fatalf("%+v, %d openings failed: this test proves nothing", n, failed)
	}
}
