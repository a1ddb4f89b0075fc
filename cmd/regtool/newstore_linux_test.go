package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAnEmptyDirectoryOfAnotherUserIsLeftToHim: what takes its place could not be
// opened by him.
func TestAnEmptyDirectoryOfAnotherUserIsLeftToHim(t *testing.T) {
	original, file := large(t)
	parent := filepath.Dir(original)
	dir, export := filepath.Join(parent, "his"), filepath.Join(parent, "export.json")
	var exported, trouble strings.Builder
	if code := run(t.Context(), []string{"export", "--dir", original, "--format", "mesos"}, nil, &exported, &trouble); code != exitFine {
		t.Fatal(trouble.String())
	}
	if err := os.WriteFile(export, []byte(exported.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	const him = 12345
	if err := os.Chown(dir, him, -1); err != nil {
		t.Skipf("a directory cannot be given to another user here (it takes root): %v", err)
	}
	for _, args := range [][]string{{"restore", file, "--dir", dir}, {"import", "--dir", dir, export}} {
		var out, trouble strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), &out, &trouble); code != exitFailed ||
			!strings.Contains(trouble.String(), "his belongs to user 12345, and what user 0 makes could not be opened by him: run this as user 12345; no registry was made") {
			t.Errorf("%v: exit code %d, %s", args, code, trouble.String())
		}
	}
	i, err := os.Stat(dir)
	if err != nil || i.Sys().(*syscall.Stat_t).Uid != him || i.Mode().Perm() != 0o750 {
		t.Errorf("the directory is %v, %v", i, err)
	}
	if left, _ := filepath.Glob(dir + "?*"); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

func TestAMountPointIsRefusedBeforeTheWork(t *testing.T) {
	if err := replaceable("/proc"); err == nil || !strings.Contains(err.Error(), "/proc is a mount point") {
		t.Errorf("got %v", err)
	}
}
