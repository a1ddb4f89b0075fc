package ops

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/registry"
)

// Reasons for which an operation on a pod is refused; test for them with
// [errors.Is].
var (
	// ErrPodDefined: the pod is defined, and should be new.
	ErrPodDefined = errors.New("pod is already defined")
	// ErrNoPod: the pod is not defined.
	ErrNoPod = errors.New("pod is not defined")
)

// PutPod writes down the definition of a pod, new or in place of the one of its
// ID. Writing what stands there already, with the same version, changes nothing.
// It is refused when the pod must be new and is defined ([ErrPodDefined]), also
// if there would be nothing to change.
type PutPod struct {
	Pod registry.Pod // its Revision does not count
	New bool         // it must not be defined yet
}

// Apply implements [Operation].
func (o PutPod) Apply(d *registry.Draft) error {
	return refusePod("put", o.Pod.ID, o.apply(d))
}

func (o PutPod) apply(d *registry.Draft) error {
	if err := o.Pod.Validate(); err != nil {
		return err
	}
	if o.New && d.HasPod(o.Pod.ID) {
		return ErrPodDefined
	}
	return d.PutPod(o.Pod)
}

// Prepare implements [Preparer]: what no registry accepts is refused early, and
// what is prepared shares no memory with o.
func (o PutPod) Prepare() (Operation, error) {
	err := o.Pod.Validate()
	o.Pod.Definition = bytes.Clone(o.Pod.Definition)
	return o, refusePod("put", o.Pod.ID, err)
}

// Size implements [Sized].
func (o PutPod) Size() int { return len(o.Pod.ID) + len(o.Pod.Definition) }

// RemovePod forgets the definition of a pod. It is refused when the pod is not
// defined ([ErrNoPod]).
type RemovePod struct {
	ID string
}

// Apply implements [Operation].
func (o RemovePod) Apply(d *registry.Draft) error {
	if !d.DeletePod(o.ID) {
		return refusePod("remove", o.ID, ErrNoPod)
	}
	return nil
}

// Size implements [Sized].
func (o RemovePod) Size() int { return len(o.ID) }

// PodError says which operation was refused, for which pod, and why.
type PodError struct {
	Op  string // "put"
	Pod string // its ID
	Err error  // one of the reasons above, or a *registry.FieldError
}

func (e *PodError) Error() string { return fmt.Sprintf("%s pod %q: %v", e.Op, e.Pod, e.Err) }

// Unwrap is the reason.
func (e *PodError) Unwrap() error { return e.Err }

// refusePod is nil for a nil reason.
func refusePod(op, id string, reason error) error {
	if reason == nil {
		return nil
	}
	return &PodError{Op: op, Pod: id, Err: reason}
}
