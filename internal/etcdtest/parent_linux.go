package etcdtest

import "syscall"

// dieWithParent ends the server with a test that is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
