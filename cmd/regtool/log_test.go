package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// followed is a registry in a directory, and a command that tells its log piece
// by piece, as log --follow does.
type followed struct {
	t   *testing.T
	dir string
	log *logCommand
	out strings.Builder
}

func newFollowed(t *testing.T) *followed {
	t.Helper()
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := newLogCommand()
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	f := &followed{t: t, dir: dir}
	f.log = &logCommand{cmd: cmd, out: bufio.NewWriter(&f.out), reading: reading{dir: dir}, to: math.MaxUint64}
	return f
}

func (f *followed) put(value string, more ...string) {
	f.t.Helper()
	args := append([]string{"put", "--dir", f.dir, "t", "k", value, "--reason", value}, more...)
	if code, _, stderr := call(f.t, f.t.Context(), args...); code != exitFine {
		f.t.Fatal(stderr)
	}
}

// tells looks once, and wants to be told this.
func (f *followed) tells(reasons ...string) {
	f.t.Helper()
	f.out.Reset()
	if err := f.log.print(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(f.out.String()) {
		words := strings.Fields(line)
		got = append(got, words[len(words)-1])
	}
	if !slices.Equal(got, reasons) {
		f.t.Fatalf("told %q, want %q", got, reasons)
	}
}

// ends looks once, and wants an error with this text and to be told nothing.
func (f *followed) ends(text string) {
	f.t.Helper()
	f.out.Reset()
	if err := f.log.print(f.t.Context()); err == nil || !strings.Contains(err.Error(), text) || f.out.Len() > 0 {
		f.t.Errorf("error is %v, told %q; want %q and to be told nothing", err, f.out.String(), text)
	}
}

// backup copies a part of the directory, and returns what puts it back.
func (f *followed) backup(part string) (putBack func()) {
	f.t.Helper()
	older, here := filepath.Join(f.t.TempDir(), "copy"), filepath.Join(f.dir, part)
	if err := os.CopyFS(older, os.DirFS(here)); err != nil {
		f.t.Fatal(err)
	}
	return func() {
		f.t.Helper()
		if err := errors.Join(os.RemoveAll(here), os.CopyFS(here, os.DirFS(older))); err != nil {
			f.t.Fatal(err)
		}
	}
}

// Records that were told are lost, and their numbers given out again.
func TestLogSaysThatWhatItToldIsNoLongerSo(t *testing.T) {
	f := newFollowed(t)
	f.put("one")
	putBack := f.backup("pebble")
	f.put("two")
	f.tells("one", "two")
	putBack()
	f.put("three", "--accept-loss")
	f.ends("since a loss of records was accepted: what was told of history ")
}

func TestLogNoticesABackupThatWasPutBack(t *testing.T) {
	for name, c := range map[string]struct {
		before, after, since []string // the backup; told after it; written to what was put back
		want                 string
	}{
		"and not written to": {[]string{"one"}, []string{"two"}, nil,
			"the store was replaced by another, or by a copy of its own past: there is no record 4; what was told is not all so any more; run this again"},
		"and written to for a while": {[]string{"one"}, []string{"two", "three"}, []string{"four"},
			"copy of its own past: there is no record 6; "},
		"and written to until it is as long": {[]string{"one"}, []string{"two"}, []string{"three"},
			"copy of its own past: it was of epoch 2, with digest "},
		"and written to until it is longer": {[]string{"one"}, []string{"two"}, []string{"three", "four"},
			"copy of its own past: it was of epoch 2, with digest "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFollowed(t)
			for _, value := range c.before {
				f.put(value)
			}
			putBack := f.backup(".")
			for _, value := range c.after {
				f.put(value)
			}
			f.tells(slices.Concat(c.before, c.after)...)
			putBack()
			for _, value := range c.since {
				f.put(value)
			}
			f.ends(c.want)
		})
	}
}

func TestLogGoesOnInACopyThatHasAllThatWasTold(t *testing.T) {
	f := newFollowed(t)
	f.put("one")
	f.tells("one")
	putBack := f.backup(".")
	f.put("two")
	putBack()
	f.tells()
	f.put("three")
	f.tells("three")
}

func TestLogNoticesAnotherRegistry(t *testing.T) {
	f, other := newFollowed(t), newFollowed(t)
	f.put("one")
	f.tells("one")
	other.put("one")
	if err := errors.Join(os.RemoveAll(f.dir), os.Rename(other.dir, f.dir)); err != nil {
		t.Fatal(err)
	}
	f.ends("was replaced by another registry, of history ")
}
