package main

import (
	"slices"
	"strings"
	"testing"
)

func TestMeasuredMastersTakeAllAgentsAndNothingFromTheEnvironment(t *testing.T) {
	t.Setenv("REGTOOL_MAX_AGENTS", "1")
	for name, cmd := range map[string][]string{
		"failover": benchMaster(30_000)(t.Context(), "d", 1).Args, "idle": benchIdleMaster(30_000)(t.Context(), "d", 1).Args,
	} {
		if i := slices.Index(cmd, "--max-agents"); i < 0 || cmd[i+1] != "30000" {
			t.Errorf("%s: the master is started with %q", name, cmd)
		}
	}
	for _, pair := range self(t.Context(), "version").Environ() {
		if strings.HasPrefix(pair, "REGTOOL_") {
			t.Errorf("a process that is measured is given %s", pair)
		}
	}
}
