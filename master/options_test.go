package master

import (
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

func TestOptionsBelowZeroAreRefusedByName(t *testing.T) {
	for name, o := range map[string]Options{
		"PingTimeout":            {PingTimeout: -1},
		"MaxPingTimeouts":        {MaxPingTimeouts: -1},
		"AgentReregisterTimeout": {AgentReregisterTimeout: -time.Minute},
		"RegistryGCInterval":     {RegistryGCInterval: -1},
		"RegistryMaxAgentAge":    {RegistryMaxAgentAge: -1},
		"RegistryMaxAgentCount":  {RegistryMaxAgentCount: -1},
		"MaxAgents":              {MaxAgents: -1},
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
		if err == nil || !strings.Contains(err.Error(), "Options."+name+" ") {
			t.Errorf("%s: error %v", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
