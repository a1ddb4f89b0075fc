//go:build unix

package secretfile

import (
	"io/fs"
	"os"
	"syscall"
)

// open does not wait for somebody to write, if it is a pipe.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// tooOpen is the rule that ssh has for the keys of a user and PostgreSQL for the
// files of others.
func tooOpen(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return opened(info.Mode().Perm(), ok && int(stat.Uid) != os.Geteuid())
}

func opened(mode fs.FileMode, foreign bool) bool {
	if foreign {
		return mode&0o007 != 0
	}
	return mode&0o077 != 0
}
