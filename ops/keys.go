package ops

import (
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/registry"
)

// Reasons for which an operation on a key is refused; test for them with
// [errors.Is].
var (
	// ErrRevision: the key did not last change at the revision that was asked
	// for, or is there and should not be. [RevisionError] has both revisions.
	ErrRevision = errors.New("key is at another revision")
	// ErrNoKey: the key is not there, and was asked for at a revision. Such a
	// refusal is ErrRevision too.
	ErrNoKey = errors.New("key is not there")
)

// Condition says what must hold of a key for an operation to be applied: a
// compare-and-set. The zero value always holds.
type Condition struct {
	given    bool
	revision uint64
}

// AtRevision holds while the key's last change was at this revision, as
// [registry.Item] has it. 0 means that the key is not there, as [Absent] does. A
// revision is never given out twice, not after a loss of records either.
func AtRevision(revision uint64) Condition { return Condition{true, revision} }

// Absent holds while the key is not there.
func Absent() Condition { return AtRevision(0) }

// broken is why c does not hold of a key, or nil.
func (c Condition) broken(d *registry.Draft, table, key string) error {
	item, known := d.Key(table, key)
	if !c.given || c.revision == item.Revision && known == (c.revision != 0) {
		return nil
	}
	return &RevisionError{Wanted: c.revision, Found: item.Revision}
}

// Put writes Value under Key in the user table Table, new or in place of what
// stands there. Writing what stands there already changes nothing and keeps its
// revision. Key and Value are any bytes. It is refused when If does not hold
// ([ErrRevision], [ErrNoKey]), also if there would be nothing to change.
type Put struct {
	Table, Key, Value string
	If                Condition
}

// Apply implements [Operation].
func (o Put) Apply(d *registry.Draft) error {
	err := o.validate()
	if err == nil {
		err = o.If.broken(d, o.Table, o.Key)
	}
	if err == nil {
		err = d.PutKey(o.Table, o.Key, o.Value)
	}
	return refuseKey("put", o.Table, o.Key, err)
}

// Prepare implements [Preparer]: what no registry accepts is refused early.
func (o Put) Prepare() (Operation, error) {
	return o, refuseKey("put", o.Table, o.Key, o.validate())
}

func (o Put) validate() error {
	if err := registry.ValidateKey(o.Table, o.Key); err != nil {
		return err
	}
	return registry.ValidateValue(o.Value)
}

// Size implements [Sized].
func (o Put) Size() int { return len(o.Table) + len(o.Key) + len(o.Value) }

// Delete forgets Key of the user table Table. A key that is not there is left
// so: without a condition, deleting it changes nothing and is not refused. It is
// refused when If does not hold ([ErrRevision], [ErrNoKey]).
type Delete struct {
	Table, Key string
	If         Condition
}

// Apply implements [Operation].
func (o Delete) Apply(d *registry.Draft) error {
	err := registry.ValidateKey(o.Table, o.Key)
	if err == nil {
		err = o.If.broken(d, o.Table, o.Key)
	}
	if err == nil {
		d.DeleteKey(o.Table, o.Key)
	}
	return refuseKey("delete", o.Table, o.Key, err)
}

// Prepare implements [Preparer]: what no registry accepts is refused early.
func (o Delete) Prepare() (Operation, error) {
	return o, refuseKey("delete", o.Table, o.Key, registry.ValidateKey(o.Table, o.Key))
}

// Size implements [Sized].
func (o Delete) Size() int { return len(o.Table) + len(o.Key) }

// KeyError says which operation was refused, for which key, and why.
type KeyError struct {
	Op         string // "put"
	Table, Key string
	Err        error // a *RevisionError, or a *registry.FieldError
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s key %q of table %q: %v", e.Op, e.Key, e.Table, e.Err)
}

// Unwrap is the reason.
func (e *KeyError) Unwrap() error { return e.Err }

// RevisionError says at which revision a key was asked for and at which it was
// found; 0 is a key that is not there. It is [ErrRevision], and [ErrNoKey] too if
// the key was not found.
type RevisionError struct {
	Wanted, Found uint64
}

func (e *RevisionError) Error() string {
	switch {
	case e.Found == 0:
		return fmt.Sprintf("%v, and was expected at revision %d", ErrNoKey, e.Wanted)
	case e.Wanted == 0:
		return fmt.Sprintf("%v: %d, and was expected not to be there", ErrRevision, e.Found)
	}
	return fmt.Sprintf("%v: %d, and was expected at %d", ErrRevision, e.Found, e.Wanted)
}

// Is makes errors.Is true for the reasons above.
func (e *RevisionError) Is(target error) bool {
	return target == ErrRevision || target == ErrNoKey && e.Found == 0
}

// refuseKey is nil for a nil reason.
func refuseKey(op, table, key string, reason error) error {
	if reason == nil {
		return nil
	}
	return &KeyError{Op: op, Table: table, Key: key, Err: reason}
}
