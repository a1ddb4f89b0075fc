package registry

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds on what one pod may be.
const (
	// MaxPodID is the most bytes the ID of a pod may have.
	MaxPodID = 1024
	// MaxPod is the most bytes the definition of a pod may have.
	MaxPod = 1 << 20
)

// Pod is a pod that was defined. What its definition says is the business of
// who defines it; here it is text.
type Pod struct {
	// ID names the pod, as in "/web/front": 1 to [MaxPodID] bytes of UTF-8
	// without control characters.
	ID string
	// Version is when this definition was made, to the nanosecond; the zero
	// time if that is not known.
	Version time.Time
	// Definition is UTF-8, by custom canonical JSON, of 1 to [MaxPod] bytes.
	Definition []byte
	// Revision is that of the registry at which the pod last changed. Putting a
	// pod sets it, whatever it was.
	Revision uint64
}

// The key of a row of the table of pods is the ID. Its body is
//
//	version  uint  1
//	pod      array [version of the pod in ns since 1970 or 0, definition as bin]
var podTable = newTable(4, "pods", checkPod)

const podVersion = 1

// Pod returns the pod with this ID. The caller may keep and change it.
func (r *Registry) Pod(id string) (Pod, bool) {
	v := r.rows.get(podTable, id)
	if v == nil {
		return Pod{}, false
	}
	return v.pod(), true
}

// pod relies on checkPod: rows are checked before they enter a registry.
func (v *row) pod() Pod {
	p, _ := parsePod(v.key, []byte(v.body))
	p.Revision = v.since
	return p
}

// Pods yields the pods in the order of the bytes of their IDs; each is the
// caller's to keep and change.
func (r *Registry) Pods() iter.Seq[Pod] {
	return func(yield func(Pod) bool) {
		r.rows.tree.Ascend(podTable.key(""), func(_ rowKey, v *row) bool {
			return v.table == podTable && yield(v.pod())
		})
	}
}

// PodsLen is the number of pods. They are not gone through: the cost is
// O(log² n).
func (r *Registry) PodsLen() int {
	return r.rows.rank(rowKey(rune(podTable.id+1))) - r.rows.rank(podTable.key(""))
}

// Pod returns the pod with this ID, as the draft has it.
func (d *Draft) Pod(id string) (Pod, bool) { return d.next.Pod(id) }

// HasPod reports whether the draft has a pod with this ID, without copying it.
func (d *Draft) HasPod(id string) bool { return d.next.rows.get(podTable, id) != nil }

// PutPod writes down a pod, new or in place of the one of its ID; writing what
// stands there already changes nothing. It returns a [*FieldError] if p is not
// acceptable, and keeps no part of p.
func (d *Draft) PutPod(p Pod) error {
	if err := p.Validate(); err != nil {
		return err
	}
	d.putRow(podTable, p.ID, string(p.encode()))
	return nil
}

// DeletePod forgets a pod, and reports whether it was known.
func (d *Draft) DeletePod(id string) bool { return d.deleteRow(podTable, id) }

// Validate returns a [*FieldError] that names the first unacceptable field, or
// nil. It looks at bytes alone, not at what the definition says.
func (p *Pod) Validate() error {
	if err := ValidatePodID(p.ID); err != nil {
		return err
	}
	switch n := len(p.Definition); {
	case !p.Version.IsZero() && (p.Version.Before(firstTime) || p.Version.After(lastTime)):
		return badField("is out of range (years 1678 to 2262)", "version")
	case n == 0:
		return badField("is empty", "definition")
	case n > MaxPod:
		return badField(fmt.Sprintf("has %d bytes, at most %d are allowed", n, MaxPod), "definition")
	case !utf8.Valid(p.Definition):
		return badField(notUTF8, "definition")
	}
	return nil
}

// ValidatePodID returns a [*FieldError] unless a pod can have this ID: 1 to
// [MaxPodID] bytes of UTF-8 without control characters.
func ValidatePodID(id string) error {
	switch {
	case id == "":
		return badField("is empty", "id")
	case len(id) > MaxPodID:
		return badField(fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), MaxPodID), "id")
	case !utf8.ValidString(id):
		return badField(notUTF8, "id")
	}
	for _, c := range id {
		if unicode.IsControl(c) {
			return badField(fmt.Sprintf("contains the character %q", c), "id")
		}
	}
	return nil
}

func (p *Pod) encode() []byte {
	b := newBuffer()
	b.Uint(podVersion)
	b.Array(2)
	if p.Version.IsZero() {
		b.Int(0)
	} else {
		b.Int(p.Version.UnixNano())
	}
	b.Bin(p.Definition)
	return b.Bytes
}

// parsePod makes a definition that is a part of body.
func parsePod(id string, body []byte) (Pod, error) {
	pod := Pod{ID: id}
	var p parser
	p.Reset(body)
	if v := p.Uint(1 << 32); p.Err() == nil && v != podVersion {
		return pod, versionError("pod", v)
	}
	if n := p.Array(2); n != 2 {
		p.Fail("a pod of %d fields", n)
	}
	if at := p.Int(); at != 0 {
		pod.Version = time.Unix(0, at).UTC()
	}
	pod.Definition = p.Bin()
	return pod, p.End()
}

func checkPod(id string, body []byte) error {
	p, err := parsePod(id, body)
	if err == nil {
		err = p.Validate()
	}
	if err == nil && !bytes.Equal(p.encode(), body) {
		err = errors.New("its bytes are not the encoding of what they hold")
	}
	return err
}
