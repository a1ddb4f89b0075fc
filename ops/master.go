package ops

import "github.com/eaba02dc/registrar/registry"

// SetMaster writes down who leads the cluster. It is refused only for a field
// that is not acceptable.
type SetMaster struct {
	Master registry.Master
}

// Apply implements [Operation].
func (o SetMaster) Apply(d *registry.Draft) error { return d.SetMaster(o.Master) }
