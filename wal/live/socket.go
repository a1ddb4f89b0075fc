package live

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// SocketName is the file in the store's directory.
const SocketName = "SOCKET"

const socketNew = "SOCKET.new" // until it is its owner's alone

// longestPath is what every system takes for the path of a socket.
const longestPath = 103

// errLongPath is for a system that has no other name for a file than its path.
var errLongPath = fmt.Errorf("its path is longer than the %d bytes that a socket's may have", longestPath)

// reach calls f with a path by which a file in dir can be bound or connected to:
// where the right one is too long, Linux has another for a directory that is open.
func reach(dir, name string, f func(path string) error) error {
	path := filepath.Join(dir, name)
	if len(path) <= longestPath {
		return f(path)
	}
	if runtime.GOOS != "linux" {
		return errLongPath
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(filepath.Join("/proc/self/fd", strconv.Itoa(int(d.Fd())), name))
}

// listen makes the socket. It takes the place of one that a killed process has
// left: nobody listens on that, for who calls holds the store's lock. A file of
// another kind is left alone. No moment has a socket by that name that others
// may connect to.
func listen(dir string) (*net.UnixListener, error) {
	for _, name := range []string{SocketName, socketNew} {
		if i, err := os.Lstat(filepath.Join(dir, name)); err == nil && i.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("%s is there, and no socket", name)
		}
	}
	fresh := filepath.Join(dir, socketNew)
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var l *net.UnixListener
	err := reach(dir, socketNew, func(path string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it has another name by then
	err = os.Chmod(fresh, 0o600)
	if err == nil {
		err = os.Rename(fresh, filepath.Join(dir, SocketName))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(fresh))
	}
	return l, nil
}

// file is the socket that was made, to know it again.
func file(dir string) (fs.FileInfo, error) { return os.Lstat(filepath.Join(dir, SocketName)) }

// unlink removes the socket, unless the name stands for another by now.
func unlink(dir string, made fs.FileInfo) error {
	now, err := file(dir)
	if err != nil || !os.SameFile(now, made) {
		return nil
	}
	return os.Remove(filepath.Join(dir, SocketName))
}
