// Package soak holds what is proved of the engine and its store together, over
// file systems that crash and that fail: its tests. They stand apart because a
// storage engine that met a failing disk leaves goroutines parked for good, and
// the packages below are tested to leave none.
package soak
