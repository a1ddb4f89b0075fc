package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// large makes a registry that takes a while to back up, and a backup of it.
func large(t *testing.T) (dir, file string) {
	t.Helper()
	parent := t.TempDir()
	dir, file = filepath.Join(parent, "registry"), filepath.Join(parent, "good.backup")
	l, err := wal.Create(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := openStore(t.Context(), l, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{1})
	for i := range 3000 {
		a := registry.Agent{ID: registry.AgentID(fmt.Sprint("a", i)), Payload: make([]byte, 2000)} // nothing to compress
		random.Read(a.Payload)
		if _, err := r.Submit(ops.Admit{Agent: a}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	runTool(t, "backup", "--dir", dir, file)
	return dir, file
}

func runTool(t *testing.T, args ...string) {
	t.Helper()
	var out, trouble strings.Builder
	if code := run(t.Context(), args, strings.NewReader(""), &out, &trouble); code != exitFine {
		t.Fatalf("regtool %v: exit code %d, %s", args, code, trouble.String())
	}
}

// endedAt runs the tool in a process of its own, sends it a signal once a file
// that matches pattern has grown to n bytes, unless it ends before, and waits for
// its end.
func endedAt(t *testing.T, how os.Signal, pattern string, n int64, args ...string) {
	t.Helper()
	tool := exec.Command(filepath.Join(toolDir(t), "regtool"), args...)
	if err := tool.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tool.Wait()
	}()
	for {
		select {
		case <-ended:
			return
		default:
		}
		if grown(pattern, n) {
			tool.Process.Signal(how)
			<-ended
			return
		}
		runtime.Gosched()
	}
}

func grown(pattern string, n int64) bool {
	found, _ := filepath.Glob(pattern)
	for _, path := range found {
		if s, err := os.Stat(path); err == nil && (s.IsDir() || s.Size() >= n) {
			return true
		}
	}
	return false
}

var endings = []os.Signal{syscall.SIGKILL, os.Interrupt}

func TestAKilledBackupLeavesAWholeFileOrNone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ends many processes that are at work on a large registry")
	}
	dir, good := large(t)
	s, err := os.Stat(good)
	if err != nil {
		t.Fatal(err)
	}
	none := 0
	for i := range 12 {
		out := filepath.Join(filepath.Dir(dir), fmt.Sprintf("%d.backup", i))
		endedAt(t, endings[i%2], out+unfinishedMark, s.Size()*int64(i)/10, "backup", "--dir", dir, out)
		if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
			none++
			if _, err := os.Stat(out + unfinishedMark); i%2 == 1 && err == nil {
				t.Error("an interrupted backup leaves its file behind")
			}
			runTool(t, "backup", "--dir", dir, out)
		}
		runTool(t, "verify", out)
		if left, _ := filepath.Glob(out + "?*"); len(left) > 0 {
			t.Errorf("%v is left behind", left)
		}
	}
	t.Logf("%d of 12 were ended early", none)
	if none == 0 {
		t.Error("no backup was ended before it was done")
	}
}

func TestAKilledRestorationLeavesAWholeRegistryOrNone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ends many processes that are at work on a large registry")
	}
	original, file := large(t)
	none := 0
	for i, within := range []string{"", "", "/CREATING", "/pebble", "/WITNESS", "/STORE", "/STORE", "/CHECKPOINT.new", "/pebble/*.sst", "/pebble/*.log"} {
		dir := filepath.Join(filepath.Dir(original), fmt.Sprintf("restored-%d", i))
		endedAt(t, endings[i%2], dir+restoreMark+"*"+within, 1, "restore", file, "--dir", dir)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			none++
			if left, _ := filepath.Glob(dir + "?*"); i%2 == 1 && len(left) > 0 {
				t.Errorf("an interrupted restoration leaves %v behind", left)
			}
			runTool(t, "restore", file, "--dir", dir)
		}
		runTool(t, "check", "--dir", dir)
		if left, _ := filepath.Glob(dir + "?*"); len(left) > 0 {
			t.Errorf("%v is left behind", left)
		}
	}
	t.Logf("%d of 10 were ended early", none)
	if none == 0 {
		t.Error("no restoration was ended before it was done")
	}
}

func TestTwoBackupsDoNotWriteOneFile(t *testing.T) {
	dir, file := large(t)
	out := filepath.Join(filepath.Dir(file), "other.backup")
	first, err := createNew(out)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, trouble strings.Builder
	code := run(t.Context(), []string{"backup", "--dir", dir, out}, nil, &stdout, &trouble)
	want := fmt.Sprintf("regtool backup: back up %s: another process is writing %s.unfinished; no backup was made\n", dir, out)
	if code != exitFailed || trouble.String() != want {
		t.Errorf("exit code %d, %s", code, trouble.String())
	}
	if err := first.name(); err != nil {
		t.Error(err)
	}
}

// brokenPipe takes so many bytes.
type brokenPipe struct{ left int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

func TestAStreamThatBreaksIsNoBackup(t *testing.T) {
	dir, _ := large(t)
	var trouble strings.Builder
	code := run(t.Context(), []string{"backup", "--dir", dir, "-"}, nil, &brokenPipe{100_000}, &trouble)
	if code != exitFailed || !strings.Contains(trouble.String(), "broken pipe; what was sent is no backup\n") {
		t.Errorf("exit code %d, %s", code, trouble.String())
	}
}

// TestABackupOfAProcessRests three times as long as it works, unless it waited.
func TestABackupOfAProcessRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &resting{ctx, time.Now()}
		rests := func(work, want time.Duration) {
			t.Helper()
			time.Sleep(work)
			start := time.Now()
			r.Write(nil)
			if got := time.Since(start); got != want {
				t.Errorf("after %v it rests for %v, want %v", work, got, want)
			}
		}
		rests(2*time.Millisecond, 6*time.Millisecond)
		rests(time.Minute, longestRest)
		cancel()
		rests(2*time.Millisecond, 0)
	})
}
