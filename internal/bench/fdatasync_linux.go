package bench

import (
	"os"
	"syscall"
)

// fdatasync makes the content of f durable, and of its metadata only what
// reading it back needs, as Pebble does.
func fdatasync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
