//go:build !race

package wal_test

const (
	crashSeeds = 300
	faultSeeds = 300
	flipEdge   = 64
	flipSteps  = 24
)
