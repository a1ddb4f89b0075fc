// Package pod is what a pod of Marathon is, and what its status is. It does
// nothing: no I/O and no clock, so that what goes in decides what comes out.
//
//	d, err := pod.Parse(body)              // a definition, as somebody sent it
//	d = d.At(version)                      // as it is kept: d.JSON() is its one form
//	…
//	at, ok := pod.Locate(names)            // which instance of which pod a task is part of
//	i := pod.Show(d, &instance, before)    // what is said of an instance
//	s := &pod.Status{Definition: d, Instances: slices.Values(list), Updated: now}
//	s.State()                              // DEGRADED, STABLE or TERMINAL
//	s.JSON()                               // as GET /v2/pods/{id}::status has it
//
// A [Definition], an [InstanceStatus] and a [Status] do not change once somebody
// else has them. Each renders itself once and keeps the bytes: when one instance
// changed, what is said of the others is copied.
//
// Nothing here fails for an instance that makes no sense: it becomes a
// placeholder, which says why.
package pod
