package master

import (
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

func TestAnUpdateWithoutNewsMakesNoState(t *testing.T) {
	inCluster(t, Options{}, func(c *cluster) {
		a := c.join(newcomer("host-1"))
		said := func() wire.Update {
			return wire.Update{
				Frameworks: []wire.FrameworkInfo{aware("f1")},
				Tasks:      []wire.Task{task("f1", "t1", wire.TaskRunning)},
				Executors:  []wire.ExecutorInfo{{ID: "e1", FrameworkID: "f1", Name: "e"}},
				Resources:  []registry.Resource{{Name: "cpus", Value: registry.Scalar(2)}},
			}
		}
		a.update(said())
		version := c.State().Version
		same := func(what string, u wire.Update) {
			a.update(u) // is acknowledged
			if now := c.State().Version; now != version {
				c.Errorf("%s took the state from version %d to %d", what, version, now)
			}
			version = c.State().Version
		}
		packed := said()
		packed.Tasks[0].Packed = "by somebody"
		same("nothing", wire.Update{})
		same("what was said before", said())
		same("what was packed since", packed)
		same("removing what is not there", wire.Update{
			RemovedTasks:     []wire.TaskRef{{FrameworkID: "f1", ID: "t2"}},
			RemovedExecutors: []wire.ExecutorRef{{FrameworkID: "f2", ID: "e1"}},
		})
		for what, change := range map[string]func(*wire.Update){
			"a framework":                   func(u *wire.Update) { u.Frameworks[0].Hostname = "host-9" },
			"a state":                       func(u *wire.Update) { u.Tasks[0].State = wire.TaskKilling },
			"a name":                        func(u *wire.Update) { u.Tasks[0].Name += "x" },
			"an executor":                   func(u *wire.Update) { u.Executors[0].Name += "x" },
			"resources":                     func(u *wire.Update) { u.Resources[0].Name = "mem" },
			"no resources where there were": func(u *wire.Update) { u.Resources = []registry.Resource{} },
			"a task that is there no more":  func(u *wire.Update) { *u = wire.Update{RemovedTasks: []wire.TaskRef{{FrameworkID: "f1", ID: "t1"}}} },
			"an executor that is not either": func(u *wire.Update) {
				*u = wire.Update{RemovedExecutors: []wire.ExecutorRef{{FrameworkID: "f1", ID: "e1"}}}
			},
		} {
			a.update(said())
			version := c.State().Version
			u := said()
			change(&u)
			a.update(u)
			if now := c.State().Version; now != version+1 {
				c.Errorf("%s took the state from version %d to %d", what, version, now)
			}
		}
	})
}
