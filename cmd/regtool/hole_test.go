package main

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/wal"
)

// TestARegistryIsSoundOnceALossWithAHoleIsAccepted: the end of the log is lost,
// and the newest checkpoint outlives the records before it.
func TestARegistryIsSoundOnceALossWithAHoleIsAccepted(t *testing.T) {
	dir := killedAfterLives(t, 4)
	logs, err := filepath.Glob(filepath.Join(dir, "pebble", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	newest := slices.Max(logs)
	b, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/4] ^= 1
	if err := os.WriteFile(newest, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string // want is in what it prints
		code       int
	}{
		{"check", " are missing; what was in the registry then is in checkpoint 120", exitFailed},
		{"put --accept-loss --reason r t new v", "revision 1000000117", 0},
		{"check", "sound: revision 1000000117", 0},
		{"check --deep", "sound: revision 1000000117", 0},
		{"status", "accepted    a loss was accepted, ", 0}, // which is no reason to look after it
		{"log", "1000000117 ", 0},
		{"inspect registry", "121 to 122, of which 2 are replayed", 0},
	} {
		args := strings.Fields(c.args)
		code, stdout, stderr := call(t, t.Context(), append([]string{args[0]}, append(args[1:], "--dir", dir)...)...)
		if code != c.code || !strings.Contains(stdout, c.want) {
			t.Errorf("%s: exit code %d, stdout %s, stderr %s; want %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

// killedAfterLives is a registry that was opened so many times, each for 30
// puts with a checkpoint after the 6th and the 26th, and then killed.
func killedAfterLives(t *testing.T, lives int) (dir string) {
	t.Helper()
	live, dir := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "killed")
	if l, err := wal.Create(live, wal.Options{}); err != nil || l.Close() != nil {
		t.Fatal(err)
	}
	for life := range lives {
		quiet := slog.New(slog.DiscardHandler)
		r, err := openDir(t.Context(), live, wal.Options{Logger: quiet, WitnessEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			put := ops.Put{Table: "t", Key: fmt.Sprint(life, " ", i), Value: strings.Repeat("v", 500)}
			if _, err := r.Apply(t.Context(), put); err != nil {
				t.Fatal(err)
			}
			if i == 5 || i == 25 {
				if err := r.Checkpoint(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if life == lives-1 {
			copyInUse(t, live, dir)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// copyInUse copies a registry as SIGKILL leaves it; anew if files came or went
// meanwhile.
func copyInUse(t *testing.T, from, to string) {
	t.Helper()
	names := func() []string {
		list, err := filepath.Glob(filepath.Join(from, "pebble", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for {
		before := names()
		if err := os.CopyFS(to, copyable{os.DirFS(from)}); err == nil && slices.Equal(before, names()) {
			return
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// copyable is a directory without its socket, of which there is no copy.
type copyable struct{ fs.FS }

func (c copyable) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(c.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool { return d.Type() == fs.ModeSocket }), err
}
