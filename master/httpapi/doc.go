// Package httpapi answers over HTTP what Mesos clients ask a master: its state,
// agents, frameworks, tasks and roles, in the JSON of Mesos's first API ("v0"),
// names, order of names and forms of numbers included.
//
//	http.ListenAndServe("127.0.0.1:5050", httpapi.New(m, httpapi.Options{}))
//
// An answer is a pure function of one [master.State], so all that stands in it
// was true at one moment, and a request that comes after something was
// acknowledged sees it. No answer waits for the master or keeps it waiting.
//
// Below /v2 pods are defined and read as with Marathon: pods.go, docs/pods.md.
//
// docs/http-api.md shows each answer, and says where it is better than that of
// Mesos. There is a file for each thing that is shown, with a function that
// appends it to a buffer: agent.go, framework.go, task.go and so on.
package httpapi
