//go:build !linux

package bench

import "net"

func dialer() *net.Dialer { return new(net.Dialer) }
