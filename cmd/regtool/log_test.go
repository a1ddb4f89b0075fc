package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogFollows has one command follow a registry while others write to it,
// each of which locks the directory for a while.
func TestLogFollows(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int)
	go func() { code <- run(ctx, []string{"log", "--dir", dir, "--follow"}, nil, in, io.Discard) }()
	lines := bufio.NewScanner(out)
	wantLine(t, lines, "REVISION")
	for i, reason := range []string{"first", "second"} {
		admitted := string(rune('a' + i))
		for code := exitFailed; code != exitFine; { // again while the follower reads
			var stderr string
			if code, _, stderr = call(t, t.Context(), "apply", "admit", "--dir", dir, "--id", admitted, "--reason", reason); code != exitFine && !strings.Contains(stderr, "in use") {
				t.Fatal(stderr)
			}
		}
		wantLine(t, lines, reason)
	}
	cancel()
	if got := <-code; got != exitFine {
		t.Errorf("interrupted, it exits with %d", got)
	}
}

func wantLine(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	if !lines.Scan() || !strings.Contains(lines.Text(), text) {
		t.Fatalf("line is %q, want one with %q", lines.Text(), text)
	}
}

// TestLogSaysThatWhatItToldIsNoLongerSo loses records that were told, and has
// their numbers given out again.
func TestLogSaysThatWhatItToldIsNoLongerSo(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	put := func(more ...string) {
		t.Helper()
		args := append([]string{"put", "--dir", dir, "t", "k", "--reason", "test"}, more...)
		if code, _, stderr := call(t, t.Context(), args...); code != exitFine {
			t.Fatal(stderr)
		}
	}
	put("one")
	older := filepath.Join(t.TempDir(), "pebble")
	if err := os.CopyFS(older, os.DirFS(dir+"/pebble")); err != nil {
		t.Fatal(err)
	}
	put("two")
	cmd := newLogCommand()
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	var out strings.Builder
	log := &logCommand{cmd: cmd, out: bufio.NewWriter(&out), reading: reading{dir: dir}, to: math.MaxUint64}
	if err := log.print(t.Context()); err != nil || !strings.Contains(out.String(), "t k set") {
		t.Fatalf("%v, told %s", err, out.String())
	}
	if err := errors.Join(os.RemoveAll(dir+"/pebble"), os.CopyFS(dir+"/pebble", os.DirFS(older))); err != nil {
		t.Fatal(err)
	}
	put("three", "--accept-loss")
	if err := log.print(t.Context()); err == nil || !strings.Contains(err.Error(), "goes on with history") {
		t.Errorf("error is %v, told %s", err, out.String())
	}
}
