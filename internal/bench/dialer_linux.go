package bench

import (
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

var dialed atomic.Uint32

// dialer makes connections from sixteen addresses in turn. From one, the system
// looks for a free port longer and longer: with 17,000 of 28,000 taken that is
// half of all the time there is.
func dialer() *net.Dialer {
	return &net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+dialed.Add(1)%16))},
		Control: func(_, _ string, c syscall.RawConn) error {
			var err error
			later := func(fd uintptr) { // the port is chosen when it is known for which connection
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
			}
			if controlled := c.Control(later); controlled != nil {
				return controlled
			}
			return err
		},
	}
}
