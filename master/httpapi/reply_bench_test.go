package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// unchanging is a cluster of so many agents, with two tasks of each of five
// frameworks on each.
func unchanging(agents int) *master.State {
	res := []registry.Resource{{Name: "cpus", Value: registry.Scalar(20)}, {Name: "mem", Value: registry.Scalar(10240)}}
	uses := func() []wire.Resource {
		return []wire.Resource{{Resource: registry.Resource{Name: "cpus", Value: registry.Scalar(0.1)}}, {Resource: registry.Resource{Name: "mem", Value: registry.Scalar(5)}}}
	}
	var list []*master.Agent
	tasks := make([][]*wire.Task, 5)
	for i := range agents {
		id := registry.AgentID(fmt.Sprintf("agent%d", i))
		var own []*wire.Task
		for f := range 5 {
			for n := range 2 {
				var labels []registry.Label
				for l := range 10 {
					labels = append(labels, registry.Label{Key: fmt.Sprint("key", l), Value: fmt.Sprint("value", l)})
				}
				t := &wire.Task{ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", i*7919, n), FrameworkID: fmt.Sprint("framework", f), Name: "test-task",
					AgentID: id, State: wire.TaskRunning, Resources: uses(), Labels: labels}
				own = append(own, t)
				tasks[f] = append(tasks[f], t)
			}
		}
		a := &master.Agent{Info: registry.Agent{ID: id, Hostname: string(id), Resources: res}, Resources: res, Connected: true}
		list = append(list, a.With(own, nil))
	}
	var frameworks []*master.Framework
	for f := range 5 {
		frameworks = append(frameworks, master.NewFramework(wire.FrameworkInfo{ID: fmt.Sprint("framework", f), Capabilities: []string{"MULTI_ROLE"}, Roles: []string{"*"}}, tasks[f], nil, nil, nil))
	}
	s := master.NewState(list, nil, frameworks, nil)
	s.Registry = registry.New()
	return s
}

type discarded struct{ h http.Header }

func (d discarded) Header() http.Header       { return d.h }
func (discarded) WriteHeader(int)             {}
func (discarded) Write(b []byte) (int, error) { return io.Discard.Write(b) }

func BenchmarkState(b *testing.B) {
	s := unchanging(1000)
	h := New(source{s}, Options{})
	ask := func() { h.ServeHTTP(discarded{http.Header{}}, httptest.NewRequest("GET", "/state", nil)) }
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			forget(s)
			h = New(source{s}, Options{})
			ask()
		}
	})
	b.Run("repeat", func(b *testing.B) {
		b.ReportAllocs()
		ask()
		for b.Loop() {
			ask()
		}
	})
	b.Run("task", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for f := range s.Frameworks() {
			for t := range f.Tasks() {
				for b.Loop() {
					buf = appendTask(buf[:0], t)
				}
				return
			}
		}
	})
	b.Run("agent", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for a := range s.Agents() {
			for b.Loop() {
				buf = appendAgent(buf[:0], a, View{})
			}
			return
		}
	})
}

type source struct{ s *master.State }

func (s source) State() *master.State { return s.s }
