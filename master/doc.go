// Package master is the cluster now. What must never be forgotten is in the
// registrar; what can be learned again (connections, tasks, frameworks) is here.
//
//	m, err := master.Start(ctx, r, master.Options{}) // r is an open registrar
//	…
//	s, err := m.Subscribe(ctx, call, address, wake) // an agent connects
//	s.Receive(update)                               // it says something
//	event, ok := s.Next()                           // and is told something
//	…
//	m.State() // everything, immutable: one atomic load
//
// One loop owns what the master knows. It takes what has happened in groups, asks
// the registrar where something must be durable, without waiting for it, and
// publishes an immutable [State]. Registry first, memory after, notice last: what
// is answered or acknowledged can be seen by everybody, and is durable if it is
// about who belongs to the cluster.
//
// # Words
//
//   - An agent is admitted, and so a member, while the registry has it as such.
//   - A member is connected while its stream stands, and away otherwise.
//   - A failover is the start of a master on a registry that another has left.
//   - The members that it finds there are recovered.
//   - A recovered one is missing until it comes back.
//   - A removal, in [Stats], is what Mesos calls so: that a member became
//     unreachable or gone, unregistered or was removed.
//
// # The life of an agent
//
// A new agent is admitted, and gets an ID. When its stream breaks it is a member
// still, away, for [Options].AgentReregisterTimeout; so are all agents after a
// failover. One that does not come back is marked unreachable, as fast as the rate
// and the budget allow ([Budget]). One of which nothing is heard is away, too, and
// is to be marked at once. It may come back before that, and from there too, and
// brings its tasks. An agent that unregisters or is
// removed is forgotten; one that an operator marks gone never comes back. Of each
// agent one such transition is under way at a time; whoever asks for another
// meanwhile is told to try again ([ErrNotNow]).
//
// # Tasks and frameworks
//
// A master learns of tasks and frameworks from agents alone. An agent's report
// replaces all that was known of it; what it had and does not speak of has
// ended. A framework has ended when nothing of it is left: no task, no executor, no
// task that may come back with an unreachable agent, and no agent that named it
// and has not had anything of it yet. While agents are missing since a failover,
// none ends. One that has ended and turns up again goes on.
//
// # Pods
//
// Definitions of pods are durable ([Master.PutPod]). Their instances are learned
// again: a task says by its executor or its labels of which it is part, see
// [pod.Locate]. Nothing here launches one.
package master
