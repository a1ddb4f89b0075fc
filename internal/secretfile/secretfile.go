// Package secretfile reads files that hold secrets: passwords, their hashes, keys
// of certificates.
package secretfile

import (
	"fmt"
	"io"
)

// MaxSize is the most bytes that a file may have.
const MaxSize = 1 << 20

// Read returns what is in a file, unless others can read it too: the owner of the
// process must have kept his own file to himself (0600). A file of somebody else,
// as systemd and Kubernetes hand out to a service, may have been opened to a group
// for it (0640), but not to everybody.
//
// It waits for nobody: what is a pipe or a device is refused.
//
// Its errors never say what is in the file.
func Read(path string) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat() // of what is read, whatever happens to the name
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if tooOpen(info) {
		return nil, fmt.Errorf("%s can be read by others (mode %04o): it holds a secret, so chmod 600 it", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		err = fmt.Errorf("%s has more than %d bytes", path, MaxSize)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
