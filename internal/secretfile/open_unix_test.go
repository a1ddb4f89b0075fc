//go:build unix

package secretfile

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAPipeIsRefusedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(path); text != nil || err == nil || err.Error() != path+" is not a file" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAFileOfSomebodyElseMayBeOpenToAGroup(t *testing.T) {
	for _, c := range []struct {
		mode         fs.FileMode
		own, foreign bool // too open
	}{
		{0o600, false, false}, {0o440, true, false}, {0o640, true, false}, {0o444, true, true}, {0o602, true, true},
	} {
		if own, foreign := opened(c.mode, false), opened(c.mode, true); own != c.own || foreign != c.foreign {
			t.Errorf("mode %04o: too open is %v of ours and %v of others, want %v and %v", c.mode, own, foreign, c.own, c.foreign)
		}
	}
}
