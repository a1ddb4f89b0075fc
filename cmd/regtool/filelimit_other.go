//go:build !unix

package main

// allowFiles has nothing to raise where there is no limit.
func allowFiles(int) error { return nil }
