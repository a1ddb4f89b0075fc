// Package agent is what an agent process embeds to be a member of a cluster: it
// registers with the master, says what runs, and hears what is to be done.
//
//	a, err := agent.New(agent.Options{
//		Masters:   []string{"http://master-1:5050", "http://master-2:5050"},
//		Info:      registry.Agent{Hostname: "host-1", Resources: resources},
//		Version:   "1.0.0",
//		StateFile: "/var/lib/my-agent/identity.json",
//		Kill:      func(k *wire.Kill) { … },
//	})
//	…
//	go func() { done <- a.Run(ctx) }()
//	err = a.SetTask(task)
//
// Run keeps one stream to the leading master, through restarts of either side,
// and comes back by itself when it breaks, after a pause drawn at random. What is
// set goes up as soon as it can, several changes in one record, and stays to be
// said again until the master has acknowledged it: whoever subscribes again says
// all that it has. [Agent.Synced] waits for that.
//
// # Who an agent is
//
// The state file has the agent's ID, so that a process that restarts is the same
// agent, and its incarnation: a random text that is drawn anew at each boot of
// the machine, by which the master tells a machine from its copy. A boot is known
// by [Options.BootID], or by /proc/sys/kernel/random/boot_id; where there is
// neither, each [New] counts as one. After a boot the agent says which
// incarnation it takes the place of, for which it must have the file. Of machines
// with copies of one file, one is a member at a time: while it is connected,
// others are refused that do not name its incarnation; once its connection is
// down, the next takes its place, and the master warns of that with both hosts.
//
// A state file belongs to one cluster. An agent that was marked gone there is
// told to shut down, and may join only as another one: see [ShutdownError].
//
// An agent costs a goroutine and about 10 KiB; another goroutine is there while
// something is being written.
package agent
