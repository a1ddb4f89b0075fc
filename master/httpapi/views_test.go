package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// moving is a source whose state the test sets.
type moving struct {
	mu    sync.Mutex
	state *master.State
}

func (m *moving) State() *master.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

func (m *moving) set(s *master.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s
}

// viewRoles are roles of which none is a part of another's name, but for those below.
var viewRoles = []string{"*", "role-red", "role-red/deep-1", "role-blue", "role-green/deep-2", "role-black"}

// alive is a cluster that changes through a real master.
type alive struct {
	t      *rapid.T
	master *master.Master
	agents []*aliveAgent
	hosts  int
	tasks  int
}

type aliveAgent struct {
	stream   *master.Stream
	woken    chan struct{}
	sequence uint64
	tasks    []wire.Task
}

func newAlive(t *rapid.T) *alive {
	quiet := slog.New(slog.DiscardHandler)
	r, err := registrar.Open(context.Background(), store.NewMemory(), registrar.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	m, err := master.Start(context.Background(), r, master.Options{Logger: quiet, PingTimeout: time.Minute,
		AgentReregisterTimeout: 1, RemovalBudget: master.Budget{Share: 1}, MaxCompletedTasksPerFramework: 40})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(); r.Close() })
	return &alive{t: t, master: m}
}

// viewFramework has an ID that tells whether it is in a view: f0 is in the first role,
// and so on; the last is in two.
func viewFramework(i int) wire.FrameworkInfo {
	f := wire.FrameworkInfo{ID: fmt.Sprintf("framework-%d-", i), Name: "n", User: "u"}
	if i < len(viewRoles) {
		f.Role = viewRoles[i]
		return f
	}
	f.Capabilities, f.Roles = []string{"MULTI_ROLE"}, []string{viewRoles[1], viewRoles[5]}
	return f
}

func (c *alive) task() wire.Task {
	c.tasks++
	role := rapid.SampledFrom(viewRoles).Draw(c.t, "task's role")
	t := wire.Task{ID: fmt.Sprintf("task-%d-", c.tasks), Name: "t", State: wire.TaskRunning,
		FrameworkID: viewFramework(rapid.IntRange(0, len(viewRoles)).Draw(c.t, "framework")).ID}
	for range rapid.IntRange(0, 2).Draw(c.t, "resources") {
		r := drawResource(c.t)
		r.AllocationRole, r.Reservations = role, nil
		if rapid.IntRange(0, 4).Draw(c.t, "reserved") == 0 {
			r.Reservations = []registry.Reservation{{Role: rapid.SampledFrom(viewRoles[1:]).Draw(c.t, "for"), Dynamic: true}}
		}
		t.Resources = append(t.Resources, r)
	}
	return t
}

func (c *alive) join() {
	c.hosts++
	a := &aliveAgent{woken: make(chan struct{}, 1), sequence: 1}
	call := &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: fmt.Sprint("host-", c.hosts), Port: 5051}, Version: "1.12.0"}
	call.Agent.Incarnation = "boot"
	for range rapid.IntRange(0, 3).Draw(c.t, "agent's resources") {
		r := drawResource(c.t).Resource
		r.Reservations = nil
		for range rapid.IntRange(0, 2).Draw(c.t, "reservations") {
			r.Reservations = append(r.Reservations, registry.Reservation{Role: rapid.SampledFrom(viewRoles[1:]).Draw(c.t, "for"), Dynamic: true})
		}
		call.Agent.Resources = append(call.Agent.Resources, r)
	}
	for i := range len(viewRoles) + 1 {
		call.Frameworks = append(call.Frameworks, viewFramework(i))
	}
	for range rapid.IntRange(0, 40).Draw(c.t, "tasks") {
		a.tasks = append(a.tasks, c.task())
	}
	call.Tasks = slices.Clone(a.tasks)
	for i := range rapid.IntRange(0, 2).Draw(c.t, "executors") {
		t := c.task()
		call.Executors = append(call.Executors, wire.ExecutorInfo{ID: fmt.Sprint("e", i), FrameworkID: t.FrameworkID, Resources: t.Resources})
	}
	if rapid.Bool().Draw(c.t, "packed") {
		httpapi.Pack(call)
	}
	var err error
	a.stream, err = c.master.Subscribe(context.Background(), call, "10.0.0.1:4711", func() {
		select {
		case a.woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.agents = append(c.agents, a)
	a.settle()
}

// settle waits until all that the agent said can be seen.
func (a *aliveAgent) settle() {
	for {
		for e, ok := a.stream.Next(); ok; e, ok = a.stream.Next() {
			if ack, is := e.(*wire.Ack); is && ack.Sequence == a.sequence {
				return
			}
		}
		select {
		case <-a.woken:
		case <-a.stream.Ended():
			return
		}
	}
}

// change has something happen, which can be seen then.
func (c *alive) change() {
	n := rapid.IntRange(0, 9).Draw(c.t, "what happens")
	if len(c.agents) == 0 || n == 0 && len(c.agents) < 40 {
		c.join()
		return
	}
	i := rapid.IntRange(0, len(c.agents)-1).Draw(c.t, "agent")
	a := c.agents[i]
	switch {
	case n == 1: // it will be unreachable soon
		a.stream.Close()
		c.agents = slices.Delete(c.agents, i, i+1)
		return
	case n == 2:
		if err := c.master.Deactivate(context.Background(), a.stream.AgentID(), master.By{}); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	a.sequence++
	u := &wire.Update{Sequence: a.sequence}
	for range rapid.IntRange(0, 3).Draw(c.t, "new tasks") {
		t := c.task()
		a.tasks = append(a.tasks, t)
		u.Tasks = append(u.Tasks, t)
	}
	if len(a.tasks) > 0 {
		k := rapid.IntRange(0, len(a.tasks)-1).Draw(c.t, "which")
		t := a.tasks[k]
		t.State = rapid.SampledFrom(someStates).Draw(c.t, "becomes")
		t.Statuses = []wire.TaskStatus{{State: t.State, Timestamp: float64(c.tasks)}}
		u.Tasks = append(u.Tasks, t)
	}
	if rapid.Bool().Draw(c.t, "packed") {
		httpapi.Pack(u)
	}
	if err := a.stream.Receive(u); err != nil {
		c.t.Fatal(err)
	}
	a.settle()
}

// afresh is the same state, of which nothing is remembered.
func afresh(s *master.State) *master.State {
	plain := func(t *wire.Task) *wire.Task { c := *t; c.Packed = nil; return &c }
	list := func(all func(func(*wire.Task) bool)) (tasks []*wire.Task) {
		for t := range all {
			tasks = append(tasks, plain(t))
		}
		return tasks
	}
	framework := func(f *master.Framework) *master.Framework {
		c := master.NewFramework(f.Info, list(f.Tasks()), list(f.UnreachableTasks()), list(f.CompletedTasks()), slices.Collect(f.Executors()))
		c.Registered, c.Unregistered = f.Registered, f.Unregistered
		return c
	}
	var agents []*master.Agent
	for a := range s.Agents() {
		c := &master.Agent{Info: a.Info, Resources: a.Resources, Status: a.Status, Version: a.Version, Capabilities: a.Capabilities,
			Address: a.Address, Connected: a.Connected, Registered: a.Registered, Reregistered: a.Reregistered, DrainStarted: a.DrainStarted}
		agents = append(agents, c.With(list(a.Tasks()), slices.Collect(a.Executors())))
	}
	var frameworks, completed []*master.Framework
	for f := range s.Frameworks() {
		frameworks = append(frameworks, framework(f))
	}
	for f := range s.CompletedFrameworks() {
		completed = append(completed, framework(f))
	}
	c := master.NewState(agents, slices.Collect(s.Recovered()), frameworks, completed)
	c.Version, c.Master, c.Started, c.Elected, c.Registry, c.Frozen = s.Version, s.Master, s.Started, s.Elected, s.Registry, s.Frozen
	return c
}

// drawQuestion is a path, and what is asked there.
func drawQuestion(t *rapid.T, s *master.State) string {
	path := rapid.SampledFrom([]string{"/state", "/slaves", "/frameworks", "/state-summary", "/tasks", "/roles", "/flags"}).Draw(t, "path")
	q := url.Values{}
	set := func(name string, values ...string) {
		if rapid.IntRange(0, 2).Draw(t, name) == 0 {
			q.Set(name, rapid.SampledFrom(values).Draw(t, "value"))
		}
	}
	ids := []string{"nobody"}
	for a := range s.Agents() {
		ids = append(ids, string(a.Info.ID))
	}
	set("slave_id", ids[rapid.IntRange(0, 9).Draw(t, "agent")%len(ids)]) // how many there are is not for rapid to know
	set("framework_id", "framework-0-", "framework-1-", "framework-6-", "none", "framework-1-\x00task_id=task-1-")
	set("task_id", "task-1-", "task-7-")
	set("order", "asc", "des")
	set("limit", "-1", "0", "3", "x")
	set("offset", "0", "2", "-4")
	set("jsonp", "f", "a.b")
	return path + "?" + q.Encode()
}

func drawView(t *rapid.T) httpapi.View {
	if rapid.IntRange(0, 2).Draw(t, "sees all") == 0 {
		return httpapi.View{}
	}
	roles := rapid.SliceOfN(rapid.SampledFrom(viewRoles), 0, 3).Draw(t, "view")
	return httpapi.View{Roles: append([]string{}, roles...)}
}

func askAs(h http.Handler, target string, view httpapi.View, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r = r.WithContext(httpapi.WithView(r.Context(), view))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestAnAnswerIsThatOfAMasterThatRemembersNothing asks a cluster that changes, and
// holds what is put together from what was rendered before against what is rendered
// from nothing, and restricted answers against the names that must not be in them.
func TestAnAnswerIsThatOfAMasterThatRemembersNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, source := newAlive(t), &moving{}
		o := options
		o.StateCacheBytes = rapid.SampledFrom([]int64{1, 3000, 20000, 1 << 30}).Draw(t, "room")
		h := httpapi.New(source, o)
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				c.change()
			}
			s := c.master.State()
			source.set(s)
			plain := httpapi.New(still{afresh(s)}, options)
			for range rapid.IntRange(1, 4).Draw(t, "questions") {
				target, view := drawQuestion(t, s), drawView(t)
				var accept []string
				if rapid.Bool().Draw(t, "gzip") {
					accept = []string{"Accept-Encoding", "gzip"}
				}
				got, want := askAs(h, target, view, accept...), askAs(plain, target, view).Body.Bytes()
				body := got.Body.Bytes()
				if n := got.Header().Get("Content-Length"); n != "" && n != strconv.Itoa(len(body)) {
					t.Fatalf("%s for %q: Content-Length is %s, of %d bytes", target, view.Roles, n, len(body))
				}
				if got.Header().Get("Content-Encoding") == "gzip" {
					body = unzip(t, body)
				}
				if !bytes.Equal(body, want) {
					t.Fatalf("%s for %q is\n%s\nwant\n%s", target, view.Roles, body, want)
				}
				hides(t, s, view, target, body)
			}
		}
	})
}

// hides looks for names in an answer that are not for those with a view.
func hides(t *rapid.T, s *master.State, view httpapi.View, target string, body []byte) {
	if view.Roles == nil {
		return
	}
	var secret []string
	for _, role := range viewRoles[1:] {
		above := func(r string) bool { return strings.HasPrefix(r, role+"/") }
		if !view.Sees(role) && !slices.ContainsFunc(view.Roles, above) {
			secret = append(secret, `"`+role+`"`)
		}
	}
	for i := range len(viewRoles) + 1 {
		f := viewFramework(i)
		seen := slices.ContainsFunc(append(f.Roles, f.Role), view.Sees)
		if !seen {
			secret = append(secret, f.ID)
		}
		in, ok := s.Framework(f.ID)
		if !ok {
			continue
		}
		for _, all := range []func(func(*wire.Task) bool){in.Tasks(), in.UnreachableTasks(), in.CompletedTasks()} {
			for task := range all {
				role := "*"
				if len(task.Resources) > 0 {
					role = task.Resources[0].AllocationRole
				}
				if !seen || !view.Sees(role) {
					secret = append(secret, task.ID)
				}
			}
		}
	}
	for _, name := range secret {
		if bytes.Contains(body, []byte(name)) {
			t.Fatalf("%s for %q has %s in it:\n%s", target, view.Roles, name, body)
		}
	}
}
