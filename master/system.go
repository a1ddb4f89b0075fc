package master

import "math"

// system is the machine that the master runs on.
type system struct {
	load               [3]float64 // of 1, 5 and 15 minutes
	cpus, memory, free float64
}

// unknown is s with what cannot be found out: metrics that are left out.
func (s system) unknown() system {
	no := math.NaN()
	s.load, s.memory, s.free = [3]float64{no, no, no}, no, no
	return s
}
