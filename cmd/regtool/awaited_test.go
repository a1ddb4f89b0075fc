package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// TestInterruptEndsACommandThatAwaitsInput interrupts commands whose standard
// input says nothing and does not end.
func TestInterruptEndsACommandThatAwaitsInput(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"import", "--dir", dir, "-"},
		{"verify", "-"},
		{"restore", "-", "--dir", filepath.Join(dir, "new")},
		{"apply", "admit", "--dir", dir, "--file", "-", "--reason", "test"},
	} {
		in, silent := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		asked := &tell{in, make(chan struct{})}
		var stderr bytes.Buffer
		code := make(chan int)
		go func() { code <- run(ctx, args, asked, io.Discard, &stderr) }()
		<-asked.once
		cancel()
		if got := <-code; got != exitFailed || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%v: exit code %d, stderr %q", args, got, stderr.String())
		}
		silent.Close()
	}
}

// tell is a reader that tells when it was first asked.
type tell struct {
	io.Reader
	once chan struct{}
}

func (r *tell) Read(p []byte) (int, error) {
	close(r.once)
	return r.Reader.Read(p)
}
