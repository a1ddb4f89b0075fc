package ops

import "github.com/eaba02dc/registrar/registry"

// Preparer is an operation with work that needs no draft. The engine has it
// done by whoever submits the operation, so that the one writer need not.
type Preparer interface {
	Operation
	// Prepare returns an operation that decides as this one does. An error
	// refuses the operation.
	Prepare() (Operation, error)
}

// Targeted is an operation that says which agent it is about, so that the
// engine can read ahead ([registry.Draft.Expect]). Those that come in storms do.
type Targeted interface {
	Target() registry.AgentID
}

// Sized is an operation that says how many bytes of memory it holds, roughly;
// the bound on what may wait counts them.
type Sized interface {
	Size() int
}

// prepared is what the operations that bring an agent have in common.
type prepared struct {
	agent      registry.Encoded
	supersedes string
}

func applyPrepared(o Preparer, d *registry.Draft) error {
	p, err := o.Prepare()
	if err != nil {
		return err
	}
	return p.Apply(d)
}

// Target and Size implement Targeted and Sized.
func (o admit) Target() registry.AgentID   { return o.agent.ID() }
func (o update) Target() registry.AgentID  { return o.agent.ID() }
func (o readmit) Target() registry.AgentID { return o.agent.ID() }
func (o admit) Size() int                  { return o.agent.Size() }
func (o update) Size() int                 { return o.agent.Size() }
func (o readmit) Size() int                { return o.agent.Size() }

// Target implements [Targeted].
func (o MarkUnreachable) Target() registry.AgentID { return o.ID }

// Target implements [Targeted].
func (o MarkGone) Target() registry.AgentID { return o.ID }

// Target implements [Targeted].
func (o Remove) Target() registry.AgentID { return o.ID }

// Size implements [Sized].
func (o Prune) Size() int { return 64 * (len(o.Unreachable) + len(o.Gone)) }

func (o replace) Size() int { return o.agent.Size() + len(o.old) }
func (o restore) Size() int { return o.agent.Size() }
