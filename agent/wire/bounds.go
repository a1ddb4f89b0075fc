package wire

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/eaba02dc/registrar/registry"
)

// What texts may be of which a master builds more than it was given: a role has
// all that it is in as roles of its own, and IDs and incarnations stand in many
// a refusal. Other texts are bounded by their record.
const (
	maxHostname    = 253 // bytes of a name in DNS
	maxIncarnation = 255
	maxRole        = 1024
	maxRolePart    = 255
	maxRoleDepth   = 8
	maxRoles       = 1000 // of a framework: /roles has each, and those above it
)

// What a record may become in memory, of its bytes and slack together: a status
// of 8 bytes is 200 as a TaskStatus, and a false of one byte is six in JSON.
// What honest agents say is three times as long in lists, and 1.3 times in JSON.
const (
	mostMade       = 6 // in lists and maps
	mostTranslated = 4 // as JSON, when it came as MessagePack
	slack          = 64 << 10
)

// pooled is the most bytes that stay in a pool from one record to the next: one
// large record is no reason to keep its room.
const pooled = 64 << 10

var (
	role        = bounded(plain, wrongRole)
	allocated   = bounded(list(resource), wrongAllocation)
	roles       = bounded(list(role), tooManyRoles)
	hostname    = bounded(plain, wrongHostname)
	incarnation = bounded(plain, func(s string) string { return tooLong(len(s), maxIncarnation) })
)

// bounded is a codec of values in which wrong finds nothing wrong: neither are
// others read, nor written.
func bounded[T any](c codec[T], wrong func(T) string) codec[T] {
	return codec[T]{
		read: func(r *reader, v *T) {
			if c.read(r, v); r.err != nil {
				return
			}
			if reason := wrong(*v); reason != "" {
				r.fail(reason)
			}
		},
		write: func(w *writer, v *T) {
			c.write(w, v)
			if reason := wrong(*v); reason != "" {
				w.fail(reason)
			}
		},
		none: c.none,
	}
}

// wrongFirst is about the sequence number of the first call of a stream; those that
// follow are more, which the master sees to.
func wrongFirst(sequence uint64) string {
	if sequence == 0 {
		return "is 0, want at least 1"
	}
	return ""
}

func tooLong(n, most int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf("has %d bytes, at most %d are allowed", n, most)
}

// wrongID says what is wrong with an ID by the rules for that of an agent, which
// are Mesos's for all of them.
func wrongID[S ~string](id S) string {
	err := registry.AgentID(id).Validate()
	if err == nil {
		return ""
	}
	return err.(*registry.FieldError).Reason
}

func wrongHostname(name string) string {
	if name == "" {
		return empty
	}
	return tooLong(len(name), maxHostname)
}

// wrongRole says what is wrong with a role. The rules are Mesos's
// (src/common/roles.cpp), and all control characters are refused; the bounds are
// ours.
func wrongRole(role string) string {
	switch {
	case role == "*":
		return ""
	case role == "":
		return empty
	case len(role) > maxRole:
		return tooLong(len(role), maxRole)
	case role[0] == '/' || role[len(role)-1] == '/':
		return "begins or ends with a slash"
	case strings.Count(role, "/") >= maxRoleDepth:
		return fmt.Sprintf("has %d parts, at most %d are allowed", strings.Count(role, "/")+1, maxRoleDepth)
	}
	for part := range strings.SplitSeq(role, "/") {
		if reason := wrongRolePart(part); reason != "" {
			return reason
		}
	}
	return ""
}

func tooManyRoles(roles []string) string {
	if len(roles) <= maxRoles {
		return ""
	}
	return fmt.Sprintf("has %d roles, at most %d are allowed", len(roles), maxRoles)
}

// wrongResources says why the registry would not take an agent with these resources.
func wrongResources(list []registry.Resource) string {
	_, err := registry.Encode(registry.Agent{ID: "a", Resources: list})
	if err == nil {
		return ""
	}
	return "is not what an agent may have: " + err.Error()
}

// wrongAllocation says what is wrong with what one task or executor uses: as in Mesos,
// all of it was offered to one role, by which is found out who may see it.
func wrongAllocation(list []Resource) string {
	for i := range list {
		first, other := cmp.Or(list[0].AllocationRole, "*"), cmp.Or(list[i].AllocationRole, "*")
		if first != other {
			return fmt.Sprintf("is allocated to the roles %q and %q, want one", Shorten(first), Shorten(other))
		}
	}
	return ""
}

func wrongRolePart(part string) string {
	switch {
	case part == "":
		return "has a part that is empty"
	case part == "." || part == ".." || part == "*":
		return fmt.Sprintf("has a part that is %q", part)
	case part[0] == '-':
		return fmt.Sprintf("has a part that begins with a dash, %q", Shorten(part))
	case len(part) > maxRolePart:
		return fmt.Sprintf("has a part of %d bytes, at most %d are allowed", len(part), maxRolePart)
	}
	for i := range len(part) {
		if c := part[i]; c <= ' ' || c == 0x7f {
			return fmt.Sprintf("contains the character %q", c)
		}
	}
	return ""
}
