// Package cluster holds the registry of a cluster of 3,000 agents, for tests
// and demonstrations. No such cluster ever was: the project made it, in the
// shape that a Mesos master answers at /registrar(1)/registry.
//
// It has what real ones have: machines of several kinds in three zones, some
// reserved for a role, agents that are unreachable, gone, draining or
// deactivated, and beside the agents quotas, weights and a maintenance
// schedule, which this project's registry does not keep.
package cluster

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

//go:embed registry.json.gz
var compressed []byte

// Registry returns the cluster's registry as JSON.
func Registry() io.Reader {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic("cluster: the embedded file is not gzip: " + err.Error())
	}
	return r
}
