package live

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestAnotherUserIsRefused though the modes would let him in.
func TestAnotherUserIsRefused(t *testing.T) {
	for _, c := range []struct {
		peer, self uint32
		want       bool
	}{{7, 7, true}, {0, 7, true}, {8, 7, false}, {7, 0, false}} {
		if err := allowed(c.peer, c.self); (err == nil) != c.want {
			t.Errorf("user %d of a process of user %d: %v", c.peer, c.self, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user, too")
	}
	dir := t.TempDir()
	served(t, dir, patientTest)
	for path := dir; len(path) > len(os.TempDir()); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, SocketName), 0o666); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it: the thread ends with this
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0)); err != 0 {
			t.Error(err)
			return
		}
		c, err := dial(t.Context(), dir)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if got := says(t, c); !strings.Contains(got, "user 65534 may not read what user 0 has open") {
			t.Errorf("it is told %q", got)
		}
	}()
	<-done
}
