//go:build !race

package wal_test

const (
	crashSeeds = 300
	faultSeeds = 300
	eachWrite  = 1
	flipEdge   = 64
	flipSteps  = 24
	tableFlips = 100
)
