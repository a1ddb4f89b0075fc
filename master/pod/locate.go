package pod

import "strings"

// Labels by which a task says of what it is part, if its executor does not.
const (
	PodLabel      = "POD_ID"       // "/web/front"
	InstanceLabel = "POD_INSTANCE" // any text that is unique in the pod
)

// Names are what a task and its executor go by.
type Names struct {
	Task, Executor string // IDs
	Name           string // of the task
	Pod, Instance  string // what the labels say; "" is nothing
}

// Place is where a task belongs.
type Place struct {
	Pod       string // the ID, as in "/web/front"
	Instance  string // the ID, as in "web_front.instance-caff1565"
	Container string // the name
}

// Locate says to which pod a task belongs, if it does to any. The labels count
// before the executor, whose ID Marathon makes of that of the instance:
//
//	instance  web_front.instance-caff1565
//	executor  instance-web_front.caff1565
//	task      web_front.instance-caff1565.nginx.1
//
// An application's task has such names too, with the container "_app", which no
// pod has. With the older prefix "marathon-" any executor of an application may
// be named so: only one whose task bears the ID of the instance counts.
func Locate(n Names) (Place, bool) {
	if n.Pod != "" && n.Instance != "" {
		id, err := ParseID(n.Pod)
		return Place{id, n.Instance, n.Name}, err == nil
	}
	for _, prefix := range [...]string{"instance-", "marathon-"} {
		rest, ok := strings.CutPrefix(n.Executor, prefix)
		if !ok {
			continue
		}
		dot := strings.LastIndexByte(rest, '.')
		if dot <= 0 || dot == len(rest)-1 {
			return Place{}, false
		}
		id, err := ParseID(fromSafePath(rest[:dot]))
		if err != nil {
			return Place{}, false
		}
		at := Place{Pod: id, Instance: rest[:dot] + "." + prefix + rest[dot+1:], Container: n.Name}
		container, named := strings.CutPrefix(n.Task, at.Instance+".")
		if named {
			container, _, _ = strings.Cut(container, ".") // the incarnation
			at.Container = container
		}
		return at, at.Container != "_app" && (named || prefix == "instance-")
	}
	return Place{}, false
}
