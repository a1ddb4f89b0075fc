package httpapi

import "slices"

// Realm is a part of the API that one may be let into, or not.
type Realm string

// What endpoints ask for. Those that ask for none are open to everybody: /health,
// /ready, /ping, /version and /redirect.
const (
	Readonly  Realm = "readonly"  // everything that shows the cluster
	Readwrite Realm = "readwrite" // what changes it, and profiles of the process
	Agents    Realm = "agents"    // to be one of its agents
)

// Realms are all of them.
func Realms() []Realm { return []Realm{Readonly, Readwrite, Agents} }

func (r Realm) known() bool { return slices.Contains(Realms(), r) }

// name is what a 401 tells clients; the first two are those of Mesos.
func (r Realm) name() string { return "mesos-master-" + string(r) }
