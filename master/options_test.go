package master

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

func TestOptionsThatNoMasterCanWorkWithAreRefusedByName(t *testing.T) {
	for name, o := range map[string]Options{
		"PingTimeout": {PingTimeout: -1},
		"PingTimeout is 24h0m0.000000001s, and agents can be told of 24h0m0s at most": {PingTimeout: wire.MaxHeartbeat + 1},
		"MaxPingTimeouts": {MaxPingTimeouts: -1},
		"MaxPingTimeouts is 4294967296, and agents can be told of 4294967295 at most":                  {MaxPingTimeouts: math.MaxUint32 + 1},
		"MaxPingTimeouts is 4294967295, and so many of 24h0m0s are more than 2562047h47m16.854775807s": {PingTimeout: wire.MaxHeartbeat, MaxPingTimeouts: math.MaxUint32},
		"AgentReregisterTimeout": {AgentReregisterTimeout: -time.Minute},
		"RegistryGCInterval":     {RegistryGCInterval: -1},
		"RegistryMaxAgentAge":    {RegistryMaxAgentAge: -1},
		"RegistryMaxAgentCount":  {RegistryMaxAgentCount: -1},
		"MaxAgents":              {MaxAgents: -1},
		"MaxPods":                {MaxPods: -1},
		"AgentRemovalRateLimit":  {AgentRemovalRateLimit: Rate{Count: 1, Per: -1}},
		"RemovalBudget":          {RemovalBudget: Budget{Least: -1}},
	} {
		r, err := registrar.Open(t.Context(), store.NewMemory(), registrar.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Start(t.Context(), r, o)
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error()+" ", "Options."+name+" ") {
			t.Errorf("%s: error %v", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
