package mesosjson

import (
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/registry"
)

// Form is which of Mesos's answers an input is.
type Form string

// The forms that hold agents.
const (
	FormRegistry Form = "registry" // /registrar(1)/registry
	FormState    Form = "state"    // /state, /state-summary, /slaves
	FormOperator Form = "operator" // GET_AGENTS, GET_STATE, SUBSCRIBED
)

// Report is what an input held.
type Report struct {
	Form Form
	// How many agents were handed on. Recovered are those of Admitted that
	// had not come back to the master since its failover.
	Admitted, Recovered, Unreachable, Gone int
	// Master is the master that the input names, or nil.
	Master *registry.Master
	// NotKept is what a registry has no place for, by path.
	NotKept []Lost
}

// Lost is something that was in the input and cannot be kept.
type Lost struct {
	// Path says where, with nothing between the brackets of an array:
	// "slaves.slaves[].info.resources[].disk".
	Path string
	// Reason is why, unless it is that the registry has no place for it.
	Reason string
	// Count is how often it was there.
	Count int
	// Example is the first one, shortened.
	Example string
}

// maxLost bounds how many kinds of loss are told apart; names in a path may be
// the input's own, without end.
const maxLost = 200

// losses adds up what cannot be kept.
type losses map[[2]string]*Lost

func (l losses) add(path, reason, example string, count int) {
	key := [2]string{path, reason}
	if _, ok := l[key]; !ok && len(l) >= maxLost {
		key = [2]string{"…", "more kinds of fields than are told apart"}
	}
	if l[key] == nil {
		l[key] = &Lost{Path: key[0], Reason: key[1], Example: cut(example)}
	}
	l[key].Count += count
}

func (l losses) sorted() []Lost {
	var list []Lost
	for _, v := range l {
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b Lost) int {
		return strings.Compare(a.Path+"\x00"+a.Reason, b.Path+"\x00"+b.Reason)
	})
	return list
}
