package master

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func readSystem() (s system) {
	s.cpus = float64(runtime.NumCPU())
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return s.unknown()
	}
	for i := range s.load {
		s.load[i] = float64(info.Loads[i]) / (1 << 16)
	}
	s.memory, s.free = float64(info.Totalram)*float64(info.Unit), float64(info.Freeram)*float64(info.Unit)
	return s
}
