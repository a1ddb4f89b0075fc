//go:build race

package wal_test

// The race detector makes everything ten times slower.
const (
	crashSeeds = 40
	faultSeeds = 40
	eachWrite  = 4
	flipEdge   = 4
	flipSteps  = 4
	tableFlips = 12
)
