package ops

import "github.com/eaba02dc/registrar/registry"

// Targeted operations say which agent they are about, so that the engine can
// read ahead ([registry.Draft.Expect]). Operations on large fleets should.
type Targeted interface {
	Target() registry.AgentID
}

// Target implements [Targeted], as do the methods below.
func (o Admit) Target() registry.AgentID { return o.Agent.ID }

func (o Update) Target() registry.AgentID          { return o.Agent.ID }
func (o Readmit) Target() registry.AgentID         { return o.Agent.ID }
func (o MarkUnreachable) Target() registry.AgentID { return o.ID }
func (o MarkGone) Target() registry.AgentID        { return o.ID }
func (o Remove) Target() registry.AgentID          { return o.ID }
