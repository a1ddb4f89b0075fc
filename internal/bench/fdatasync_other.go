//go:build !linux

package bench

import "os"

// fdatasync makes f durable. Systems without the call of that name get a full sync.
func fdatasync(f *os.File) error { return f.Sync() }
