package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/wal"
)

// call runs the tool in this process.
func call(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, trouble bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &out, &trouble)
	return code, out.String(), trouble.String()
}

func newStore(t *testing.T) (dir string, open *wal.Log) {
	t.Helper()
	dir = t.TempDir() + "/registry"
	l, err := wal.Create(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return dir, l
}

func TestArgumentsDoNotReachTheTerminal(t *testing.T) {
	code, _, stderr := call(t, t.Context(), "\x1b[2Jinspect")
	if code != exitUsage || strings.ContainsRune(stderr, '\x1b') {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	code, _, stderr = call(t, t.Context(), "check", "--dir", "no\x1b[2Jwhere")
	if code != exitFailed || strings.ContainsRune(stderr, '\x1b') {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestRegistryInUseIsNotWrittenTo(t *testing.T) {
	dir, _ := newStore(t)
	for _, args := range [][]string{
		{"apply", "remove", "--id", "a1", "--reason", "test"},
		{"put", "t", "k", "v", "--reason", "test"}, {"delete", "t", "k", "--reason", "test"},
	} {
		code, stdout, stderr := call(t, t.Context(), append(args, "--dir", dir)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, dir) || !strings.Contains(stderr, wal.ErrLocked.Error()) ||
			!strings.Contains(stderr, "stop the program that has it open first") {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}

func TestInterruptEndsACommand(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	code, _, stderr := call(t, ctx, "apply", "admit", "--dir", dir, "--id", "a1", "--reason", "test")
	if code != exitFailed || !strings.Contains(stderr, "context canceled") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	code, stdout, stderr := call(t, t.Context(), "inspect", "--dir", dir)
	if code != exitFine || !strings.Contains(stdout, "entries") {
		t.Errorf("afterwards: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestReportThatCannotBeWrittenIsTold(t *testing.T) {
	dir := t.TempDir() + "/registry"
	input := t.TempDir() + "/input.json"
	if err := os.WriteFile(input, []byte(`{"slaves":[{"id":"a1","hostname":"h","port":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"write the help: no space left", []string{"--help"}},
		{"write the help: no space left", []string{"help", "apply"}},
		{"imported: " + dir + " is at revision 1, but the report could not be written", []string{"import", "--dir", dir, input}},
		{"applied at revision 2, but the report could not be written", []string{"apply", "deactivate", "--dir", dir, "--id", "a1", "--reason", "test"}},
		{"nothing to change at revision 2, but the report could not be written", []string{"apply", "deactivate", "--dir", dir, "--id", "a1", "--reason", "test", "--json"}},
	} {
		var trouble bytes.Buffer
		code := run(t.Context(), c.args, strings.NewReader(""), fullDisk{}, &trouble)
		if code != exitFailed || !strings.Contains(trouble.String(), c.want) {
			t.Errorf("%v: exit code %d, stderr %q, want %d and %q", c.args, code, trouble.String(), exitFailed, c.want)
		}
	}
}
