package live

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// mayRead refuses who is neither the user that this process runs as nor root,
// who may read the files anyway.
func mayRead(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return allowed(peer.Uid, uint32(os.Geteuid()))
}

func allowed(peer, self uint32) error {
	if peer == self || peer == 0 {
		return nil
	}
	return fmt.Errorf("user %d may not read what user %d has open", peer, self)
}
