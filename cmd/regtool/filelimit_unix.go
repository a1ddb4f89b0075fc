//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// ownFiles is how many files a master opens beside its connections: the
// database's above all.
const ownFiles = 2000

// allowFiles raises the limit on open files for so many connections, as far as
// this process may, and says what is missing.
func allowFiles(connections int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("ask for the limit on open files: %w", err)
	}
	want := uint64(connections) + ownFiles
	if limit.Cur >= want {
		return nil
	}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: want, Max: max(want, limit.Max)}) == nil {
		return nil // the superuser may go beyond the hard limit
	}
	allowed := min(want, limit.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: allowed, Max: limit.Max}); err != nil {
		return fmt.Errorf("raise the limit on open files to %d: %w", allowed, err)
	}
	if allowed < want {
		return fmt.Errorf("%d open files are needed and %d allowed: raise the hard limit (ulimit -Hn %d, or LimitNOFILE= in a systemd unit)", want, allowed, want)
	}
	return nil
}
