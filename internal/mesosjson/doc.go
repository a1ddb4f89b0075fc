// Package mesosjson reads what Mesos masters answer in JSON about their
// agents, and writes the registry the way a Mesos master shows it.
//
// [Read] tells by content what it is given:
//
//   - the registry itself, as /registrar(1)/registry answers it: the only form
//     that has everything, unreachable and gone agents too;
//   - the state of a master: /state, /state-summary and /slaves, of any
//     version since 0.19 (field names of the first Mesos API, "v0");
//   - answers of the operator API that hold agents: GET_AGENTS, GET_STATE, and
//     the SUBSCRIBED event that opens a stream of events.
//
// It reads token by token: memory is bounded by the largest single agent and
// the number of IDs, not by the length of the input. [Write] is the inverse for
// the first form.
//
// # What is kept
//
// An agent is kept as [registry.Agent] has it: ID, hostname, port, resources
// with their reservations, attributes, fault domain, checkpoint flag; and
// beside it whether it is admitted, unreachable or gone, since when, its drain
// and whether it is deactivated. The master is kept where the form names one.
//
// What else was read falls into two classes:
//
//   - Facts about one run of a master, which the next one learns anew: when an
//     agent connected and from which address, whether it is connected, what is
//     used and offered, frameworks, tasks, executors, flags, counters. They
//     are passed over.
//   - Everything else: an agent's version and capabilities, volumes and disk
//     sources of its resources, revocable and shared resources, quotas,
//     weights, machines and their schedule, resource providers, and any field
//     this package has never heard of. [Report.NotKept] lists it.
//
// # What the forms do not say
//
// A state gives the sum of a resource and no detail: static and dynamic
// reservations look alike there and are taken as static, and an amount of 0 is
// the same as none. It has no checkpoint flag, and agents not yet back after a
// failover ("recovered") have no resources. [Entry.Over] keeps what is known
// of these already; of resources, as long as their sums are what it says. A port that is not given is taken from the agent's
// process address, else it is Mesos's default, 5051.
package mesosjson
