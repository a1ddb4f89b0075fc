// Package ops holds the decisions: each operation is plain data and a pure
// function of a draft.
//
// An operation sees the draft and its own fields; no clock, no I/O, no log.
// Time comes in as a field. Its outcome is one of two:
//
//   - nil: applied, or nothing to do. Which of the two shows in the draft;
//   - an error: refused. For the operations on agents it is an [*Error], which
//     names one of the reasons below or a field ([*registry.FieldError]); for
//     [Put] and [Delete], which are about a key, a [*KeyError]; for [PutPod] and
//     [RemovePod] a [*PodError]. [SetMaster] is about none of them: its error is
//     the [*registry.FieldError] itself. Nothing was changed, and operations
//     beside it are not affected.
//
// An embedding master adds operations of its own: any type with Apply will do.
// Their decisions are never replayed; the log holds what they changed. So an
// operation may change its mind between versions.
package ops

import "github.com/eaba02dc/registrar/registry"

// Operation decides on one change of the registry.
type Operation interface {
	// Apply changes d, or returns why not. It may be called with drafts that
	// are thrown away, and must not keep d. What it changed before it returned
	// an error is taken back by the caller ([registry.Draft.Try]).
	Apply(d *registry.Draft) error
}
